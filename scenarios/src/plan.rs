//! The plan: a run as plain data, complete before anything runs.
//!
//! Plans are JSON, read strictly: an unknown field, a missing field or a negative duration is an error in one sentence,
//! because a replay that ignored part of its plan would not be a replay.

mod branch;
mod groups;
pub mod json;
mod leading;
mod limits;
mod own;
mod parameters;
pub mod program;
mod redundant;
mod timers;
mod validate;

pub use crate::topology::{DIRECTORY, STORE};
use crate::{
    fault::{Fault, PlannedFault},
    topology::Topology,
};
pub use branch::Branch;
pub use json::{ParseError, ReadError};
pub use leading::{Address, Tenure};
pub use limits::{BANDWIDTH_MAX_MBPS, CANDIDATES_MAX, Invalid, LONGEST_MS, OFFSET_MAX_MS, PPM_MAX, RATE_MAX};
pub use own::{Given, Kept};
use protocols::{
    bug::Bug,
    copies::Copies,
    division::Division,
    election::{self, Protocol, Timers, rules::Rules},
    fence::checks::{ChargeCheck, Fencing},
    group,
    history::{Header, Requirement, ServiceCluster},
    parameter::Values,
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

/// Everything that determines one run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The scenario that compiled this plan.
    pub scenario: String,
    pub protocol: String,
    /// Every random stream of the run is derived from the seed by name.
    pub seed: u64,
    /// What the store checks: `true` for everything, `false` for nothing (it accepts any write), and `"token"`,
    /// `"order"` or `"memory"` for that check alone. Builds that do not know these words reject them.
    pub fencing: Fencing,
    /// The ids of the known bugs that are switched on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bugs: Vec<String>,
    /// Length of the run in virtual time, milliseconds.
    pub duration_ms: u64,
    /// Does the leader answer reads from memory while its belief lasts? Otherwise it asks the store.
    #[serde(default, skip_serializing_if = "is_false")]
    pub read_lease: bool,
    pub timings: Timings,
    /// The processes that elect.
    pub candidates: Vec<Candidate>,
    /// The number of groups. Every candidate stands in each; each has its own clients, as many as `load` states, and
    /// its own resources.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub groups: u16,
    /// The number of members of each service, by its name; 1 if it is missing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub service_members: BTreeMap<String, u16>,
    pub load: Load,
    /// The network's behaviour without faults.
    pub network: Network,
    pub faults: Vec<PlannedFault>,
    /// What must happen; otherwise the run proves nothing.
    pub requires: Vec<Requirement>,
    /// A leader must act again within this many milliseconds after the last fault has healed.
    pub liveness_bound_ms: u64,
    /// The longest dual belief that the protocol promises in this plan, milliseconds; `None` if it promises no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual_belief_bound_ms: Option<f64>,
    /// The leader's works, by the names in [`protocols::work::ALL`]; empty for the usual, a sequencer and a scheduler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub works: Vec<String>,
    /// The work-set's properties, where they differ from the usual.
    #[serde(default, skip_serializing_if = "work_set::Asked::is_nothing")]
    pub work_set: work_set::Asked,
    /// The check before an invoice is charged or a message delivered; `None`: the store's usual check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge_check: Option<ChargeCheck>,
    /// When a copy of the data on each candidate's node acknowledges its leader's writes; `None`: there is one store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Copies>,
    /// How the candidate that should lead a group is decided. A node that leads another's group hands it over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Warm-up of new leaders, and resignations by mistake.
    #[serde(default, skip_serializing_if = "Tenure::is_nothing")]
    pub tenure: Tenure,
    /// The address by which clients find the leader; `None`: they ask every candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// Parameters of the protocol and of works that have no field here, by owner and name.
    #[serde(default, skip_serializing_if = "Kept::is_empty")]
    pub set: Kept,
    /// Moments from which on another seed decides, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<Branch>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timings {
    /// The lease time to live asked for.
    pub lease_ttl_ms: u64,
    /// From one renewal to the next.
    pub renew_interval_ms: u64,
    /// Timeout of one request to the service.
    pub request_timeout_ms: u64,
    /// The range that election timeouts are drawn from, for protocols that draw them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub election_timeout_ms: Option<(u64, u64)>,
    /// The rules of voting and leading, for protocols that can switch them off.
    #[serde(default, skip_serializing_if = "Rules::are_usual")]
    pub rules: Rules,
    /// How long a leader keeps trying to renew, for protocols with a renew deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renew_deadline_ms: Option<u64>,
    /// From one attempt to acquire to the next, for protocols with a retry period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_period_ms: Option<u64>,
    /// How long the service withholds a lost lock from everybody, for protocols with a lock delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_delay_ms: Option<u64>,
    /// From one entry to the next in the candidates' log, for protocols with one; `None`: no entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_interval_ms: Option<u64>,
    /// How long an acknowledged write takes from the service's primary to its replicas, for protocols whose service has
    /// replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_lag_ms: Option<u64>,
}

