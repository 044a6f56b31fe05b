//! The figures of a run, after the project's definitions. All are computed from the history's times, so that a history
//! that was written down gives the same figures as the run that it came from.
//!
//! Memory is bounded by incarnations and by requests under way.

mod dark;
mod failover;
mod losses;
mod undecided;

use crate::{beliefs::Beliefs, contest::Contest, effects::Effects, reads::Reads};
use dark::Dark;
use failover::Failovers;
use losses::Losses;
use protocols::{
    history::{Event, Header, Kind, Outcome, SERVICE_REQUESTS},
    message::WriteVerdict,
    types::{Incarnation, Resource},
};
use serde::Serialize;
use std::collections::BTreeMap;
use undecided::Undecided;

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
    /// Time in which no request would have been served, measured with the clients' requests; `None` without them.
    pub dark_ms: Option<f64>,
    /// The same before the first election, which does not count as dark; `None` without a probe.
    pub startup_dark_ms: Option<f64>,
    /// Time in which more than one node believed to lead.
    pub dual_belief_ms: f64,
    /// Time in which more than one node believed and ran, that is, was not paused.
    pub dual_belief_awake_ms: f64,
    /// The longest stretch of that.
    pub dual_belief_longest_ms: f64,
    /// The share of requests after the first election that were served in time; `None` without them.
    pub availability: Option<f64>,
    /// From a request to the application of its write, the mean over requests after the first election that were served in
    /// time, milliseconds; only baselines look at it.
    #[serde(skip)]
    pub served_after_ms: Option<f64>,
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
fn ms(us: i64) -> f64 {
    us as f64 / 1000.0
}

/// Folds a history into [`Metrics`].
pub(crate) struct Meter {
    metrics: Metrics,
    beliefs: Beliefs,
    contest: Contest,
    effects: Effects,
    issues: Effects,
    last_seq: Option<u64>,
    failovers: Failovers,
    losses: Losses,
    dark: Option<Dark>,
    undecided: Undecided,
    reads: Reads,
    grace_us: u64,
}

impl Meter {
    pub(crate) fn new(header: Option<&Header>) -> Self {
        Meter {
            metrics: Metrics::default(),
            beliefs: Beliefs::default(),
            contest: Contest::default(),
            effects: Effects::default(),
            issues: Effects::default(),
            last_seq: None,
            failovers: Failovers::new(header),
            losses: Losses::default(),
            dark: header.filter(|h| h.rate > 0).map(Dark::new),
            undecided: Undecided::default(),
            reads: Reads::default(),
            grace_us: header.map_or(0, |h| h.dark_after_ms.saturating_mul(1000)),
        }
    }

    pub(crate) fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Invoke { request } => {
                self.metrics.requests_invoked += 1;
                if let Some(dark) = &mut self.dark {
                    dark.invoked(event.t_us, *request);
                }
            }
            Kind::Issue { node, write } => {
                let incarnation = Incarnation { epoch: write.token, node: *node, term: write.term };
                self.issues.acted(write.resource, incarnation, event.t_us);
                self.undecided.issued(event.t_us, incarnation, write);
            }
            Kind::Apply { node, write, verdict, .. } => {
                let incarnation = Incarnation { epoch: write.token, node: *node, term: write.term };
                self.undecided.decided(incarnation, write);
                match verdict {
                    WriteVerdict::Ok => self.accepted(event.t_us, incarnation, write),
                    WriteVerdict::Fenced { .. } => self.metrics.writes_fenced += 1,
                    WriteVerdict::Duplicate { .. } => self.metrics.writes_duplicate += 1,
                    WriteVerdict::Failed { .. } => self.metrics.writes_failed += 1,
                }
            }
            Kind::Reply { .. } | Kind::ReadInvoke { .. } | Kind::ReadReply { .. } => {
                let answered = matches!(event.kind, Kind::Reply { outcome: Outcome::Ok { .. }, .. });
                self.metrics.requests_answered += u64::from(answered);
                if let Some(read) = self.reads.observe(event) {
                    self.metrics.reads_answered += 1;
                    self.metrics.reads_stale += u64::from(read.is_stale());
                }
            }
            Kind::End { messages, by_kind } => {
                self.metrics.messages = *messages;
                self.metrics.messages_by_kind = by_kind.clone();
                self.metrics.requests_to_service = self.metrics.messages_by_kind.remove(SERVICE_REQUESTS);
            }
            _ => self.seldom(event),
        }
    }

    fn accepted(&mut self, t_us: u64, incarnation: Incarnation, write: &protocols::message::Write) {
        self.metrics.writes_accepted += 1;
        self.effects.acted(write.resource, incarnation, t_us);
        self.failovers.accepted(t_us, incarnation);
        if write.resource == Resource::SEQUENCE {
            if let Some(last) = self.last_seq {
                self.metrics.seq_gaps += write.seq.saturating_sub(last).saturating_sub(1);
            }
            self.last_seq = Some(write.seq);
            if let Some(dark) = &mut self.dark {
                dark.served(t_us, write.request());
            }
        }
    }

    fn seldom(&mut self, event: &Event) {
        if let Kind::Elected(_) = event.kind {
            self.metrics.elections += 1;
            if let Some(dark) = &mut self.dark {
                dark.elected(event.t_us);
            }
        }
        self.failovers.observe(event);
        self.losses.observe(event);
        self.beliefs.observe(event);
        self.contest.observe(event);
    }

    pub(crate) fn finish(self, end_us: u64) -> Metrics {
        let mut metrics = self.metrics;
        metrics.leaders_acting_by_effect_max = self.effects.overlap().map_or(0, |o| o.most);
        metrics.leaders_believing_max = self.beliefs.most();
        metrics.contested_elections = self.contest.contested();
        metrics.dual_belief_ms = ms(self.beliefs.several_us(end_us) as i64);
        metrics.dual_belief_awake_ms = ms(self.beliefs.several_awake_us(end_us) as i64);
        metrics.dual_belief_longest_ms = self.beliefs.longest_awake(end_us).map_or(0.0, |l| ms(l.us as i64));
        metrics.writes_unknown = self.undecided.count(end_us.saturating_sub(self.grace_us));
        metrics.handoff_effect_gap_ms = gaps(&self.effects);
        metrics.handoff_intent_gap_ms = gaps(&self.issues);
        metrics.stop_after_loss_ms = self.losses.stopped_after_ms(&self.issues);
        self.failovers.finish(&mut metrics);
        if let Some(dark) = self.dark {
            dark.finish(end_us, &mut metrics);
        }
        metrics
    }
}

/// From the end of each interval on `sequence` to the beginning of the one that began next.
fn gaps(effects: &Effects) -> Vec<f64> {
    let intervals = effects.intervals(Resource::SEQUENCE);
    intervals.windows(2).map(|pair| ms(pair[1].first.t_us as i64 - pair[0].last.t_us as i64)).collect()
}
