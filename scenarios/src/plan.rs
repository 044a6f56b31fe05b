//! The Plan: everything that will happen, as plain data, before anything runs.
//!
//! A plan is JSON. Reading is strict: an unknown field, a missing one or a negative duration is one sentence, never a
//! guess, because a replay that silently ignored something would not be a replay.

mod address;
mod copies;
mod groups;
pub mod json;
mod limits;
mod network;
mod parameters;
mod redundant;
mod tenure;
mod timers;
mod validate;

pub use crate::topology::{DIRECTORY, STORE};
pub use address::Address;
pub use json::{ParseError, ReadError};
pub use limits::{BANDWIDTH_MAX_MBPS, CANDIDATES_MAX, Invalid, LONGEST_MS, OFFSET_MAX_MS, PPM_MAX, RATE_MAX};
pub use tenure::Tenure;

use crate::{
    fault::{Fault, PlannedFault},
    topology::Topology,
};
use protocols::{
    bug::Bug,
    copies::Copies,
    division::Division,
    election::{self, Protocol, Timers, rules::Rules},
    fence::{charge_check::ChargeCheck, checks::Fencing},
    group,
    history::{Header, Requirement},
    service::Service,
    sharding::Placement,
    types::{MILLISECOND, NodeId},
    work::{Kind, Works, work_set},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_128;

/// Version of the plan format.
pub const SCHEMA: u32 = 1;

/// Everything that will happen in one run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The scenario that this plan was made by.
    pub scenario: String,
    /// The election protocol.
    pub protocol: String,
    /// The seed that it was made from; every random stream of the run is derived from it by name.
    pub seed: u64,
    /// What the store checks: `true` is everything, `false` nothing (it accepts anything), and `"token"`, `"order"` or
    /// `"memory"` that alone. Builds that do not know the words refuse them.
    pub fencing: Fencing,
    /// The known bugs that are switched on, by their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bugs: Vec<String>,
    /// Virtual time that the run takes, milliseconds.
    pub duration_ms: u64,
    /// Does the leader answer reads from memory while its belief lasts? Otherwise the store is asked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub read_lease: bool,
    /// The protocol's timers.
    pub timings: Timings,
    /// The processes that elect.
    pub candidates: Vec<Candidate>,
    /// Contests for one leadership each. Every candidate stands in all of them; each has its own clients, as many as `load`
    /// says, and its own resources.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub groups: u16,
    /// How many members each service has, by its name; one that is not named here has one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub service_members: BTreeMap<String, u16>,
    /// The load.
    pub load: Load,
    /// How the network behaves when nothing is wrong.
    pub network: Network,
    /// What goes wrong.
    pub faults: Vec<PlannedFault>,
    /// What must happen, or the run proves nothing.
    pub requires: Vec<Requirement>,
    /// After the last fault is healed, a leader must act again within this many milliseconds.
    pub liveness_bound_ms: u64,
    /// For how long at most two nodes that run may believe at one time, milliseconds, as the protocol promises in this plan;
    /// nothing when it promises nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual_belief_bound_ms: Option<f64>,
    /// What a leader does, by the names of [`protocols::work::ALL`]; empty is the usual, a sequencer and a scheduler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub works: Vec<String>,
    /// What the work-set of these works is like, where it is not the usual.
    #[serde(default, skip_serializing_if = "work_set::Asked::is_nothing")]
    pub work_set: work_set::Asked,
    /// What is looked at before an invoice is charged, or a message delivered; where it is left out, what the store usually
    /// checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge_check: Option<ChargeCheck>,
    /// Has every candidate's node a copy of the data, which its leader writes to, and when does that acknowledge? Otherwise all
    /// leaders write to one store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Copies>,
    /// How it is decided which candidate should lead which group. Who leads another's hands it over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// How leaders come into their office, and are sent out of it by mistake.
    #[serde(default, skip_serializing_if = "Tenure::is_nothing")]
    pub tenure: Tenure,
    /// By which address clients find the leader; where it is left out, they ask every candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
}

/// The protocol's timers, milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timings {
    /// Lease time to live, as asked for.
    pub lease_ttl_ms: u64,
    /// From one renewal to the next.
    pub renew_interval_ms: u64,
    /// How long one request to the service may take.
    pub request_timeout_ms: u64,
    /// Where election timeouts are drawn from, for protocols that draw them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub election_timeout_ms: Option<(u64, u64)>,
    /// The rules of voting and leading, for protocols that have them on or off.
    #[serde(default, skip_serializing_if = "Rules::are_usual")]
    pub rules: Rules,
    /// How long a leader goes on trying to renew, for protocols that have a renew deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renew_deadline_ms: Option<u64>,
    /// From one attempt to acquire to the next, for protocols that have a retry period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_period_ms: Option<u64>,
    /// For how long the service keeps a lost lock from everybody, for protocols that have a lock delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_delay_ms: Option<u64>,
    /// From one entry to the next in the log that the candidates agree on, for protocols that have one; none where it is left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_interval_ms: Option<u64>,
    /// How long what the service's primary acknowledges takes to its replicas, for protocols whose service has replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_lag_ms: Option<u64>,
}

