//! The figures themselves.

use crate::{copies::CopyFigures, shards::ShardFigures};
use serde::Serialize;
use std::collections::BTreeMap;

/// An interval of dark time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DarkStretch {
    /// When its first request was made, microseconds.
    pub from_us: u64,
    /// One client period after its last request was made, microseconds.
    pub to_us: u64,
    /// The dark time in it, microseconds.
    pub dark_us: u64,
}

/// The figures of a run. Times are milliseconds of true time.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Metrics {
    /// The most effect intervals that contain one moment, over all resources; an effect interval lasts from an
    /// incarnation's first accepted write to its last.
    pub leaders_acting_by_effect_max: u64,
    /// The most nodes that believed at the same time that they lead.
    pub leaders_believing_max: u64,
    /// Protected writes that were applied.
    pub writes_accepted: u64,
    /// Protected writes that were refused for their token, counting each arrival.
    pub writes_fenced: u64,
    /// Protected writes that the store had already applied, counting each repeated arrival.
    pub writes_duplicate: u64,
    /// Protected writes that were refused because they were built on another version than the resource's.
    pub writes_failed: u64,
    /// Protected writes that were sent but not decided by the store until the end of the run, except those sent within
    /// `dark_after_ms` of the end.
    pub writes_unknown: u64,
    /// Numbers between two applied ones that were never handed out.
    pub seq_gaps: u64,
    /// Applied numbers that did not exceed one applied before: handed out twice, or out of order; omitted if there are
    /// none.
    #[serde(skip_serializing_if = "is_zero")]
    pub seq_reused: u64,
    /// Answered reads; omitted if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub reads_answered: u64,
    /// Answered reads that missed a number that some client had been told before the read was sent.
    #[serde(skip_serializing_if = "is_zero")]
    pub reads_stale: u64,
    /// Elections won.
    pub elections: u64,
    /// Elections with more than one candidate: at least two had begun to campaign since the previous election.
    pub contested_elections: u64,
    /// Changes of leadership although, throughout the lease's ttl before the vacancy, the incumbent was alive, not
    /// paused, not resigning, and not struck by a fault of the network, the service or the store. 0 without a header.
    pub false_failovers: u64,
    /// Changes of leadership that only a pause of the incumbent explains: it was well before and after, and a longer
    /// ttl would have kept it. 0 without a header.
    pub avoidable_failovers: u64,
    /// Messages delivered: datagrams and stream segments.
    pub messages: u64,
    /// Messages sent for elections, by kind; omitted if they were not counted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub messages_by_kind: BTreeMap<String, u64>,
    /// From a fault that strikes the incumbent to the first accepted write of a newer incarnation.
    pub failover_ms: Vec<f64>,
    /// Faults after which the incumbent neither continued nor was replaced.
    pub failover_censored: u64,
    /// From a fault that strikes the incumbent, or else from the end of its belief, to the next election won.
    pub election_time_ms: Vec<f64>,
    /// From campaign to election. A waiting candidate's clock starts at the vacancy: the end of the service's last
    /// grant, if grants are known, or else the fault that strikes the incumbent, or the end of its belief.
    pub election_latency_ms: Vec<f64>,
    /// On `sequence`: from the last accepted write of one incarnation to the first of the next. Negative if they
    /// overlap.
    pub handoff_effect_gap_ms: Vec<f64>,
    /// On `sequence`: from the last write sent by one incarnation to the first sent by the next. Negative for a bad
    /// hand-over.
    pub handoff_intent_gap_ms: Vec<f64>,
    /// From the end of an incarnation's grant in the service to the last write that it sent; negative if it had stopped
    /// before. Empty if grants are unknown.
    pub stop_after_loss_ms: Vec<f64>,
    /// Requests by candidates to the coordination service, or to the library that elects in their own process; omitted
    /// if there were none or they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_to_service: Option<u64>,
    /// The most of these requests in any second from the first fault on; omitted like them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_to_service_in_one_second_max: Option<u64>,
    /// The same within ten milliseconds, as a measure of simultaneous requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_to_service_in_ten_ms_max: Option<u64>,
    /// Time in which no request would have been served, measured by the clients' requests; `None` without clients.
    pub dark_ms: Option<f64>,
    /// The same before the first election, which does not count as dark; `None` without clients.
    pub startup_dark_ms: Option<f64>,
    /// Time in which the effect intervals of several incarnations overlapped, on the resource with most of it. A late
    /// write that is accepted extends its writer's interval.
    pub dual_effect_ms: f64,
    /// Time in which more than one node believed that it led.
    pub dual_belief_ms: f64,
    /// Time in which more than one node believed and ran, that is, was not paused.
    pub dual_belief_awake_ms: f64,
    /// The longest such interval.
    pub dual_belief_longest_ms: f64,
    /// The fraction of requests after the first election that were served in time; `None` without any.
    pub availability: Option<f64>,
    /// The figures of copies of the data; omitted if all leaders write to one store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<CopyFigures>,
    /// The figures of placed shards; omitted if groups are not placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<ShardFigures>,
    /// In a log: nodes took turns writing, and it is open whether two led at once or one was elected again.
    #[serde(skip)]
    pub by_turns: bool,
    /// The intervals of `dark_ms` that are worth reporting: together they are `dark_ms`, less the shorter ones.
    #[serde(skip)]
    pub dark: Vec<DarkStretch>,
    /// Mean time from a request to the application of its write, milliseconds, over requests after the first election
    /// that were served in time; only baselines use it.
    #[serde(skip)]
    pub served_after_ms: Option<f64>,
    /// Distinct items of the leader's work-set that were done; omitted, like the next figures, without a work-set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_done: Option<u64>,
    /// How often an item was done again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_redone: Option<u64>,
    /// Items that a cursor or later work passed and that nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_skipped: Option<u64>,
    /// The longest time from one accepted new item to the next, or to the last repeated one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_stalled_ms_max: Option<f64>,
    /// Distinct items that had their external effect: invoices charged, messages delivered; omitted, like the next
    /// figures, without such effects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects_done: Option<u64>,
    /// How often an item had its effect again: a customer charged twice, a job run twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects_repeated: Option<u64>,
    /// Items without an effect, though a later one had it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects_left_out: Option<u64>,
    /// How long a cache had an older version than before, on the edge with most of it; omitted without caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_stale_ms: Option<f64>,
    /// Requests that clients made; only baselines use it.
    #[serde(skip)]
    pub requests_invoked: u64,
    /// Requests whose clients were given a number; only baselines use it.
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
