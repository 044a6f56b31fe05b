//! The one JSON object that `--json` prints. Its names are a contract: scripts outside this repository read them.

use crate::{Judgement, Metrics, Verdict, invariant::InvariantResult};
use protocols::{fence::checks::Fencing, history::Header};
use serde::Serialize;

/// Version of the object.
pub const SCHEMA: u32 = 1;

/// What is known of a run beside its history. Nothing of it is known of a history that came from elsewhere.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunFacts {
    /// The chained hash over everything that the world did, in hexadecimal.
    pub trace_hash: Option<String>,
    /// Events of the world.
    pub events: Option<u64>,
    /// Virtual time that the run took, milliseconds; taken from the history when unknown.
    pub simulated_ms: Option<u64>,
    /// How far clocks may drift before reads from memory are stale, when they are answered so.
    pub read_lease: Option<ReadLease>,
    /// Real time that it took, milliseconds: the only thing that may differ between two runs of one plan.
    pub wall_ms: Option<u64>,
}

/// What bounds the drift of clocks while a leader answers reads from memory.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ReadLease {
    /// How long the leader believes after it sent what confirmed it, milliseconds of its own clock.
    pub leader_ms: f64,
    /// How long whoever can replace it waits after that arrived, milliseconds of another clock.
    pub others_ms: f64,
    /// What a takeover takes at least besides, milliseconds of true time.
    pub takeover_min_ms: f64,
    /// The largest drift of either clock that is harmless, parts per million; null: there is none.
    pub holds_up_to_ppm: Option<u64>,
}

/// The object. What is not known is null.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report<'a> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The scenario's name.
    pub scenario: Option<&'a str>,
    /// The protocol's name.
    pub protocol: Option<&'a str>,
    /// The seed that the plan was made from.
    pub seed: Option<u64>,
    /// What the store checked: true is everything, false nothing, a word that alone.
    pub fencing: Option<Fencing>,
    /// Digest of the plan.
    pub plan_digest: Option<&'a str>,
    /// See [`RunFacts`].
    pub trace_hash: Option<&'a str>,
    /// See [`RunFacts`].
    pub events: Option<u64>,
    /// See [`RunFacts`].
    pub simulated_ms: u64,
    /// See [`RunFacts`].
    pub wall_ms: Option<u64>,
    /// See [`RunFacts`]; left out where reads are not answered from memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_lease: Option<ReadLease>,
    /// What came of it.
    pub verdict: Verdict,
    /// What each invariant saw.
    pub invariants: &'a [InvariantResult],
    /// The figures.
    pub metrics: &'a Metrics,
}

impl<'a> Report<'a> {
    /// Puts the object together.
    pub fn new(header: Option<&'a Header>, facts: &'a RunFacts, judgement: &'a Judgement) -> Self {
        Report {
            schema: SCHEMA,
            scenario: header.map(|h| h.scenario.as_str()),
            protocol: header.map(|h| h.protocol.as_str()),
            seed: header.map(|h| h.seed),
            fencing: header.map(|h| h.fencing),
            plan_digest: header.map(|h| h.plan_digest.as_str()),
            trace_hash: facts.trace_hash.as_deref(),
            events: facts.events,
            simulated_ms: facts.simulated_ms.unwrap_or(judgement.end_us / 1000),
            wall_ms: facts.wall_ms,
            read_lease: facts.read_lease,
            verdict: judgement.verdict,
            invariants: &judgement.invariants,
            metrics: &judgement.metrics,
        }
    }

    /// The object's text: indented, without a line end.
    pub fn to_text(&self) -> String {
        // Strings, numbers and lists always serialize.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
