//! One judge per group of a history, and the judgement of all groups together.

use crate::{
    Judge, Judgement, Names, Verdict,
    by_group::ByGroup,
    invariant::{self, Entry, InvariantResult, vacuity},
    shards::Shards,
    words::count,
};
use protocols::history::{Event, Header, Sink};

/// Judges a history as it streams, each group separately.
pub struct Judges {
    judges: ByGroup<Judge>,
    names: Names,
    events: u64,
    end_us: u64,
    /// Present if groups are placed shards.
    shards: Option<Shards>,
    /// It is for a log: what the log shows of one leadership says nothing about another.
    of_log: bool,
}

impl Judges {
    /// Judges by all invariants. Without a header, groups are found as their events arrive.
    pub fn new(header: Option<&Header>) -> Self {
        Judges::by(&invariant::ALL, header)
    }

    /// Judges by these invariants.
    pub fn by(invariants: &[&'static Entry], header: Option<&Header>) -> Self {
        Judges::allowing(invariants, header, 0)
    }

    /// The same; in a log without a header, two nodes may believe at once for so long, microseconds.
    pub fn allowing(invariants: &[&'static Entry], header: Option<&Header>, overlap_us: u64) -> Self {
        let later = invariants.to_vec();
        let of_log = move || Judge::by(&later, None).allow_overlap(overlap_us);
        let judges = ByGroup::new(header, |header| Judge::by(invariants, Some(header)), of_log);
        let names = header.map(|h| Names::of(&h.nodes, header)).unwrap_or_default();
        let (shards, of_log) = (header.and_then(Shards::new), header.is_none());
        Judges { judges, names, events: 0, end_us: 0, shards, of_log }
    }

    /// The time of the latest event, microseconds.
    pub fn end_us(&self) -> u64 {
        self.end_us
    }

    /// Gives the judgement, with the names in the header.
    pub fn finish(mut self) -> Judgement {
        let names = std::mem::take(&mut self.names);
        self.finish_with(&names)
    }

    /// Gives the judgement, with the names that the history's reader met.
    pub fn finish_with(self, names: &Names) -> Judgement {
        let judges = self.judges.into_each();
        let groups = judges.len();
        let named = |(group, judge): (usize, Judge)| judge.finish_with(&names.of_group(group as u16, groups as u16));
        let mut all: Vec<Judgement> = judges.into_iter().enumerate().map(named).collect();
        match all.pop() {
            Some(only) if all.is_empty() => only,
            last => {
                all.extend(last);
                let mut together = together(all, self.events, self.of_log);
                together.metrics.shards = self.shards.map(Shards::finish);
                together
            }
        }
    }
}

impl Sink for Judges {
    #[inline]
    fn record(&mut self, event: &Event) {
        self.events += 1;
        self.end_us = event.t_us;
        if let Some(shards) = &mut self.shards {
            shards.observe(event);
        }
        self.judges.record(event);
    }

    fn record_all(&mut self, events: &[Event]) {
        let Some(last) = events.last() else { return };
        self.events += events.len() as u64;
        self.end_us = last.t_us;
        if let Some(shards) = &mut self.shards {
            events.iter().for_each(|event| shards.observe(event));
        }
        self.judges.record_all(events);
    }
}

/// The judgement of several groups: that of the worst counts.
fn together(mut groups: Vec<Judgement>, events: u64, of_log: bool) -> Judgement {
    arises_once(&mut groups, of_log);
    let verdict = groups.iter().map(|group| group.verdict).max_by_key(|verdict| verdict.severity());
    let invariants = (0..groups[0].invariants.len()).map(|place| worst(&groups, place)).collect();
    let metrics = groups.iter().skip(1).fold(groups[0].metrics.clone(), |sum, group| sum.and(&group.metrics));
    let specified = groups.iter().skip(1).fold(groups[0].specified.clone(), |all, group| all.and(&group.specified));
    Judgement {
        verdict: verdict.unwrap_or(Verdict::Pass),
        specified,
        invariants,
        metrics,
        history_events: events,
        end_us: groups.iter().map(|group| group.end_us).max().unwrap_or(0),
        groups,
        is_cut_short: false,
    }
}

/// Excuses groups in which the situation under test did not arise, if it arose in another; not those whose pass
/// contradicts the specification. In a log, a group with
/// several leaders is not excused: it must show that no two led at once.
fn arises_once(groups: &mut [Judgement], of_log: bool) {
    let name = vacuity::ENTRY.name;
    let arose = |group: &Judgement| group.invariant(name).is_some_and(|vacuity| vacuity.holds);
    let Some(first) = groups.iter().position(arose) else { return };
    let may_be =
        |group: &&mut Judgement| group.specified.contradiction.is_none() && (!of_log || group.metrics.elections < 2);
    for group in groups.iter_mut().filter(may_be) {
        for vacuity in group.invariants.iter_mut().filter(|i| i.name == name && !i.holds) {
            (vacuity.holds, vacuity.could_fail) = (true, false);
            vacuity.detail = format!("it arose in group {first}, and need not in every one").into();
        }
        if group.verdict == Verdict::Vacuous {
            group.verdict = Verdict::Pass;
        }
    }
}

/// The result of the invariant at this index over all groups, taken from the first group in which it was violated or
/// could have been.
fn worst(groups: &[Judgement], place: usize) -> InvariantResult {
    let seen = |group: &Judgement| (!group.invariants[place].holds, group.invariants[place].could_fail);
    let told = (0..groups.len()).rev().max_by_key(|group| seen(&groups[*group])).unwrap_or(0);
    let told_of = groups[told].invariants[place].clone();
    let alike = groups.iter().filter(|group| seen(group) == seen(&groups[told])).count() as u64;
    let also = match alike {
        1 => String::new(),
        alike if told_of.holds => format!("; and so in {}", count(alike - 1, "other group")),
        alike => format!("; and violated in {}", count(alike - 1, "other group")),
    };
    let detail = if told_of.could_fail || !told_of.holds {
        told_of.detail.between(&format!("group {told}: "), &also)
    } else {
        told_of.detail.clone()
    };
    let could_fail = groups.iter().any(|group| group.invariants[place].could_fail);
    let seen = groups.iter().map(|group| &group.invariants[place]);
    let while_half_heard = !told_of.holds && seen.filter(|seen| !seen.holds).all(|seen| seen.while_half_heard);
    InvariantResult { detail, could_fail, while_half_heard, ..told_of }
}
