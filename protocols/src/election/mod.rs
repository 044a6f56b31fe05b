//! The election protocols, one file each, and what each of them promises.

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
pub mod k8s;
pub mod kafka_zk_controller;
pub mod kraft;
mod lease_keeper;
pub mod lowest_id;
pub mod lowest_id_phi;
pub mod object_lease;
pub mod pg_advisory;
pub mod phi;
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
pub mod timers;
pub mod token_counter;
pub mod zab_fle;
pub mod zk_election;
pub mod zk_selector;
pub mod zookeeper;

pub use promise::{BeliefOverlap, Bounds, Conditions, Notice, Notices, Promise};
pub use timers::{OwnTimer, OwnTimers, Timer, Timers};

use crate::{
    bug::Bugs,
    elector::AnyElector,
    payload::Opaque,
    service::Service,
    types::{NodeId, SECOND},
};

/// What a protocol needs to know about the node that it runs on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Setup {
    /// The candidate.
    pub node: NodeId,
    /// The group whose leadership it stands for. Groups share the service: what an elector keeps there has the group in its
    /// name. What it says to other candidates comes to those of its group alone.
    pub group: u16,
    /// Names of all candidates by [`NodeId`]; identities in the service are made of them.
    pub names: Vec<String>,
    /// Timings, already resolved against the protocol's defaults.
    pub timings: Timings,
    /// 64 bits of the node's own random stream, new at every start of the process.
    pub nonce: u64,
    /// What the elector's last [`crate::elector::Output::Persist`] left on disk; `None` on a node's first start.
    pub stored: Option<Vec<u8>>,
    /// The members of its service, by [`NodeId`]; none when that is no process of its own.
    pub service: Vec<NodeId>,
    /// The bugs that are switched on.
    pub bugs: Bugs,
}

impl Setup {
    /// Every other candidate.
    pub fn others(&self) -> impl Iterator<Item = NodeId> + use<> {
        let (count, own) = (self.names.len() as u16, self.node);
        (0..count).map(NodeId).filter(move |node| *node != own)
    }

    /// How many of the candidates are a majority.
    pub fn majority(&self) -> usize {
        self.names.len() / 2 + 1
    }
}

/// A protocol's timers, nanoseconds, and the rules that go with them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Timings {
    /// Time to live of the lease or session.
    pub lease_ttl: u64,
    /// From one renewal to the next; a waiting candidate of a protocol without a queue asks at the same pace, unless it has
    /// a retry period.
    pub renew_interval: u64,
    /// How long one request may take before its outcome is unknown.
    pub request_timeout: u64,
    /// Where election timeouts are drawn from, for protocols that draw them.
    pub election_timeout: Option<(u64, u64)>,
    /// The rules of voting and leading, for protocols that have them on or off.
    pub rules: rules::Rules,
    /// Those that some protocols have and others do not: [`Protocol::timers`].
    pub own: Timers,
}

impl Timings {
    /// From one attempt to acquire to the next, for protocols that make attempts.
    pub fn retry_period(&self) -> u64 {
        self.own.retry_period.unwrap_or(self.renew_interval)
    }
}