/// One candidate and its clocks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// In reports and in the fault list.
    pub name: String,
    /// How far its wall clock is ahead of true time; negative if it is behind.
    pub wall_offset_ms: i64,
    /// How much faster than true time both its clocks run, parts per million; negative if slower.
    pub rate_ppm: i64,
    /// When its process starts.
    pub starts_at_ms: u64,
    /// It is not a member at first and starts only when asked to join; `starts_at_ms` is then ignored.
    #[serde(default, skip_serializing_if = "is_false")]
    pub joins_later: bool,
    /// Its own timers, if it is configured differently from the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timings: Option<Timings>,
}

/// The clients of the sequencer. They are open-loop: they send at their rate whatever the answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    pub clients: u16,
    /// Requests per second, all clients together.
    pub rate: u64,
    /// The scheduler's period.
    pub tick_ms: u64,
    /// Reads of the last number per second, all clients together.
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
    /// Uniform extra latency, up to this many microseconds.
    pub jitter_us: u64,
    /// Probability that a packet is lost. Connections resend it: it arrives later and delays the packets behind it.
    pub loss: f64,
    /// Probability that a datagram arrives twice.
    pub duplicate: f64,
    /// Probability that a packet takes a detour. Datagrams overtake it; a connection's later packets wait for it.
    pub reorder: f64,
    /// Millions of bits per second that each process can send, all its links together; 0 is unlimited.
    pub bandwidth_mbps: u64,
    /// Does election traffic (heartbeats, votes, requests to the service) use a link of its own, apart from the data?
    #[serde(default, skip_serializing_if = "is_false")]
    pub control_apart: bool,
    /// Do clients, nodes and the store exchange datagrams? Otherwise they use connections.
    #[serde(default, skip_serializing_if = "is_false")]
    pub datagrams: bool,
}

/// The size of a message for bandwidth and windows, bytes: a small request with its headers.
pub const MESSAGE_BYTES: u64 = 160;

/// The scenario name of plans made by [`crate::generate`].
pub const SWARM: &str = "swarm";

/// The names that a plan may use: the part of a registry that plans are checked against.
pub struct Known<'a> {
    pub scenarios: Vec<&'a str>,
    pub protocols: &'a [&'a Protocol],
    pub bugs: &'a [&'a Bug],
    pub works: &'a [&'static Kind],
}

impl<'a> Known<'a> {
    pub fn protocol(&self, name: &str) -> Option<&'a Protocol> {
        let listed = self.protocols.iter().copied().find(|protocol| protocol.name == name);
        listed.or_else(|| election::wrapped(name))
    }
}

impl Plan {
    /// Indented JSON with a trailing newline.
    pub fn to_json_pretty(&self) -> String {
        json::pretty(self)
    }

    /// 128 bits that identify the plan, as 32 hexadecimal digits: XXH3 of its compact JSON.
    pub fn digest(&self) -> String {
        let text = serde_json::to_string(self).expect("plans have string keys and finite numbers");
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }

    /// The protocol's timers, as it takes them.
    pub fn resolved(&self, protocol: &Protocol) -> election::Timings {
        self.timings.resolved_with(own::kept(&self.set, protocol.name, protocol.parameters))
    }

    /// A candidate's timers, as the protocol takes them.
    pub fn resolved_of(&self, candidate: NodeId, protocol: &Protocol) -> election::Timings {
        self.timings_of(candidate).resolved_with(self.resolved(protocol).own.values)
    }

    /// The timers of a candidate: its own, or the plan's.
    pub fn timings_of(&self, candidate: NodeId) -> Timings {
        self.candidates.get(candidate.index()).and_then(|c| c.timings).unwrap_or(self.timings)
    }

    pub fn members_of(&self, service: &str) -> u16 {
        self.service_members.get(service).copied().unwrap_or(1)
    }

