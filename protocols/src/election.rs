//! The election protocols, one file each, with their promises.

mod asking;
pub mod back_off;
pub mod both_locks;
pub mod bully;
pub mod consul;
pub mod cron;
pub mod db_row;
pub mod db_row_node_clock;
pub mod dynamodb_lock;
pub mod etcd;
pub mod etcd_key;
pub mod hazard;
pub mod k8s;
pub mod kafka_zk_controller;
pub mod kraft;
mod lease_keeper;
pub mod lowest_id;
pub mod lowest_id_phi;
pub mod object_lease;
pub mod pg_advisory;
pub mod phi;
pub mod program;
pub mod promise;
pub mod raft;
pub mod raft_core;
pub mod redis_common;
pub mod redis_fenced;
pub mod redis_lease;
pub mod redis_naive;
pub mod redis_sentinel;
pub mod redlock;
pub mod ring;
pub mod ring_chang_roberts;
pub mod ring_lelann;
pub mod rules;
pub mod stonith;
pub mod swim;
pub mod timer;
pub mod timers;
pub mod token_counter;
pub mod zab_fle;
pub mod zk_election;
pub mod zk_selector;
pub mod zookeeper;

pub use hazard::Hazard;
pub use promise::{BeliefOverlap, Bounds, Conditions, Notice, Notices, Promise};
pub use timer::Timer;
pub use timers::{OwnTimer, OwnTimers, Timers};

use crate::{
    bug::Bugs,
    elector::AnyElector,
    parameter::{Parameter, Place},
    payload::Opaque,
    service::Service,
    types::{NodeId, SECOND},
};

/// A protocol's view of its node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Setup {
    pub node: NodeId,
    /// The group whose leadership it stands for. Groups share the service, so an elector's keys there contain the
    /// group. Its messages reach only candidates of its group.
    pub group: u16,
    /// What it stands for, by the name that its user gave it: its keys in the service contain this instead of the
    /// group. `None` in the simulation, where groups have numbers.
    pub seat: Option<String>,
    /// Names of all candidates by [`NodeId`], the basis of their identities in the service.
    pub names: Vec<String>,
    /// Timings, with the protocol's defaults filled in.
    pub timings: Timings,
    /// 64 random bits from the node's own stream, new at every start of the process.
    pub nonce: u64,
    /// The elector's last durable [`crate::elector::Output::Persist`]; `None` on a node's first start.
    pub stored: Option<Vec<u8>>,
    /// The service's members, by [`NodeId`]; empty if the service is not a process of its own.
    pub service: Vec<NodeId>,
    pub bugs: Bugs,
}

impl Setup {
    pub fn others(&self) -> impl Iterator<Item = NodeId> + use<> {
        let (count, own) = (self.names.len() as u16, self.node);
        (0..count).map(NodeId).filter(move |node| *node != own)
    }

    /// How many candidates are a majority.
    pub fn majority(&self) -> usize {
        self.names.len() / 2 + 1
    }
}

/// A protocol's timers, nanoseconds, and its optional rules.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Timings {
    /// TTL of the lease or session.
    pub lease_ttl: u64,
    /// The interval between renewals, and between a waiting candidate's attempts if the protocol has no queue and no
    /// retry period.
    pub renew_interval: u64,
    /// The timeout of a request, after which its outcome is unknown.
    pub request_timeout: u64,
    /// The range of election timeouts, for protocols that draw them.
    pub election_timeout: Option<(u64, u64)>,
    /// Optional rules of voting and leading.
    pub rules: rules::Rules,
    /// Timers that only some protocols have: [`Protocol::timers`].
    pub own: Timers,
}

impl Timings {
    /// The interval between attempts to acquire, for protocols that make attempts.
    pub fn retry_period(&self) -> u64 {
        self.own.retry_period.unwrap_or(self.renew_interval)
    }
}

/// The candidate that a protocol prefers as leader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preference {
    /// None in particular.
    Any,
    Highest,
    Lowest,
}

