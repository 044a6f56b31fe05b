//! The moments: faults, elections, seals, first effects, refusals and violations.

use super::{
    model::{Belief, Model, Shading},
    moment::{Moment, Turn, What},
};
use crate::invariant::{Class, InvariantResult, no_stale_read, no_stale_write};
use protocols::{
    history::{Event, FaultEvent, Kind, NodeState, Phase},
    types::{NodeId, Resource},
};
use std::collections::BTreeMap;

/// A silence is attributed to a fault at most this long before or after its last write, microseconds.
const STRUCK_US: [u64; 2] = [50_000, 200_000];
/// Seals of one leadership within this time of the first are told together, microseconds, as are refused ones within
/// this time of the last.
const SEALED_US: [u64; 2] = [1_000_000, 5_000_000];

/// Moments noted while the history streams by, since only their events tell of them.
#[derive(Debug, Default)]
pub(super) struct Notes {
    moments: Vec<Moment>,
    started: Vec<NodeId>,
    /// Has some member of the service led the others?
    founded: bool,
    /// The last refused seal, and when it was last tried again.
    refused: Option<(usize, u64)>,
}

impl Notes {
    fn told(&self, t: u64, node: NodeId) -> Option<usize> {
        let latest = self.moments.len().saturating_sub(3)..self.moments.len();
        latest.rev().find(|place| self.moments[*place].t == t && self.moments[*place].on.contains(&node))
    }

    /// Takes the event at `place` in the history. `believes` says whether a node believes now; `known`, whether it has
    /// been seen to run.
    pub(super) fn observe(&mut self, event: &Event, place: u64, believes: impl Fn(NodeId) -> bool, known: bool) {
        match &event.kind {
            Kind::Fault(fault) => self.fault(event.t_us, place, fault),
            Kind::Node { node, state } => {
                if *state == NodeState::Up && !self.started.contains(node) {
                    self.started.push(*node);
                    // The start of a run's processes is no news.
                    if !known {
                        return;
                    }
                }
                let (state, believes) = (*state, believes(*node));
                self.state(event.t_us, place, *node, What::State { state, believes });
            }
            // The first one led before the run began, so it is not noted.
            Kind::MemberLeads { node, leads: true } if std::mem::replace(&mut self.founded, true) => {
                self.moments.push(Moment::new(event.t_us, place, vec![*node], What::LeadsMembers));
            }
            _ => {}
        }
    }

    /// Takes a process's new state, unless a fault at the same time has told it.
    fn state(&mut self, t: u64, place: u64, node: NodeId, what: What) {
        let (turn, on) = (what.turn(), vec![node]);
        match self.told(t, node) {
            // The process's recovery says more than the end of its fault.
            Some(told) if turn == Turn::Heal && self.moments[told].what.turn() == Turn::Heal => {
                (self.moments[told].what, self.moments[told].on) = (what, on);
            }
            Some(_) if turn == Turn::Fault => {}
            _ => self.moments.push(Moment::new(t, place, on, what)),
        }
    }

    fn fault(&mut self, t: u64, place: u64, fault: &FaultEvent) {
        let what = match fault.phase {
            Phase::End => What::Healed(Box::new(fault.clone())),
            Phase::Begin | Phase::Once => What::Fault(Box::new(fault.clone())),
        };
        self.moments.push(Moment::new(t, place, fault.on.clone(), what));
    }

    /// Takes a seal of leadership `i`, which led to number `seq`.
    pub(super) fn sealed(&mut self, event: &Event, place: u64, i: usize) {
        let Kind::Seal { resource, incarnation, accepted, seq, .. } = &event.kind else { return };
        let (t, r, node) = (event.t_us, resource.index(), incarnation.node);
        if !accepted {
            let again = self.refused.filter(|(at, last)| {
                let same = |what: &What| matches!(what, What::SealRefused { i: of, r: on, .. } if (*of, *on) == (i, r));
                same(&self.moments[*at].what) && t - last <= SEALED_US[1]
            });
            let at = again.map_or(self.moments.len(), |(at, _)| at);
            match self.moments.get_mut(at).map(|moment| &mut moment.what) {
                Some(What::SealRefused { n, .. }) => *n += 1,
                _ => self.moments.push(Moment::new(t, place, vec![node], What::SealRefused { i, r, n: 1 })),
            }
            self.refused = Some((at, t));
            return;
        }
        let number = if *resource == Resource::SEQUENCE { *seq } else { 0 };
        if let Some(Moment { t: first, what: What::Sealed { i: of, resources, seq }, .. }) = self.moments.last_mut()
            && *of == i
            && t - *first <= SEALED_US[0]
            && !resources.contains(&r)
        {
            resources.push(r);
            *seq = number.max(*seq);
            return;
        }
        let what = What::Sealed { i, resources: vec![r], seq: number };
        self.moments.push(Moment::new(t, place, vec![node], what));
    }