/// One candidate and its clocks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Its name in reports and in the fault list.
    pub name: String,
    /// How far its wall clock is ahead of true time, milliseconds; negative when it is behind.
    pub wall_offset_ms: i64,
    /// How much faster than true time both its clocks run, parts per million; negative when slower.
    pub rate_ppm: i64,
    /// When its process starts, milliseconds.
    pub starts_at_ms: u64,
    /// It is no member at first, and does not start before it is asked to join; `starts_at_ms` is without meaning then.
    #[serde(default, skip_serializing_if = "is_false")]
    pub joins_later: bool,
    /// Its timers, where they are not the plan's: it is configured in another way than the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timings: Option<Timings>,
}

/// The clients of the sequencer. They are open-loop: they ask at their rate whatever the answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// How many clients.
    pub clients: u16,
    /// Requests a second, all clients together.
    pub rate: u64,
    /// The scheduler's period, milliseconds.
    pub tick_ms: u64,
    /// Reads of the last number a second, all clients together.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reads_per_s: u64,
}

/// The network's behaviour, the same for every link and direction; faults change links.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The profile that these numbers came from, for reports.
    pub profile: String,
    /// Shortest one-way latency, microseconds.
    pub latency_us: u64,
    /// Uniform extra latency on top, up to so many microseconds.
    pub jitter_us: u64,
    /// Probability that a packet is lost. Connections resend it: it comes later, and what is behind it waits.
    pub loss: f64,
    /// Probability that a datagram arrives twice.
    pub duplicate: f64,
    /// Probability that a packet takes a detour. Datagrams overtake it; on a connection what is behind it waits.
    pub reorder: f64,
    /// Bits a second that each process can send, all its links together, in millions; 0 is unlimited.
    pub bandwidth_mbps: u64,
    /// Does what elects (heartbeats, votes, requests to the service) leave by a link of its own, apart from the data?
    #[serde(default, skip_serializing_if = "is_false")]
    pub control_apart: bool,
    /// Do clients and nodes, and nodes and the store, talk by datagrams? Otherwise they do over connections.
    #[serde(default, skip_serializing_if = "is_false")]
    pub datagrams: bool,
}

/// What a message counts as, for bandwidth and windows, bytes: a small request with its headers.
pub const MESSAGE_BYTES: u64 = 160;

/// The scenario name of plans that [`crate::generate`] made.
pub const SWARM: &str = "swarm";

/// What there is that a plan may name: the part of a registry that plans are checked against.
pub struct Known<'a> {
    /// Every scenario, by name.
    pub scenarios: Vec<&'a str>,
    /// Every protocol.
    pub protocols: &'a [&'a Protocol],
    /// Every bug that can be switched on.
    pub bugs: &'a [&'a Bug],
    /// Every work that a leader may do.
    pub works: &'a [&'static Kind],
}

impl<'a> Known<'a> {
    /// The protocol of that name.
    pub fn protocol(&self, name: &str) -> Option<&'a Protocol> {
        let listed = self.protocols.iter().copied().find(|protocol| protocol.name == name);
        listed.or_else(|| election::wrapped(name))
    }
}

impl Plan {
    /// The plan as indented JSON with a newline at its end.
    pub fn to_json_pretty(&self) -> String {
        json::pretty(self)
    }

    /// 128 bits that identify the plan, as 32 hexadecimal digits: XXH3 of its compact JSON.
    pub fn digest(&self) -> String {
        let text = serde_json::to_string(self).expect("plans have string keys and finite numbers");
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }

    /// The timers that a candidate is configured with.
    pub fn timings_of(&self, candidate: NodeId) -> Timings {
        self.candidates.get(candidate.index()).and_then(|c| c.timings).unwrap_or(self.timings)
    }

    /// How many members a service of that name has.
    pub fn members_of(&self, service: &str) -> u16 {
        self.service_members.get(service).copied().unwrap_or(1)
    }