/// How candidates talk to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// Datagrams: may be lost, duplicated and reordered.
    Datagram,
    /// Connections: losses cause delay, also for what follows.
    Stream,
}

/// How long a leader with these timers believes, and how long its possible successors wait; see
/// [`Protocol::read_lease`].
pub type ReadLease = fn(&Timings) -> (u64, u64);

/// An entry of the registry.
pub struct Protocol {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence for `list`.
    pub about: &'static str,
    /// The coordination service it needs.
    pub service: &'static Service,
    /// Whether its leadership carries a fencing token.
    pub tokened: bool,
    pub transport: Transport,
    /// The reference implementation's own TTL of the lease, nanoseconds.
    pub default_lease_ttl: u64,
    /// The reference implementation's own range of election timeouts, nanoseconds; `None` if the protocol has none. By
    /// default the TTL is the shorter of the two.
    pub election_timeout: Option<(u64, u64)>,
    /// The TTL that the service grants for a requested one, nanoseconds.
    pub granted_ttl: fn(u64) -> u64,
    /// The renewal interval for a TTL, nanoseconds.
    pub renew_interval: fn(u64) -> u64,
    /// The longest time from the expiry of a lease to a successor's election on a quiet network, nanoseconds: expiry
    /// scans, polling. The last argument is the number of candidates.
    pub takeover_max: fn(&Timings, u16) -> u64,
    /// How long a leader with these timers believes after sending its last confirmed request, by its own clock; and how
    /// long a possible successor waits at least after that arrived, by another clock. Nanoseconds. A leader may answer
    /// reads from memory as long as the first ends before the second. `None` for a belief that does not expire.
    pub read_lease: Option<ReadLease>,
    /// The candidate that it prefers.
    pub preference: Preference,
    /// Whether a majority of the candidates must hear each other before one can lead.
    pub majority: bool,
    /// Whether candidates have durable state.
    pub persists: bool,
    /// Whether a restarted candidate forgets which lease it must wait out. Then [`Protocol::read_lease`] bounds
    /// nothing.
    pub forgets_to_wait: bool,
    /// Whether the candidates pass messages along a ring in the order of their ids, so that nobody can be elected while
    /// a link of the ring is missing.
    pub ring: bool,
    /// Whether a leader can hand over to a named successor.
    pub transfers: bool,
    /// Whether candidates can join and leave at runtime.
    pub changes_members: bool,
    /// What `--set` sets of it.
    pub parameters: &'static [Parameter],
    /// Its timing options besides the common ones.
    pub timers: OwnTimers,
    /// The message by which a leading candidate claims leadership, and which an attacker can forge: of this candidate,
    /// among that many; the last argument is the claim's number, where claims have one. `None` where such a claim is
    /// not believed.
    pub claim: Option<fn(NodeId, u16, u64) -> Opaque>,
    /// Makes a new elector; see [`crate::elector::boxed`].
    pub elector: fn(Setup) -> Box<AnyElector>,
    /// Its promise under a hazard, with or without fencing.
    pub promise: fn(Hazard, bool) -> Promise,
    /// Upper bounds of its figures under a hazard, at its defaults and without network losses.
    pub bounds: fn(Hazard) -> Bounds,
    /// Whether it notices by itself that a leader does nothing.
    pub notices: Notices,
    /// For how long two running nodes may believe at the same time.
    pub belief_overlap: BeliefOverlap,
}