    /// Takes the deposition of leadership `i`.
    pub(super) fn deposed(&mut self, event: &Event, place: u64, i: usize) {
        if let Kind::Deposed { incarnation, reason } = &event.kind {
            let what = What::Deposed { i, reason: *reason };
            self.moments.push(Moment::new(event.t_us, place, vec![incarnation.node], what));
        }
    }

    /// Takes the rewinding of a copy onto leadership `onto`.
    pub(super) fn rewound(&mut self, event: &Event, place: u64, onto: usize) {
        if let Kind::Rewound { node, entries, .. } = &event.kind {
            let what = What::Rewound { onto, entries: *entries };
            self.moments.push(Moment::new(event.t_us, place, vec![*node], what));
        }
    }
}

/// All moments, in order.
pub(super) fn moments(model: &Model, notes: Notes, results: &[InvariantResult]) -> Vec<Moment> {
    let mut all = notes.moments;
    beliefs(model, &mut all);
    writes(model, &mut all);
    broken(model, results, &mut all);
    silences(model, &mut all);
    all.sort_by_key(|moment| (moment.t, moment.place));
    all
}

/// Adds violations that no other moment shows.
fn broken(model: &Model, results: &[InvariantResult], all: &mut Vec<Moment>) {
    let told = |name: &str| {
        (name == no_stale_write::ENTRY.name && !model.stale.is_empty())
            || (name == no_stale_read::ENTRY.name && !model.misread.is_empty())
    };
    // One event may violate several invariants: a single moment names them all.
    let mut at: BTreeMap<u64, Vec<&InvariantResult>> = BTreeMap::new();
    for result in results.iter().filter(|r| !r.holds && r.class != Class::Vacuity) {
        at.entry(result.violated_us.unwrap_or(model.end).min(model.end)).or_default().push(result);
    }
    for (t, together) in at {
        let names = |of: &[&InvariantResult]| of.iter().map(|result| result.name).collect::<Vec<_>>();
        if let Some(moment) = all.iter_mut().find(|moment| moment.what.turn() == Turn::Bad && moment.t == t) {
            moment.violates = names(&together);
            continue;
        }
        let untold: Vec<&InvariantResult> = together.into_iter().filter(|result| !told(result.name)).collect();
        if let Some(first) = untold.first() {
            let what = What::Violated(names(&untold), first.detail.clone());
            all.push(Moment::new(t, Moment::LAST, Vec::new(), what));
        }
    }
}

/// Attributes each silence to the fault that struck the writer, the service or the store; without one it is a moment of
/// its own.
fn silences(model: &Model, all: &mut Vec<Moment>) {
    for (from, _, dark_us) in &model.dark {
        let wrote = model.effects.iter().filter(|e| e.r == 0 && e.from <= *from).max_by_key(|e| e.to.min(*from));
        let wrote = wrote.map(|e| model.incarnations[e.i].node);
        let serves = |node: u16| model.lanes.iter().any(|lane| lane.node == node && lane.role != "candidate");
        let [before, after] = STRUCK_US;
        let struck = |moment: &&mut Moment| {
            let near = (from.saturating_sub(before)..=from + after).contains(&moment.t);
            let those = moment.on.iter().any(|node| Some(node.0) == wrote || serves(node.0));
            moment.what.turn() == Turn::Fault && near && those
        };
        // A fault that stops a process or a link stops writes; a slow link or a clock may be a coincidence.
        let weak = |moment: &&mut Moment| !moment.what.fault().is_some_and(|fault| fault.kind.stops_writes());
        match all.iter_mut().filter(struck).min_by_key(weak) {
            Some(fault) => *fault.dark_us.get_or_insert(0) += dark_us,
            None => all.push(Moment::new(*from, Moment::LAST, Vec::new(), What::Dark(*dark_us))),
        }
    }
}

fn beliefs(model: &Model, all: &mut Vec<Moment>) {
    let node = |i: usize| model.incarnations[i].node;
    // They are in the order in which they began.
    let mut open: Vec<&Belief> = Vec::new();
    for belief in &model.beliefs {
        let (i, now) = (belief.i, belief.places.0);
        open.retain(|b| b.places.1 > now);
        let others = open.iter().map(|b| node(b.i)).filter(|other| *other != node(i));
        let paused = |of: u16| {
            let mut pauses = model.shades.iter().filter(|s| s.kind == Shading::Pause && s.nodes == [of]);
            pauses.any(|s| s.from <= belief.from && s.to > belief.from)
        };
        // A log only shows that nobody reported their depositions.
        let replaced = open.iter().filter(|b| b.replaced == Some(now)).map(|b| node(b.i));
        let (still, untold) = match model.foreign {
            true => (Vec::new(), replaced.collect()),
            false => (others.map(|of| (of, paused(of))).collect(), Vec::new()),
        };
        let what = What::Elected { i, still, untold };
        all.push(Moment::new(belief.from, now, vec![NodeId(node(i))], what));
        open.push(belief);
    }
    // A run has elections.
    for grant in model.grants.iter().filter(|_| model.foreign) {
        let mut note = |t, place, what| all.push(Moment::new(t, place, vec![NodeId(grant.node)], what));
        note(grant.from, grant.places.0, What::Granted(grant.number));
        if let Some(why) = grant.why {
            note(grant.to, grant.places.1, What::GrantEnded(why));
        }
    }
}

