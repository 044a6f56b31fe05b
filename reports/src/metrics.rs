//! The figures of a run, by the project's definitions. All are computed from the history's times, so a saved history
//! gives the same figures as the run that it came from.
//!
//! Memory is bounded by the number of incarnations and of requests in flight.

mod dark;
mod effects;
mod failover;
mod figures;
mod losses;
mod together;
mod work_set;

pub use crate::copies::{CopyFigures, Divergence};
use crate::{beliefs::Beliefs, contest::Contest, copies::Copies, effects::Effects, freshness::Reads, words::Names};
use dark::Dark;
use effects::Numbers;
use failover::Failovers;
use figures::ms;
pub use figures::{DarkStretch, Metrics};
use losses::{Losses, Undecided};
use protocols::{
    history::{
        Event, Header, Kind, Outcome, SERVICE_REQUESTS, SERVICE_REQUESTS_BURST, SERVICE_REQUESTS_PEAK, UNKNOWN_SEQ,
    },
    message::WriteVerdict,
    types::{Incarnation, Resource},
};

/// Folds a history into [`Metrics`].
pub(crate) struct Meter {
    metrics: Metrics,
    beliefs: Beliefs,
    /// It is for a log, in which writes show who went on believing.
    of_log: bool,
    contest: Contest,
    effects: Effects,
    issues: Effects,
    numbers: Numbers,
    failovers: Failovers,
    losses: Losses,
    dark: Option<Dark>,
    undecided: Undecided,
    reads: Reads,
    work_set: work_set::WorkSet,
    outside: effects::Outside,
    caches: effects::Caches,
    /// Present if every node has a copy of the data.
    copies: Option<Copies>,
    grace_us: u64,
}

impl Meter {
    pub(crate) fn new(header: Option<&Header>) -> Self {
        Meter {
            metrics: Metrics::default(),
            beliefs: Beliefs::new(header),
            of_log: header.is_none(),
            contest: Contest::default(),
            effects: Effects::new(header),
            issues: Effects::new(header),
            numbers: Numbers::new(header.is_some_and(|header| header.copies.is_some())),
            failovers: Failovers::new(header),
            losses: Losses::default(),
            dark: header.filter(|h| h.rate > 0).map(Dark::new),
            undecided: Undecided::default(),
            reads: Reads::default(),
            work_set: work_set::WorkSet::default(),
            outside: effects::Outside::default(),
            caches: effects::Caches::default(),
            copies: header.and_then(|header| header.copies).map(|_| Copies::default()),
            grace_us: header.map_or(0, |h| h.dark_after_ms.saturating_mul(1000)),
        }
    }

    pub(crate) fn observe(&mut self, event: &Event) {
        if let Some(copies) = &mut self.copies {
            copies.observe(event);
        }
        if self.of_log && matches!(event.kind, Kind::Issue { .. } | Kind::Apply { .. }) {
            self.beliefs.observe(event);
        }
        match &event.kind {
            Kind::Invoke { request } => {
                self.metrics.requests_invoked += 1;
                if let Some(dark) = &mut self.dark {
                    dark.invoked(event.t_us, *request);
                }
            }
            Kind::Issue { node, write } => {
                let incarnation = write.incarnation(*node);
                self.issues.acted(write.resource, incarnation, event.t_us);
                self.undecided.issued(event.t_us, incarnation, write);
            }
            Kind::Apply { node, write, verdict, .. } => {
                let incarnation = write.incarnation(*node);
                self.undecided.decided(incarnation, write);
                self.outside.tried(write);
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
                let peak = self.metrics.messages_by_kind.remove(SERVICE_REQUESTS_PEAK);
                self.metrics.requests_to_service_in_one_second_max = peak;
                let burst = self.metrics.messages_by_kind.remove(SERVICE_REQUESTS_BURST);
                self.metrics.requests_to_service_in_ten_ms_max = burst;
            }
            Kind::Work { resource, incarnation, for_us, shared: false } => {
                self.effects.worked(*resource, *incarnation, event.t_us.saturating_sub(*for_us), event.t_us);
            }
            _ => self.seldom(event),
        }
    }

    fn accepted(&mut self, t_us: u64, incarnation: Incarnation, write: &protocols::message::Write) {
        self.metrics.writes_accepted += 1;
        if let Some(payload) = write.payload {
            self.work_set.accepted(t_us, write, payload);
            self.outside.accepted(t_us, write, payload);
            self.caches.accepted(t_us, write, payload);
        }
        self.effects.acted(write.resource, incarnation, t_us);
        self.failovers.accepted(t_us, incarnation);
        if write.resource == Resource::SEQUENCE && write.seq != UNKNOWN_SEQ {
            self.numbers.accepted(incarnation, write.seq, &mut self.metrics);
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

    pub(crate) fn finish(self, end_us: u64, names: &Names) -> Metrics {
        let mut metrics = self.metrics;
        let apart = self.copies.is_some();
        metrics.copies = self.copies.map(|copies| copies.ending(end_us).figures(names));
        metrics.leaders_acting_by_effect_max = self.effects.overlap().map_or(0, |o| o.most);
        metrics.by_turns = self.effects.turns().is_some();
        metrics.dual_effect_ms = ms(self.effects.several_us() as i64);
        metrics.leaders_believing_max = self.beliefs.most();
        metrics.contested_elections = self.contest.contested();
        metrics.dual_belief_ms = ms(self.beliefs.several_us(end_us) as i64);
        metrics.dual_belief_awake_ms = ms(self.beliefs.several_awake_us(end_us) as i64);
        metrics.dual_belief_longest_ms = self.beliefs.longest_awake(end_us).map_or(0.0, |l| ms(l.us as i64));
        metrics.writes_unknown = self.undecided.count(end_us.saturating_sub(self.grace_us));
        metrics.handoff_effect_gap_ms = gaps(&self.effects, apart);
        metrics.handoff_intent_gap_ms = gaps(&self.issues, apart);
        metrics.stop_after_loss_ms = self.losses.stopped_after_ms(&self.issues);
        self.failovers.finish(&mut metrics);
        self.work_set.finish(&mut metrics);
        self.outside.finish(&mut metrics);
        self.caches.finish(end_us, &mut metrics);
        if let Some(dark) = self.dark {
            dark.finish(end_us, &mut metrics);
        }
        metrics
    }
}

/// The times from the end of each interval on `sequence` to the beginning of the next. `apart`: leaders write to their
/// own copies, and hand nothing over while their intervals overlap.
fn gaps(effects: &Effects, apart: bool) -> Vec<f64> {
    let intervals = effects.intervals(Resource::SEQUENCE);
    let gaps = intervals.windows(2).map(|pair| pair[1].first.t_us as i64 - pair[0].last.t_us as i64);
    gaps.filter(|gap_us| !apart || *gap_us >= 0).map(ms).collect()
}
