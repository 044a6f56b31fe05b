//! The judge: runs every invariant and the metrics over one history, and gives the verdict.

use crate::{
    agreement::{Specified, Validation},
    clock::Clock,
    invariant::{self, Class, Ending, Entry, Finding, Invariant, InvariantResult, Kinds},
    metrics::{Meter, Metrics},
    said::{Said, sentence},
    words::Names,
};
use protocols::history::{Event, Header, Sink};
use serde::Serialize;

/// The result of a run. If several apply, the worst counts: safety, liveness, vacuous, pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every invariant held, and the situation under test arose.
    Pass,
    /// A safety invariant was violated.
    Safety,
    /// The situation under test did not arise.
    Vacuous,
    /// Safe, but no leader acted in time.
    Liveness,
}

impl Verdict {
    /// The exit code, on which scripts rely.
    pub const fn exit_code(self) -> u8 {
        match self {
            Verdict::Pass => 0,
            Verdict::Safety => 1,
            Verdict::Vacuous => 2,
            Verdict::Liveness => 3,
        }
    }

    /// The word in `--json`.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Safety => "safety",
            Verdict::Vacuous => "vacuous",
            Verdict::Liveness => "liveness",
        }
    }

    /// Higher is worse: the verdict of several groups is that of the worst.
    pub(crate) const fn severity(self) -> u8 {
        match self {
            Verdict::Pass => 0,
            Verdict::Vacuous => 1,
            Verdict::Liveness => 2,
            Verdict::Safety => 3,
        }
    }
}

/// The result of the judge.
#[derive(Clone, PartialEq, Debug)]
pub struct Judgement {
    pub verdict: Verdict,
    /// The results of the invariants that concern the run, in the order of [`invariant::ALL`].
    pub invariants: Vec<InvariantResult>,
    pub metrics: Metrics,
    /// Whether every event is a step that the specification allows.
    pub specified: Specified,
    /// The number of events in the history.
    pub history_events: u64,
    /// The time of its last event, microseconds.
    pub end_us: u64,
    /// The results of each group; empty if there is only one. Otherwise everything else is about all groups together:
    /// an invariant holds if it does in each, and figures are sums, or those of the worst group.
    pub groups: Vec<Judgement>,
    /// Was the run interrupted before anything was violated?
    pub is_cut_short: bool,
}

impl Judgement {
    /// The result of the invariant with this name.
    pub fn invariant(&self, name: &str) -> Option<&InvariantResult> {
        self.invariants.iter().find(|i| i.name == name)
    }

    /// The group that a report shows: the first with the overall verdict; if all is well, the one with most elections,
    /// since most happens there.
    pub(crate) fn worst_group(&self) -> usize {
        let is_it = |group: &Judgement| self.verdict != Verdict::Pass && group.verdict == self.verdict;
        let liveliest = || (0..self.groups.len()).rev().max_by_key(|place| self.groups[*place].metrics.elections);
        self.groups.iter().position(is_it).or_else(liveliest).unwrap_or(0)
    }

    /// Makes the verdict vacuous for this reason, although everything held.
    pub fn shows_nothing(&mut self, why: String) {
        self.verdict = Verdict::Vacuous;
        for seen in self.invariants.iter_mut().filter(|seen| seen.class == Class::Vacuity) {
            (seen.holds, seen.could_fail, seen.detail) = (false, false, why.clone().into());
        }
    }

    /// Withdraws all violations, since they depend on an open question, and makes the verdict vacuous.
    pub fn depends(&mut self, why: String) {
        self.groups.iter_mut().for_each(|group| group.depends(why.clone()));
        for seen in self.invariants.iter_mut().filter(|seen| !seen.holds) {
            (seen.holds, seen.could_fail, seen.violated_us) = (true, false, None);
            seen.detail = seen.detail.between("open: ", "");
        }
        self.shows_nothing(why);
    }

    /// The run was interrupted before its end, `until_us`, microseconds. Invariants judged at the end are then ignored,
    /// and what has held so far is no pass.
    pub fn cut_short(&mut self, until_us: u64) {
        self.groups.iter_mut().for_each(|group| group.cut_short(until_us));
        let at_the_end =
            [&invariant::copies_agree::ENTRY, &invariant::nothing_skipped::ENTRY, &invariant::placed::ENTRY];
        for seen in self.invariants.iter_mut().filter(|seen| at_the_end.iter().any(|entry| entry.name == seen.name)) {
            (seen.holds, seen.could_fail, seen.violated_us) = (true, false, None);
            seen.detail = "judged at the end, which the run did not reach".to_owned().into();
        }
        let violated = |class| self.invariants.iter().any(|seen| seen.class == class && !seen.holds);
        match () {
            () if violated(Class::Safety) => self.verdict = Verdict::Safety,
            () if violated(Class::Liveness) => self.verdict = Verdict::Liveness,
            () => {
                let [end, until] = [self.end_us, until_us].map(|t_us| Clock::default().moment(t_us));
                self.shows_nothing(format!("the run was interrupted at {end} of {until}"));
                self.is_cut_short = true;
            }
        }
    }

    /// The names of the violated invariants, in the order of [`invariant::ALL`].
    pub fn violated(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.invariants.iter().filter(|i| !i.holds).map(|i| i.name)
    }
}

/// An invariant that concerns the run, and the kinds of events that it wants.
struct Seat {
    entry: &'static Entry,
    invariant: Box<dyn Invariant>,
    wanted: Kinds,
}