fn writes(model: &Model, all: &mut Vec<Moment>) {
    // In a log with several resources, none is the usual one.
    let several = model.foreign && model.effects.iter().any(|e| e.r > 0);
    let mut note = |t: u64, place: u64, i: usize, what: What| {
        all.push(Moment::new(t, place, vec![NodeId(model.incarnations[i].node)], what));
    };
    for (place, effect) in model.effects.iter().enumerate().filter(|(_, e)| several || e.r == 0) {
        let taken = model.stale.iter().any(|s| (s.i, s.r, s.from) == (effect.i, effect.r, effect.from));
        if !taken {
            note(effect.from, effect.places.0, effect.i, What::TakesEffect(place));
        }
    }
    for (place, stale) in model.stale.iter().enumerate() {
        note(stale.from, stale.place, stale.i, What::Stale(place));
    }
    for (place, refused) in model.refused.iter().enumerate() {
        note(refused.from, refused.place, refused.i, What::Refused(place));
    }
    for (place, misread) in model.misread.iter().enumerate() {
        all.push(Moment::new(misread.from, misread.place, vec![NodeId(misread.node)], What::Misread(place)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        course::model::{Effect, Named},
        phrases::say_in_full,
    };
    use protocols::{history::FaultKind, types::Incarnation};

    fn struck(kind: FaultKind) -> FaultEvent {
        let (on, to, sides, one_way, point, detail) = Default::default();
        FaultEvent { index: 0, kind, phase: Phase::Once, on, to, sides, one_way, strength: 0, point, detail }
    }

    /// `n1` writes until 1 s, then nobody for a second. Returns what the silence is attributed to.
    fn laid_to(faults: &[(u64, u16, FaultKind, &str)]) -> Vec<String> {
        let effect =
            Effect { i: 0, r: 0, from: 10, to: 3_000_000, n: 9, stale: 0, runs: Vec::new(), seq: 1, places: (1, 9) };
        let (label, who) = ("token 1".to_owned(), "n1 (token 1)".to_owned());
        let incarnation = Incarnation { token: 1, node: NodeId(0), generation: 1 };
        let named = Named { node: 0, token: "1".to_owned(), generation: 1, label, incarnation, who };
        let (effects, incarnations, dark) = (vec![effect], vec![named], vec![(1_000_000, 2_000_000, 1_000_000)]);
        let nodes = vec!["n1".to_owned(), "n2".to_owned()];
        let model = Model { nodes, effects, incarnations, dark, ..Model::default() };
        let notes = faults.iter().map(|(t, node, kind, text)| {
            let fault = FaultEvent { detail: (*text).to_owned(), ..struck(kind.clone()) };
            Moment::new(*t, *t, vec![NodeId(*node)], What::Fault(Box::new(fault)))
        });
        let notes = Notes { moments: notes.collect(), ..Notes::default() };
        let all = moments(&model, notes, &[]);
        all.iter().map(|m| say_in_full(m, &model)).filter(|text| text.contains("dark for")).collect()
    }

    #[test]
    fn a_silence_is_laid_to_what_struck_whoever_was_writing() {
        let silent = "dark for 1 s";
        assert_eq!(
            laid_to(&[
                (990_000, 1, FaultKind::Pause, "n2 paused for 1 s"),
                (1_001_000, 0, FaultKind::Pause, "n1 paused for 1 s")
            ]),
            [format!("n1 paused for 1 s; {silent}")]
        );
        assert_eq!(
            laid_to(&[
                (999_000, 0, FaultKind::ClockRate, "n1's clocks run at +9 ppm"),
                (1_001_000, 0, FaultKind::Partition, "n1 cut off from redis")
            ]),
            [format!("n1 cut off from redis; {silent}")]
        );
        // A follower's pause plays no part, nor does anything long before or after.
        assert_eq!(
            laid_to(&[
                (1_001_000, 1, FaultKind::Pause, "n2 paused for 1 s"),
                (500_000, 0, FaultKind::Pause, "n1 paused for 1 s")
            ]),
            [silent]
        );
        assert_eq!(laid_to(&[(1_300_000, 0, FaultKind::Pause, "n1 paused for 1 s")]), [silent]);
    }
}
