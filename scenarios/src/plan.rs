//! The Plan: everything that will happen, as plain data, before anything runs.
//!
//! A plan is JSON. Reading is strict: an unknown field, a missing one or a negative duration is one sentence, never a
//! guess, because a replay that silently ignored something would not be a replay.

pub mod json;
mod redundant;
mod validate;

pub use validate::{CANDIDATES_MAX, OFFSET_MAX_MS, PPM_MAX, RATE_MAX};

use crate::fault::{PlannedFault, Who};
use protocols::{
    election::{self, Protocol},
    fence::checks::Fencing,
    history::{Header, Requirement},
    load::ATTEMPT_TIMEOUT,
    node::STORE_SILENCE,
    registry,
    types::{MILLISECOND, NodeId},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;
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
    /// Virtual time that the run takes, milliseconds.
    pub duration_ms: u64,
    /// Does the leader answer reads from memory while its belief lasts? Otherwise the store is asked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub read_lease: bool,
    /// The protocol's timers.
    pub timings: Timings,
    /// The processes that elect.
    pub candidates: Vec<Candidate>,
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
    /// Bits a second per direction of a link, in millions; 0 is unlimited.
    pub bandwidth_mbps: u64,
    /// Do clients and nodes, and nodes and the store, talk by datagrams? Otherwise they do over connections.
    #[serde(default, skip_serializing_if = "is_false")]
    pub datagrams: bool,
}

/// Longest run, longest lease, and longest time in a fault: 24 hours, milliseconds.
pub const LONGEST_MS: u64 = 24 * 3600 * 1000;

/// How long a leader that talks to the store by datagrams waits for an answer at least, milliseconds.
const DATAGRAM_PATIENCE_MS: u64 = 50;

/// The name of the fenced store's process.
pub const STORE: &str = "store";

/// The scenario name of plans that [`crate::generate`] made.
pub const SWARM: &str = "swarm";

impl Plan {
    /// Reads a plan and validates it.
    ///
    /// # Errors
    /// One sentence that names the field and the line.
    pub fn from_json(text: &str) -> Result<Plan, String> {
        let plan: Plan = json::read(text, "plan")?;
        plan.validate()?;
        Ok(plan)
    }

    /// The plan as indented JSON with a newline at its end.
    pub fn to_json_pretty(&self) -> String {
        json::pretty(self)
    }

    /// 128 bits that identify the plan, as 32 hexadecimal digits: XXH3 of its compact JSON.
    pub fn digest(&self) -> String {
        let text = serde_json::to_string(self).expect("plans have string keys and finite numbers");
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }

    /// Refuses what makes no sense.
    ///
    /// # Errors
    /// One sentence that names what is wrong and what would be right.
    pub fn validate(&self) -> Result<(), String> {
        validate::plan(self)
    }

    /// The first fault that would change nothing, as far as that is known before the run, and why: it kills who is dead,
    /// starts who runs, or stops who is stopped.
    pub fn redundant(&self) -> Option<(usize, String)> {
        redundant::first(self)
    }