    /// The leader's works, resolved among `known`.
    ///
    /// # Errors
    /// A work is unknown, or the works do not go together: one sentence.
    pub fn leaders_works(&self, known: &[&'static Kind]) -> Result<Works, Invalid> {
        let works = match self.works.as_slice() {
            [] => Ok(Works::default()),
            names => {
                Works::named(known, names.iter().map(String::as_str)).map_err(|why| Invalid(format!("works: {why}")))
            }
        };
        let works = works?.with_work_set(self.work_set).with_charge_check(self.charge_check);
        Ok(works.with_values(|kind| own::kept(&self.set, kind.name, kind.parameters)))
    }

    /// The processes of this plan under its protocol, with the usual works.
    pub fn topology_of(&self, protocol: &Protocol) -> Topology {
        let candidates = self.candidates.iter().map(|candidate| candidate.name.clone());
        let service = |s: &'static Service| Some((s.process?.to_owned(), s.members, self.members_of(s.process?)));
        let services = protocol.service.all().filter_map(service);
        let topology = Topology::new(candidates, services, self.load.clients);
        let topology = if self.address.is_some() { topology.with_directory() } else { topology };
        topology.with_groups(self.groups)
    }

    /// The names of all resources, indexed by [`protocols::types::Resource`]: those of group 0, then those of group 1,
    /// and so on.
    fn resources(&self, works: &Works) -> Vec<String> {
        let of_group = |group| works.resources().map(move |name| group::named(name, group)).collect::<Vec<_>>();
        (0..self.groups).flat_map(of_group).collect()
    }

    /// Which processes and resources belong to which group.
    pub fn division(&self, topology: &Topology) -> Division {
        let resources = topology.works().resources().count() as u16;
        let first_client = NodeId(topology.store().0 + 1);
        Division { groups: self.groups, resources, first_client, clients: self.load.clients }
    }

    /// What the judge has to know about a run of this plan under its protocol, with these processes.
    pub fn header_of(&self, protocol: &Protocol, topology: &Topology) -> Header {
        let needed = topology.services().iter().map(|service| service.needed()).sum();
        let services = protocol.service.all().filter(|service| service.process.is_some()).zip(topology.services());
        let agree = services.filter(|(kind, service)| kind.members.agree() && service.nodes().len() > 1);
        let clusters = agree.map(|(kind, service)| ServiceCluster {
            members: service.nodes().collect(),
            failover_ms: kind.failover_max / MILLISECOND,
        });
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
            lease_ttl_ms: (protocol.granted_ttl)(self.resolved(protocol).lease_ttl) / MILLISECOND,
            rate: self.load.rate,
            liveness_bound_ms: self.liveness_bound_ms,
            dark_after_ms: self.network.dark_after_ms(),
            requires: self.requires.clone(),
            services: topology.members().collect(),
            services_needed: if needed > 1 { needed } else { 0 },
            clusters: clusters.collect(),
            // What a program's leader does besides, and when, is its own business.
            tick_ms: if protocol.is_program() { 0 } else { self.load.tick_ms },
            store: Some(topology.store()),
            // If a majority of the copies decides, nobody acts without one either.
            majority: protocol.majority || self.copies == Some(Copies::Majority),
            ring: protocol.ring,
            dual_belief_bound_us: self.dual_belief_bound_ms.map(|ms| (ms * 1e3) as u64),
            resources: self.resources(topology.works()),
            copies: self.copies,
            deferred_commit: election::raft_core::guard(&self.resolved(protocol)).is_some(),
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
    /// The timers that only some protocols have, milliseconds.
    pub fn own_ms(&self) -> Timers {
        Timers {
            renew_deadline: self.renew_deadline_ms,
            retry_period: self.retry_period_ms,
            lock_delay: self.lock_delay_ms,
            entry_interval: self.entry_interval_ms,
            replica_lag: self.replica_lag_ms,
            values: Values::NONE,
        }
    }

    /// In nanoseconds, as protocols take them, with what else belongs to the protocol.
    pub fn resolved_with(&self, values: Values) -> election::Timings {
        election::Timings {
            lease_ttl: self.lease_ttl_ms.saturating_mul(MILLISECOND),
            renew_interval: self.renew_interval_ms.saturating_mul(MILLISECOND),
            request_timeout: self.request_timeout_ms.saturating_mul(MILLISECOND),
            election_timeout: self
                .election_timeout_ms
                .map(|(min_ms, max_ms)| (min_ms.saturating_mul(MILLISECOND), max_ms.saturating_mul(MILLISECOND))),
            rules: self.rules,
            own: Timers { values, ..self.own_ms().map(|ms| ms.saturating_mul(MILLISECOND)) },
        }
    }
}

impl Plan {
    /// True if anything limits how fast processes send.
    pub fn limits_bandwidth(&self) -> bool {
        let narrows = |planned: &PlannedFault| matches!(planned.what, Fault::Bandwidth { .. });
        self.network.bandwidth_mbps > 0 || self.faults.iter().any(narrows)
    }
}