    /// What a leader does, of the works that there are.
    ///
    /// # Errors
    /// There is no such work, or these do not go together: one sentence.
    pub fn leaders_works(&self, known: &[&'static Kind]) -> Result<Works, Invalid> {
        let works = match self.works.as_slice() {
            [] => Ok(Works::default()),
            names => {
                Works::named(known, names.iter().map(String::as_str)).map_err(|why| Invalid(format!("works: {why}")))
            }
        };
        works.map(|works| works.with_work_set(self.work_set).with_charge_check(self.charge_check))
    }

    /// Who is who when this plan is run with its protocol, by leaders that do the usual works.
    pub fn topology_of(&self, protocol: &Protocol) -> Topology {
        let candidates = self.candidates.iter().map(|candidate| candidate.name.clone());
        let service = |s: &'static Service| Some((s.process?.to_owned(), s.members, self.members_of(s.process?)));
        let services = protocol.service.all().filter_map(service);
        let topology = Topology::new(candidates, services, self.load.clients);
        let topology = if self.address.is_some() { topology.with_directory() } else { topology };
        topology.with_groups(self.groups)
    }

    /// The names of all resources, by [`protocols::types::Resource`]: those of group 0, then those of the next.
    fn resources(&self, works: &Works) -> Vec<String> {
        let of_group = |group| works.resources().map(move |name| group::named(name, group)).collect::<Vec<_>>();
        (0..self.groups).flat_map(of_group).collect()
    }

    /// What belongs to which group, of these processes.
    pub fn division(&self, topology: &Topology) -> Division {
        let resources = topology.works().resources().count() as u16;
        let first_client = NodeId(topology.store().0 + 1);
        Division { groups: self.groups, resources, first_client, clients: self.load.clients }
    }

    /// What the judge has to know about a run of this plan with its protocol, whose processes are these.
    pub fn header_of(&self, protocol: &Protocol, topology: &Topology) -> Header {
        let needed = topology.services().iter().map(|service| service.needed()).sum();
        Header {
            schema: protocols::history::json::SCHEMA,
            scenario: self.scenario.clone(),
            protocol: self.protocol.clone(),
            seed: self.seed,
            fencing: self.fencing,
            tokened: protocol.tokened,
            plan_digest: self.digest(),
            nodes: topology.names().to_vec(),
            candidates: topology.candidates().len() as u16,
            lease_ttl_ms: (protocol.granted_ttl)(self.timings.resolved().lease_ttl) / MILLISECOND,
            rate: self.load.rate,
            liveness_bound_ms: self.liveness_bound_ms,
            dark_after_ms: self.network.dark_after_ms(),
            requires: self.requires.clone(),
            services: topology.members().collect(),
            services_needed: if needed > 1 { needed } else { 0 },
            tick_ms: self.load.tick_ms,
            store: Some(topology.store()),
            // Where a majority of the copies decides, nobody acts without one either.
            majority: protocol.majority || self.copies == Some(Copies::Majority),
            ring: protocol.ring,
            dual_belief_bound_us: self.dual_belief_bound_ms.map(|ms| (ms * 1e3) as u64),
            resources: self.resources(topology.works()),
            copies: self.copies,
            address: self.address.map(|address| address.kind),
            placement: self.placement,
            groups: self.groups,
            group: 0,
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn one() -> u16 {
    1
}

fn is_one(value: &u16) -> bool {
    *value == 1
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Timings {
    /// Those that some protocols have and others do not, milliseconds.
    pub fn own_ms(&self) -> Timers {
        Timers {
            renew_deadline: self.renew_deadline_ms,
            retry_period: self.retry_period_ms,
            lock_delay: self.lock_delay_ms,
            entry_interval: self.entry_interval_ms,
            replica_lag: self.replica_lag_ms,
        }
    }

    /// The same in nanoseconds, as protocols take them.
    pub fn resolved(&self) -> election::Timings {
        election::Timings {
            lease_ttl: self.lease_ttl_ms.saturating_mul(MILLISECOND),
            renew_interval: self.renew_interval_ms.saturating_mul(MILLISECOND),
            request_timeout: self.request_timeout_ms.saturating_mul(MILLISECOND),
            election_timeout: self
                .election_timeout_ms
                .map(|(min_ms, max_ms)| (min_ms.saturating_mul(MILLISECOND), max_ms.saturating_mul(MILLISECOND))),
            rules: self.rules,
            own: self.own_ms().map(|ms| ms.saturating_mul(MILLISECOND)),
        }
    }
}

impl Plan {
    /// Does anything limit how fast processes send?
    pub fn limits_bandwidth(&self) -> bool {
        let narrows = |planned: &PlannedFault| matches!(planned.what, Fault::Bandwidth { .. });
        self.network.bandwidth_mbps > 0 || self.faults.iter().any(narrows)
    }
}