    /// The protocol; `None` when there is none of that name, which [`Plan::validate`] refuses.
    pub fn election(&self) -> Option<&'static Protocol> {
        registry::OURS.find(&self.protocol)
    }

    /// The coordination service that is a process of its own, if the protocol has one.
    fn service(&self) -> Option<&'static str> {
        self.election().map_or(Some("service"), |protocol| protocol.service.process())
    }

    /// The names of all processes in the order of their [`NodeId`]s: candidates, the coordination service (under its own
    /// name, if there is one), the store, and the clients `c1`, `c2` …
    pub fn topology(&self) -> Vec<String> {
        let candidates = self.candidates.iter().map(|candidate| candidate.name.clone());
        let servers = self.service().into_iter().chain([STORE]).map(str::to_owned);
        candidates.chain(servers).chain((1..=self.load.clients).map(|number| format!("c{number}"))).collect()
    }

    /// The candidates' places in the topology.
    pub fn candidate_nodes(&self) -> Range<u16> {
        0..self.candidates.len() as u16
    }

    /// The coordination service's place in the topology, if it is a process of its own.
    pub fn service_node(&self) -> Option<NodeId> {
        self.service().map(|_| NodeId(self.candidate_nodes().end))
    }

    /// The store's place in the topology.
    pub fn store_node(&self) -> NodeId {
        NodeId(self.candidate_nodes().end + u16::from(self.service().is_some()))
    }

    /// The clients' places in the topology.
    pub fn client_nodes(&self) -> Range<u16> {
        let first = self.store_node().0 + 1;
        first..first + self.load.clients
    }

    /// Who that is, in the order of the topology, as far as it is known before the run: nothing for the leader, its
    /// followers and whoever set a fault off, and nothing for a name that is nobody's.
    pub fn resolve(&self, who: &Who) -> Option<Vec<NodeId>> {
        match who {
            Who::Leader | Who::Followers | Who::Trigger => None,
            Who::Candidates => Some(self.candidate_nodes().map(NodeId).collect()),
            Who::Service => self.service_node().map(|node| vec![node]),
            Who::Store => Some(vec![self.store_node()]),
            Who::Clients => Some(self.client_nodes().map(NodeId).collect()),
            Who::Named(name) => {
                let place = self.topology().iter().position(|known| known == name)?;
                Some(vec![NodeId(place as u16)])
            }
        }
    }

    /// What the judge has to know about a run of this plan.
    pub fn header(&self) -> Header {
        let election = self.election();
        let ttl = self.timings.resolved().lease_ttl;
        Header {
            schema: 1,
            scenario: self.scenario.clone(),
            protocol: self.protocol.clone(),
            seed: self.seed,
            fencing: self.fencing,
            tokened: election.is_some_and(|protocol| protocol.tokened),
            plan_digest: self.digest(),
            nodes: self.topology(),
            candidates: self.candidate_nodes().end,
            lease_ttl_ms: election.map_or(ttl, |protocol| (protocol.granted_ttl)(ttl)) / MILLISECOND,
            rate: self.load.rate,
            liveness_bound_ms: self.liveness_bound_ms,
            dark_after_ms: self.network.dark_after_ms(),
            requires: self.requires.clone(),
            services: self.service_node().into_iter().collect(),
            tick_ms: self.load.tick_ms,
            store: Some(self.store_node()),
            majority: election.is_some_and(|protocol| protocol.majority),
            ring: election.is_some_and(|protocol| protocol.ring),
            dual_belief_bound_us: self.dual_belief_bound_ms.map(|ms| (ms * 1e3) as u64),
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Timings {
    /// The same in nanoseconds, as protocols take them.
    pub fn resolved(&self) -> election::Timings {
        election::Timings {
            lease_ttl: self.lease_ttl_ms.saturating_mul(MILLISECOND),
            renew_interval: self.renew_interval_ms.saturating_mul(MILLISECOND),
            request_timeout: self.request_timeout_ms.saturating_mul(MILLISECOND),
            election_timeout: self
                .election_timeout_ms
                .map(|(min_ms, max_ms)| (min_ms.saturating_mul(MILLISECOND), max_ms.saturating_mul(MILLISECOND))),
        }
    }
}

impl Network {
    /// The longest that a packet takes when none is lost, microseconds.
    pub fn one_way_max_us(&self) -> u64 {
        self.latency_us.saturating_add(self.jitter_us)
    }

    /// How long a client waits for a node's answer before it takes that for silent, milliseconds: the usual time, or twice
    /// as long as it takes to connect, to ask and to be answered after the store was asked, each over the longest trips.
    pub fn attempt_timeout_ms(&self) -> u64 {
        (ATTEMPT_TIMEOUT / MILLISECOND).max((12 * self.one_way_max_us()).div_ceil(1000))
    }

    /// How long a leader waits for the store's answer before it gives the connection up, milliseconds. On datagrams, where
    /// every one that is lost is missed, just long enough for the longest trips.
    pub fn store_silence_ms(&self) -> u64 {
        let usual_ms = if self.datagrams { DATAGRAM_PATIENCE_MS } else { STORE_SILENCE / MILLISECOND };
        usual_ms.max((12 * self.one_way_max_us()).div_ceil(1000))
    }

    /// How long a write may take before the time at which it was issued counts as dark, milliseconds: 50, plus ten trips,
    /// since a client may have to ask two nodes and the leader has to ask the store.
    pub fn dark_after_ms(&self) -> u64 {
        50 + (10 * self.one_way_max_us()).div_ceil(1000)
    }
}