/// Judges a history of one group as it streams; see [`crate::Judges`]. Memory does not grow with the run's length.
pub struct Judge {
    seats: Vec<Seat>,
    /// The kind of each event of the part that is being judged.
    kinds: Vec<u8>,
    validation: Validation,
    meter: Meter,
    names: Names,
    events: u64,
    end_us: u64,
}

impl Judge {
    /// A judge by all invariants; a log without a header is judged by safety invariants only.
    pub fn new(header: Option<&Header>) -> Self {
        Judge::by(&invariant::ALL, header)
    }

    /// A judge by these invariants.
    pub fn by(invariants: &[&'static Entry], header: Option<&Header>) -> Self {
        let seat = |entry: &&'static Entry| {
            let invariant = (entry.new)(header);
            Some(Seat { entry, wanted: invariant.wants(), invariant }).filter(|seat| seat.invariant.concerns())
        };
        let seats = invariants.iter().filter_map(seat).collect();
        let names = header.map(|h| Names::of(&h.nodes, header)).unwrap_or_default();
        let validation = Validation::new(header);
        Judge { seats, kinds: Vec::new(), validation, meter: Meter::new(header), names, events: 0, end_us: 0 }
    }

    /// Allows two nodes of a log to believe at once for so long, microseconds.
    #[must_use]
    pub fn allow_overlap(mut self, us: u64) -> Self {
        self.seats.iter_mut().for_each(|seat| seat.invariant.allow_overlap(us));
        self
    }

    /// Gives the judgement, with the names in the header.
    pub fn finish(mut self) -> Judgement {
        let names = std::mem::take(&mut self.names);
        self.finish_with(&names)
    }

    /// Gives the judgement, with the names that the history's reader met.
    pub fn finish_with(mut self, names: &Names) -> Judgement {
        let ending = Ending { t_us: self.end_us, names };
        let mut findings: Vec<_> =
            self.seats.iter_mut().map(|seat| (seat.entry, seat.invariant.finish(&ending))).collect();
        let verdict = verdict(&mut findings);
        let result = |((entry, finding), Seat { invariant, .. }): ((&'static Entry, Finding), &Seat)| {
            let Finding { holds, could_fail, detail } = finding;
            let detail = Said::of(detail, names.clock());
            let violated_us = if holds { None } else { invariant.violated_us(&ending) };
            let while_half_heard = !holds && invariant.while_half_heard();
            let (name, class) = (entry.name, entry.class);
            InvariantResult { name, class, holds, could_fail, detail, violated_us, while_half_heard }
        };
        let invariants: Vec<_> = findings.into_iter().zip(&self.seats).map(result).collect();
        let specified = self.validation.finish(&invariants, names);
        let (history_events, end_us) = (self.events, self.end_us);
        let (metrics, groups) = (self.meter.finish(end_us, names), Vec::new());
        let contradiction = specified.contradiction.clone().filter(|_| verdict == Verdict::Pass);
        let mut judgement =
            Judgement { verdict, invariants, metrics, specified, history_events, end_us, groups, is_cut_short: false };
        if let Some(why) = contradiction {
            judgement.shows_nothing(why);
        }
        judgement
    }
}

fn verdict(findings: &mut [(&'static Entry, Finding)]) -> Verdict {
    let violated = |class| findings.iter().any(|(entry, finding)| entry.class == class && !finding.holds);
    match () {
        () if violated(Class::Safety) => Verdict::Safety,
        () if violated(Class::Liveness) => Verdict::Liveness,
        () if violated(Class::Vacuity) => Verdict::Vacuous,
        () if nothing_checked(findings) => Verdict::Vacuous,
        () => Verdict::Pass,
    }
}

/// True if nothing could have failed: then nothing was checked, and that is no pass.
fn nothing_checked(findings: &mut [(&'static Entry, Finding)]) -> bool {
    if findings.iter().any(|(entry, finding)| entry.class != Class::Vacuity && finding.could_fail) {
        return false;
    }
    if let Some((_, finding)) = findings.iter_mut().find(|(entry, _)| entry.class == Class::Vacuity) {
        let seen = std::mem::take(&mut finding.detail);
        let detail = sentence!["nothing was checked, since no invariant could have been violated; ", seen];
        *finding = Finding { holds: false, could_fail: true, detail };
    }
    true
}

impl Sink for Judge {
    fn record(&mut self, event: &Event) {
        self.record_all(std::slice::from_ref(event));
    }

    /// Each invariant takes all events before the next one does: its code and its state then stay in the processor's
    /// caches.
    fn record_all(&mut self, events: &[Event]) {
        self.events += events.len() as u64;
        self.kinds.clear();
        let mut present = Kinds::NONE;
        for event in events {
            // Times never decrease; a history in which they do must not make a difference underflow.
            debug_assert!(event.t_us >= self.end_us, "time goes back to {}", event.t_us);
            self.end_us = event.t_us;
            let kind = Kinds::index(&event.kind);
            present = present.with(kind);
            self.kinds.push(kind as u8);
        }
        for Seat { invariant, wanted, .. } in &mut self.seats {
            if wanted.meets(present) {
                invariant.observe_all(events, &self.kinds, *wanted);
            }
        }
        self.validation.observe_all(events);
        events.iter().for_each(|event| self.meter.observe(event));
    }
}