/// What may go wrong in a scenario, as far as protocols promise anything about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hazard {
    /// Nothing does.
    None,
    /// The leader's process dies.
    Crash,
    /// The leader is stopped for longer than its lease, with a write in its hands.
    PauseBeyondLease,
    /// The leader is stopped for longer than its session lasts, but not for longer than the service keeps its lock from others.
    PauseWithinLockDelay,
    /// The leader cannot reach the coordination service, but still the resource.
    CutOffFromService,
    /// The leader gives leadership up.
    Resignation,
    /// Nothing passes between the leader and the other candidates, but everything between it, clients and resource.
    CutOffFromPeers,
    /// What one side of a cut says arrives, what the other says does not.
    OneWayCut,
    /// Several candidates stand at once.
    SplitVote,
    /// No group of candidates that can talk to each other is a majority.
    NoQuorum,
    /// A ring falls into two.
    BrokenRing,
    /// The candidate that the protocol prefers stops again and again for longer than others wait for it.
    SlowPreferred,
    /// The leader hands over to a named successor.
    Transfer,
    /// Clocks run at different rates, and the leader answers reads from memory.
    ClockDrift,
    /// Candidates join and leave.
    Churn,
    /// Both sides of a cut want the other's power cut.
    FencingRace,
    /// Messages are lost and nodes stall, but less than failure detectors must bear.
    FalseSuspicion,
    /// Every machine loses power at once.
    PowerOutage,
    /// Each candidate in turn is stopped and started again.
    RollingRestart,
    /// Followers restart while the leader is cut off from them.
    RestartInIsolation,
    /// The resource dies, or loses power, and comes back.
    StoreRestart,
    /// The coordination service dies, or loses power, and comes back.
    ServiceRestart,
    /// The coordination service comes back without anything that it had.
    ServiceDataLoss,
    /// The coordination service comes back with what it had before its leadership changed hands.
    ServiceRestored,
    /// The coordination service dies, and keeps nothing of what it has granted last.
    ServiceForgets,
    /// The primary and its leader are cut off for long, another is promoted elsewhere, and nobody fences the first.
    PromotedElsewhere,
    /// Candidates take two locks, each of which keeps to its own.
    MixedLocks,
    /// The leader dies, and the coordination service answers later than anybody waits for.
    SlowService,
    /// The member that leads the coordination service dies.
    ServiceFailover,
    /// The coordination service has no majority of its members.
    ServiceQuorumLoss,
    /// The member that leads the coordination service stops for longer than a lease, and wakes up.
    ServiceStall,
    /// The member that leads the coordination service is cut off from the other members.
    ServiceLeaderCutOff,
    /// Syncs of a candidate's disk are slow, hang, or fail.
    DiskStall,
    /// Wall clocks are set forward and back.
    ClockSteps,
    /// Links go down and up, never for long.
    Flapping,
    /// Two of them cannot reach each other while everybody else reaches both.
    MissingLink,
    /// A candidate that was cut off from the others comes back.
    Rejoin,
    /// Everybody stalls again and again for less than the lease.
    Starvation,
    /// The coordination service drops the lease or the key of the leader.
    LostLease,
    /// Somebody says in the name of a dead candidate that it leads.
    ForgedClaim,
    /// The leader's renewals are held up for longer than its lease.
    DelayedRenewals,
    /// Somebody has the power of a healthy leader cut.
    RogueFence,
    /// The fencing device confirms what it does not do.
    LyingDevice,
    /// The fencing device stops machines long after it has accepted to.
    CloudDevice,
    /// The leader holds on to its lease, and cannot work.
    LeaderCannotWork,
    /// The leader's link is full of data, and its heartbeats wait behind them.
    SaturatedLink,
    /// Anything the fault list can say.
    Any,
}

/// Which candidate a protocol wants to lead, whoever does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preference {
    /// Any that can.
    Any,
    /// The highest id that is alive.
    Highest,
    /// The lowest id that is alive.
    Lowest,
}

/// How candidates talk to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// Datagrams: they are lost, come twice and out of order.
    Datagram,
    /// Connections: what is lost comes late, and what is behind it waits.
    Stream,
}

/// How long a leader of these timers believes, and how long whoever can replace it waits; see [`Protocol::read_lease`].
pub type ReadLease = fn(&Timings) -> (u64, u64);

