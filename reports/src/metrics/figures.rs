//! The figures themselves.

use crate::{copies::CopyFigures, shards::ShardFigures};
use serde::Serialize;
use std::collections::BTreeMap;

/// A stretch of dark time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DarkStretch {
    /// When the first of its requests was made, microseconds.
    pub from_us: u64,
    /// When the last of them was, and a period of the clients after that, microseconds.
    pub to_us: u64,
    /// How much dark time it is, microseconds.
    pub dark_us: u64,
}

/// The figures of a run. Times are milliseconds of true time.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Metrics {
    /// Most effect intervals that contain one moment, over all resources; an effect interval reaches from an incarnation's
    /// first accepted write to its last.
    pub leaders_acting_by_effect_max: u64,
    /// Most nodes that believed to lead at one time.
    pub leaders_believing_max: u64,
    /// Protected writes that were applied.
    pub writes_accepted: u64,
    /// Protected writes that were refused for their token, each arrival counted.
    pub writes_fenced: u64,
    /// Protected writes that the store had applied already, each repeated arrival counted.
    pub writes_duplicate: u64,
    /// Protected writes that were refused because they were built on another version than the resource had.
    pub writes_failed: u64,
    /// Protected writes that were sent but of which the store had decided none when the run ended; those sent within
    /// `dark_after_ms` of the end do not count.
    pub writes_unknown: u64,
    /// Numbers between two applied ones that were never handed out.
    pub seq_gaps: u64,
    /// Applied numbers that were no higher than one applied before: handed out twice, or skipped back; left out when there
    /// are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub seq_reused: u64,
    /// Reads that were answered; left out when there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub reads_answered: u64,
    /// Those of them that did not know a number that a client had been told before they were put.
    #[serde(skip_serializing_if = "is_zero")]
    pub reads_stale: u64,
    /// Elections won.
    pub elections: u64,
    /// Elections that more than one candidate stood for: at least two had begun to campaign since the election before.
    pub contested_elections: u64,
    /// Changes of leadership while, throughout the lease's ttl before the vacancy, the incumbent was alive, unpaused, not
    /// resigning, and struck by no fault of the network, the service or the store. 0 without a header.
    pub false_failovers: u64,
    /// Changes of leadership that only a pause of the incumbent explains: it was fine before and after, and a longer ttl
    /// would have kept it. 0 without a header.
    pub avoidable_failovers: u64,
    /// Messages delivered: datagrams and stream segments.
    pub messages: u64,
    /// Messages of the election that were sent, by kind; left out where nobody counted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub messages_by_kind: BTreeMap<String, u64>,
    /// From a fault that strikes the incumbent to the first accepted write of a newer incarnation.
    pub failover_ms: Vec<f64>,
    /// Faults that struck the incumbent, which then neither went on nor was replaced.
    pub failover_censored: u64,
    /// From a fault that strikes the incumbent, or else from the end of its belief, to the next election won.
    pub election_time_ms: Vec<f64>,
    /// From campaign to election. A waiter's clock starts at the vacancy: the end of the last grant in the service, where
    /// grants are known, or else the fault that strikes the incumbent, or the end of its belief.
    pub election_latency_ms: Vec<f64>,
    /// On `sequence`: from the last accepted write of one incarnation to the first of the next. Negative when they overlap.
    pub handoff_effect_gap_ms: Vec<f64>,
    /// On `sequence`: from the last write that one incarnation sent to the first of the next. Negative is a bad baton pass.
    pub handoff_intent_gap_ms: Vec<f64>,
    /// From the end of an incarnation's grant in the service to the last write that it sent: negative when it had stopped
    /// before. Empty where grants are not known.
    pub stop_after_loss_ms: Vec<f64>,
    /// What candidates asked of the coordination service, or of the library that elects in their own process; left out
    /// where nobody asked or counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_to_service: Option<u64>,
    /// The most of them in any one second, from the first fault on; left out as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_to_service_in_one_second_max: Option<u64>,
    /// The same within ten milliseconds: what a service is asked at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_to_service_in_ten_ms_max: Option<u64>,
    /// Time in which no request would have been served, measured with the clients' requests; `None` without them.
    pub dark_ms: Option<f64>,
    /// The same before the first election, which does not count as dark; `None` without a probe.
    pub startup_dark_ms: Option<f64>,
    /// Time in which effect intervals of more than one incarnation lasted, on the resource where that was longest. A late
    /// write that is accepted stretches its writer's interval up to it.
    pub dual_effect_ms: f64,
    /// Time in which more than one node believed to lead.
    pub dual_belief_ms: f64,
    /// Time in which more than one node believed and ran, that is, was not paused.
    pub dual_belief_awake_ms: f64,
    /// The longest stretch of that.
    pub dual_belief_longest_ms: f64,
    /// The share of requests after the first election that were served in time; `None` without them.
    pub availability: Option<f64>,
    /// The figures of copies of the data; left out where all leaders write to one store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<CopyFigures>,
    /// What became of shards that are placed; left out where groups are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<ShardFigures>,
    /// In a log: nodes wrote by turns, and nothing tells whether two did at once or one was elected again.
    #[serde(skip)]
    pub by_turns: bool,
    /// The stretches that make it up, those worth telling: together they are `dark_ms`, less what is shorter.
    #[serde(skip)]
    pub dark: Vec<DarkStretch>,
    /// From a request to the application of its write, the mean over requests after the first election that were served in
    /// time, milliseconds; only baselines look at it.
    #[serde(skip)]
    pub served_after_ms: Option<f64>,
    /// Different items of the leader's work-set that were done; left out, as what follows, where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_done: Option<u64>,
    /// How often one was done again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_redone: Option<u64>,
    /// Those that a cursor, or later work, has passed, and that nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_skipped: Option<u64>,
    /// The longest time from one new item to the next that was accepted, to the last that was done again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_stalled_ms_max: Option<f64>,
    /// Different items that had their effect outside: invoices charged, messages delivered; left out, as what follows, where
    /// nothing has such effects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects_done: Option<u64>,
    /// How often one was had again: a customer charged twice, a job run twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects_repeated: Option<u64>,
    /// Items that had none, though a later one had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects_left_out: Option<u64>,
    /// For how long a cache had an older version than it had had before, on the edge where that was longest; left out where
    /// there is no cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_stale_ms: Option<f64>,
    /// Requests that clients made; only baselines look at it.
    #[serde(skip)]
    pub requests_invoked: u64,
    /// Requests whose clients were given a number; only baselines look at it.
    #[serde(skip)]
    pub requests_answered: u64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// Microseconds as milliseconds.
pub(super) fn ms(us: i64) -> f64 {
    us as f64 / 1000.0
}