crate::registry! {
    /// All protocols, in the order of reports.
    pub const ALL: [&Protocol] = [
        &redis_naive::PROTOCOL,
        &redis_lease::PROTOCOL,
        &redis_fenced::PROTOCOL,
        &redlock::PROTOCOL,
        &redis_sentinel::PROTOCOL,
        &etcd::PROTOCOL,
        &zk_election::PROTOCOL,
        &zk_selector::PROTOCOL,
        &kafka_zk_controller::PROTOCOL,
        &etcd_key::PROTOCOL,
        &consul::PROTOCOL,
        &k8s::PROTOCOL,
        &object_lease::PROTOCOL,
        &dynamodb_lock::PROTOCOL,
        &db_row::PROTOCOL,
        &db_row_node_clock::PROTOCOL,
        &pg_advisory::PROTOCOL,
        &pg_advisory::POOLED,
        &raft::PROTOCOL,
        &raft_core::PROTOCOL,
        &kraft::PROTOCOL,
        &zab_fle::PROTOCOL,
        &bully::PROTOCOL,
        &ring_lelann::PROTOCOL,
        &ring_chang_roberts::PROTOCOL,
        &lowest_id::PROTOCOL,
        &lowest_id_phi::PROTOCOL,
        &swim::PROTOCOL,
        &stonith::PROTOCOL,
    ];
}

/// The protocol called `name`, including those that no list contains: wrapped in a token counter or a second lock, and
/// the ways to run a cron job.
pub fn find(name: &str) -> Option<&'static Protocol> {
    ALL.into_iter().find(|p| p.name == name).or_else(|| wrapped(name))
}

/// Protocols that differ from another one in a detail, and are swept only by name.
pub const VARIED: [&Protocol; 5] = [
    &etcd::from_sending::PROTOCOL,
    &consul::from_sending::PROTOCOL,
    &zk_election::from_sending::PROTOCOL,
    &pg_advisory::from_sending::PROTOCOL,
    &redlock::from_sending::PROTOCOL,
];

/// Whether this protocol's nodes may compare their wall clocks, by design or by a bug.
pub fn compares_wall_clocks(protocol: &Protocol) -> bool {
    [db_row_node_clock::PROTOCOL.name, k8s::PROTOCOL.name].contains(&protocol.name)
}

/// The protocol called `name` that wraps or varies another one, or leads only for a job.
pub fn wrapped(name: &str) -> Option<&'static Protocol> {
    let varied = VARIED.into_iter().find(|protocol| protocol.name == name);
    varied.or_else(|| token_counter::find(name)).or_else(|| both_locks::find(name)).or_else(|| cron::find(name))
}

impl Protocol {
    /// The timings for the reference implementation's own TTL.
    pub fn default_timings(&self) -> Timings {
        let lease_ttl = (self.granted_ttl)(self.default_lease_ttl);
        Timings {
            lease_ttl,
            renew_interval: (self.renew_interval)(lease_ttl),
            request_timeout: (lease_ttl / 3).min(SECOND),
            election_timeout: self.election_timeout,
            rules: rules::Rules::default(),
            own: self.timers.defaults(lease_ttl),
        }
    }

    /// How soon that many candidates notice it at these timings, nanoseconds; `None` for never.
    pub fn notices_within(&self, notice: Notice, timings: &Timings, candidates: u16) -> Option<u64> {
        match notice {
            Notice::Never => None,
            Notice::AsDead => Some((self.granted_ttl)(timings.lease_ttl) + (self.takeover_max)(timings, candidates)),
            Notice::AtOnce => Some(0),
        }
    }

    /// The parameter that sets one of its own timers.
    pub fn parameter_of(&self, timer: Timer) -> Option<&'static Parameter> {
        let sets = |parameter: &&Parameter| matches!(parameter.place, Place::Timer(its) if its == timer);
        self.parameters.iter().find(sets)
    }

    /// Whether it has [`rules`] that can be switched off.
    pub fn has_rules(&self) -> bool {
        self.parameters.iter().any(|parameter| matches!(parameter.place, Place::Rules(_)))
    }

    /// Whether its candidates elect among themselves, without a coordination service. They may have a fencing device.
    pub fn elects_among_peers(&self) -> bool {
        !self.service.elects
    }

    /// Whether a silent leader's power is cut before another takes over, so that it never wakes up as a stale one.
    pub fn cuts_power(&self) -> bool {
        self.service.cuts_power
    }
}

impl std::fmt::Debug for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