/// One protocol of the registry.
pub struct Protocol {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence for `list`.
    pub about: &'static str,
    /// The coordination service it needs.
    pub service: &'static Service,
    /// Does its leadership carry a fencing token?
    pub tokened: bool,
    /// How its candidates talk to each other, as far as they do.
    pub transport: Transport,
    /// The reference implementation's own lease time to live, nanoseconds.
    pub default_lease_ttl: u64,
    /// The reference implementation's own range of election timeouts, nanoseconds; `None` when the protocol has none. Then
    /// the lease's time to live is the shorter of the two, unless somebody asks for another.
    pub election_timeout: Option<(u64, u64)>,
    /// The time to live that the service grants when asked for this one, nanoseconds.
    pub granted_ttl: fn(u64) -> u64,
    /// The renewal interval that belongs to a time to live, nanoseconds.
    pub renew_interval: fn(u64) -> u64,
    /// The longest from the end of an unrenewed lease to a successor's election on a quiet network, nanoseconds:
    /// expiry scans, polling. The last argument is the number of candidates.
    pub takeover_max: fn(&Timings, u16) -> u64,
    /// For how long the leader of these timers believes after it sent what confirmed it last, by its own clock; and for how
    /// long whoever can replace it waits at least after that arrived, by another clock. Nanoseconds. A leader may answer
    /// reads from memory while the first is over before the second. `None` for a belief without an end.
    pub read_lease: Option<ReadLease>,
    /// Whom it wants to lead.
    pub preference: Preference,
    /// Must a majority of the candidates hear each other before one of them can lead?
    pub majority: bool,
    /// Do candidates keep something on disk that they must not forget?
    pub persists: bool,
    /// After a restart, does a candidate forget whose lease it must wait out? Then [`Protocol::read_lease`] bounds nothing.
    pub forgets_to_wait: bool,
    /// Do the candidates pass messages along a ring in the order of their ids, so that nobody can be elected while a link of
    /// it is missing?
    pub ring: bool,
    /// Can a leader hand over to a named successor?
    pub transfers: bool,
    /// Can candidates join and leave while it runs?
    pub changes_members: bool,
    /// The timing options that it has beside those that all have.
    pub timers: OwnTimers,
    /// What a candidate, of so many, says to others when it leads: what somebody else can forge. The last argument names the
    /// claim where claims have names. `None` where nobody is believed for saying so.
    pub claim: Option<fn(NodeId, u16, u64) -> Opaque>,
    /// A new elector; see [`crate::elector::boxed`].
    pub elector: fn(Setup) -> Box<AnyElector>,
    /// What it promises under a hazard with fencing on or off.
    pub promise: fn(Hazard, bool) -> Promise,
    /// How many of each figure it promises at most under a hazard, at its defaults and where the network loses nothing.
    pub bounds: fn(Hazard) -> Bounds,
    /// Whether it notices by itself that a leader does nothing.
    pub notices: Notices,
    /// For how long two nodes that run may believe at one time.
    pub belief_overlap: BeliefOverlap,
}

crate::registry! {
    /// Every protocol there is, in the order in which reports show them.
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

/// The protocol of that name, one that is in no list included: made of another, with a token counter around it or with a second
/// lock, or a way to run a cron job.
pub fn find(name: &str) -> Option<&'static Protocol> {
    ALL.into_iter().find(|p| p.name == name).or_else(|| wrapped(name))
}

/// The protocol of that name that is made of another one, or leads for a job only.
pub fn wrapped(name: &str) -> Option<&'static Protocol> {
    token_counter::find(name).or_else(|| both_locks::find(name)).or_else(|| cron::find(name))
}

impl Protocol {
    /// The timings that go with the reference implementation's own time to live.
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

    /// Within what time, nanoseconds, so many candidates do as much as that notices, at these timings; `None` for never.
    pub fn notices_within(&self, notice: Notice, timings: &Timings, candidates: u16) -> Option<u64> {
        match notice {
            Notice::Never => None,
            Notice::AsDead => Some((self.granted_ttl)(timings.lease_ttl) + (self.takeover_max)(timings, candidates)),
            Notice::AtOnce => Some(0),
        }
    }

    /// Do its candidates elect among themselves, without a coordination service? They may have a fencing device.
    pub fn elects_among_peers(&self) -> bool {
        !self.service.elects
    }

    /// Is a silent leader's power cut before somebody takes over? Then it never wakes up as a stale one.
    pub fn cuts_power(&self) -> bool {
        self.service.cuts_power
    }
}

impl std::fmt::Debug for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
