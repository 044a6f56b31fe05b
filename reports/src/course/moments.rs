//! The numbered moments: faults, elections, first effects, refusals and violations.

use super::{
    model::{Model, Moment, Refused, Shade, Shading, Stale, Turn, What},
    struck::{self, parts},
};
use crate::{
    clock::Clock,
    invariant::{Class, InvariantResult, no_stale_read, no_stale_write},
    told,
    words::{count, duration, grouped},
};
use protocols::{
    elector::Deposed,
    history::{Event, FaultEvent, Kind, NodeState, Phase},
    types::NodeId,
};
use std::collections::BTreeMap;

/// How many moments are listed: beyond this, those in the middle are left out, except violations.
const MOST: usize = 400;
/// A silence is attributed to a fault at most this long before or after its last write, microseconds.
const STRUCK_US: [u64; 2] = [50_000, 200_000];
/// The place of a moment without an event of its own: after all events of its microsecond.
const LAST: u64 = u64::MAX;

/// Moments noted while the history streams by, since only their events tell of them.
#[derive(Debug, Default)]
pub(super) struct Notes {
    notes: Vec<Note>,
    started: Vec<u16>,
    /// Has some member of the service led the others?
    founded: bool,
    place: u64,
}

/// A moment and its place in the order.
#[derive(Debug)]
struct Note {
    /// The place of its event in the history.
    place: u64,
    moment: Moment,
    on: Vec<NodeId>,
}

fn note(t: u64, place: u64, k: Turn, node: Option<u16>, text: String) -> Note {
    let moment = Moment { t, k, node, text, what: What::Nothing, believing: 0, acting: 0 };
    Note { place, moment, on: node.map(NodeId).into_iter().collect() }
}

impl Notes {
    fn told(&self, t: u64, node: NodeId) -> Option<usize> {
        let of = |note: &Note| note.moment.t == t && note.on.contains(&node);
        self.notes.iter().rposition(of).filter(|place| place + 4 > self.notes.len())
    }

    fn note(&mut self, t: u64, k: Turn, on: Vec<NodeId>, text: String) {
        let node = on.first().filter(|_| on.len() == 1).map(|node| node.0);
        self.notes.push(Note { on, ..note(t, self.place, k, node, text) });
    }

    /// Takes the event at `place` in the history; `name` gives a node's name, and `believes` says whether a node
    /// believes now.
    pub(super) fn observe(
        &mut self,
        event: &Event,
        place: u64,
        name: impl Fn(NodeId) -> String,
        believes: impl Fn(NodeId) -> bool,
    ) {
        self.place = place;
        match &event.kind {
            Kind::Fault(fault) => self.fault(event.t_us, fault, name),
            Kind::Node { node, state } => {
                if *state == NodeState::Up && !self.started.contains(&node.0) {
                    self.started.push(node.0);
                    return;
                }
                let better = matches!(state, NodeState::Up | NodeState::Resumed);
                let text = told::node(&name(*node), *state, believes(*node));
                match self.told(event.t_us, *node) {
                    // The process's recovery says more than the end of its fault.
                    Some(place) if better && self.notes[place].moment.k == Turn::Heal => {
                        self.notes[place].moment.text = text
                    }
                    Some(_) if !better && !matches!(state, NodeState::Joined | NodeState::Left) => {}
                    _ => {
                        let k = match state {
                            NodeState::Joined | NodeState::Left => Turn::Member,
                            _ if better => Turn::Heal,
                            _ => Turn::Fault,
                        };
                        self.note(event.t_us, k, vec![*node], text);
                        self.notes.iter_mut().rev().take(1).for_each(|note| note.moment.what = What::State(*state));
                    }
                }
            }
            // The first one led before the run began, so it is not noted.
            Kind::MemberLeads { node, leads: true } if std::mem::replace(&mut self.founded, true) => {
                self.note(event.t_us, Turn::Member, vec![*node], told::leads_members(&name(*node)))
            }
            _ => {}
        }
    }

    fn fault(&mut self, t: u64, fault: &FaultEvent, name: impl Fn(NodeId) -> String) {
        let mut text = struck::words(fault, name);
        if fault.point.as_ref().is_some_and(|(point, _)| point == "lease_checked") && fault.phase != Phase::End {
            text += ", right after it has checked its lease";
        }
        match fault.phase {
            Phase::End => {
                // A fault's text ends with its duration, but a partition's does not.
                let lasting = fault.detail == text;
                let what = text.rsplit_once(" for ").filter(|_| lasting).map_or(&*text, |(what, _)| what);
                self.note(t, Turn::Heal, fault.on.clone(), format!("healed: {what}"));
            }
            _ => {
                self.note(t, Turn::Fault, fault.on.clone(), text);
                if let Some(note) = self.notes.last_mut() {
                    note.moment.what = What::Fault(Box::new(fault.clone()));
                }
            }
        }
    }
}

/// All numbered moments, in order.
pub(super) fn moments(model: &Model, notes: Notes, results: &[InvariantResult]) -> Vec<Moment> {
    let mut all = notes.notes;
    parted(model, &mut all);
    beliefs(model, &mut all);
    writes(model, &mut all);
    broken(model, results, &mut all);
    silences(model, &mut all);
    all.sort_by_key(|note| (note.moment.t, note.place));
    if all.len() > MOST {
        leave_out(&mut all, model.clock);
    }
    for Note { place, moment, .. } in &mut all {
        (moment.believing, moment.acting) = leaders_at(model, *place, moment.t);
    }
    all.into_iter().map(|note| note.moment).collect()
}

/// Adds its duration to the text of each partition.
fn parted(model: &Model, all: &mut [Note]) {
    for note in all.iter_mut().filter(|note| note.moment.k == Turn::Fault) {
        let Some(fault) = note.moment.what.fault().filter(|fault| parts(fault)) else { continue };
        let shade = model.shades.iter().find(|s| s.fault == Some(fault.index) && s.from == note.moment.t);
        note.moment.text += &shade.map_or_else(String::new, Shade::lasted);
    }
}

/// How many nodes believe and how many leaders are acting, on the resource with most of them, just after an event.
fn leaders_at(model: &Model, place: u64, t: u64) -> (usize, usize) {
    let place = if place == LAST { None } else { Some(place) };
    let believes = |(from, to): (u64, u64), begins: u64, ends: u64, open: bool| match place {
        Some(place) => from <= place && (open || to > place),
        None => begins <= t && (open || ends > t),
    };
    let believing = model.beliefs.iter().filter(|b| believes(b.places, b.from, b.to, b.open)).count();
    let takes = |(from, to): (u64, u64), begins: u64, ends: u64| match place {
        Some(place) => (from..=to).contains(&place),
        None => (begins..=ends).contains(&t),
    };
    let mut on = BTreeMap::<usize, usize>::new();
    for effect in model.effects.iter().filter(|e| takes(e.places, e.from, e.to)) {
        *on.entry(effect.r).or_default() += 1;
    }
    (believing, on.into_values().max().unwrap_or(0))
}

/// Leaves out moments in the middle, except violations, and says so in their place.
fn leave_out(all: &mut Vec<Note>, clock: Clock) {
    let (first, last) = (MOST * 3 / 4, all.len() - MOST / 4);
    let (mut place, mut out) = (0, Vec::new());
    all.retain(|note| {
        place += 1;
        let stays = place <= first || place > last || note.moment.k == Turn::Bad;
        if !stays {
            out.push((note.moment.t, note.place));
        }
        stays
    });
    if let (Some((t, place)), Some((until, _))) = (out.first(), out.last()) {
        let moments = count(out.len() as u64, "moment");
        let text =
            format!("{moments} from here to {} left out of this list; the picture has them", clock.moment(*until));
        all.insert(first, note(*t, *place, Turn::Gap, None, text));
    }
}

/// Adds violations that no other moment shows.
fn broken(model: &Model, results: &[InvariantResult], all: &mut Vec<Note>) {
    for misread in &model.misread {
        let (node, words) = (&model.nodes[usize::from(misread.node)], &misread.words);
        let text = match misread.n {
            1 => format!("STALE READ, answered by {node}: {words}"),
            n => format!(
                "STALE READS: {} answered by {node} {}; in the first {words}",
                grouped(n),
                until(model.clock, misread.from, misread.to)
            ),
        };
        all.push(note(misread.from, misread.place, Turn::Bad, Some(misread.node), text));
    }
    let told = |name: &str| {
        (name == no_stale_write::ENTRY.name && !model.stale.is_empty())
            || (name == no_stale_read::ENTRY.name && !model.misread.is_empty())
    };
    // One event may violate several invariants: a single note names them all.
    let mut at: BTreeMap<u64, Vec<&InvariantResult>> = BTreeMap::new();
    for result in results.iter().filter(|r| !r.holds && r.class != Class::Vacuity) {
        at.entry(result.violated_us.unwrap_or(model.end).min(model.end)).or_default().push(result);
    }
    for (t, together) in at {
        let names = |of: &[&InvariantResult]| of.iter().map(|result| result.name).collect::<Vec<_>>().join(", ");
        if let Some(note) = all.iter_mut().find(|note| note.moment.k == Turn::Bad && note.moment.t == t) {
            note.moment.text += &format!("; violates {}", names(&together));
            continue;
        }
        let untold: Vec<&InvariantResult> = together.into_iter().filter(|result| !told(result.name)).collect();
        if let Some(first) = untold.first() {
            let text = format!("VIOLATED {}: {}", names(&untold), first.detail);
            all.push(note(t, LAST, Turn::Bad, None, text));
        }
    }
}

/// Attributes each silence to the fault that struck the writer, the service or the store; without one it is a moment of
/// its own.
fn silences(model: &Model, all: &mut Vec<Note>) {
    for (from, _, dark_us) in &model.dark {
        let words = told::dark(&duration(*dark_us as f64));
        let wrote = model.effects.iter().filter(|e| e.r == 0 && e.from <= *from).max_by_key(|e| e.to.min(*from));
        let wrote = wrote.map(|e| model.incarnations[e.i].node);
        let serves = |node: u16| model.lanes.iter().any(|lane| lane.node == node && lane.role != "candidate");
        let [before, after] = STRUCK_US;
        let struck = |note: &&mut Note| {
            let near = (from.saturating_sub(before)..=from + after).contains(&note.moment.t);
            let those = note.on.iter().any(|node| Some(node.0) == wrote || serves(node.0));
            note.moment.k == Turn::Fault && near && those
        };
        // A fault that stops a process or a link stops writes; a slow link or a clock may be a coincidence.
        let weak = |note: &&mut Note| !note.moment.what.fault().is_some_and(|fault| fault.kind.stops_writes());
        match all.iter_mut().filter(struck).min_by_key(weak) {
            Some(fault) => fault.moment.text += &format!("; {words}"),
            None => all.push(note(*from, LAST, Turn::Dark, None, words)),
        }
    }
}

/// `until 25.999 s`, or the duration if both times would print the same.
fn until(clock: Clock, from: u64, to: u64) -> String {
    match to - from {
        near @ 0..1_000 => format!("within {}", duration(near as f64)),
        _ => format!("until {}", clock.moment(to)),
    }
}

/// A leadership's name, as [`crate::words::Names::incarnation`] writes it.
fn who(model: &Model, i: usize) -> String {
    let one = &model.incarnations[i];
    let name = &model.nodes[usize::from(one.node)];
    if one.token.is_empty() && one.generation == 0 { name.clone() } else { format!("{name} ({})", one.label) }
}

fn beliefs(model: &Model, all: &mut Vec<Note>) {
    for belief in &model.beliefs {
        let one = &model.incarnations[belief.i];
        let name = &model.nodes[usize::from(one.node)];
        let others = {
            let now = belief.places.0;
            model.beliefs.iter().filter(move |b| b.places.0 < now && (b.open || b.places.1 > now))
        };
        let others: Vec<String> = others
            .map(|b| model.incarnations[b.i].node)
            .filter(|node| *node != one.node)
            .map(|node| {
                let paused = model.shades.iter().any(|s| {
                    s.kind == Shading::Pause && s.nodes == [node] && s.from <= belief.from && s.to > belief.from
                });
                format!("{}{}", model.nodes[usize::from(node)], if paused { " (paused)" } else { "" })
            })
            .collect();
        // A log only shows that nobody reported their depositions.
        let replaced = model.beliefs.iter().filter(|b| b.replaced == Some(belief.places.0));
        let untold = replaced.map(|b| model.nodes[usize::from(model.incarnations[b.i].node)].clone());
        let (still, untold) = if model.foreign { (Vec::new(), untold.collect()) } else { (others, Vec::new()) };
        let text = told::elected(&who(model, belief.i), &still, &untold);
        all.push(note(belief.from, belief.places.0, Turn::Elect, Some(one.node), text));
        // A crash has its own moment.
        let Some(reason) = belief.why.and_then(|why| Deposed::ALL.into_iter().find(|reason| reason.name() == why))
        else {
            continue;
        };
        let text = told::deposed(name, reason);
        all.push(note(belief.to, belief.places.1, Turn::Stop, Some(one.node), text));
    }
}

fn writes(model: &Model, all: &mut Vec<Note>) {
    // In a log with several resources, none is the usual one.
    let several = model.foreign && model.effects.iter().any(|e| e.r > 0);
    let on = |r: usize| model.resources.get(r).cloned().unwrap_or_else(|| format!("resource-{r}"));
    let node = |i: usize| Some(model.incarnations[i].node);
    for effect in model.effects.iter().filter(|e| several || e.r == 0) {
        let taken = model.stale.iter().any(|s| (s.i, s.r, s.from) == (effect.i, effect.r, effect.from));
        if !taken {
            let name = on(effect.r);
            let named = (model.foreign || effect.r > 0).then_some(&*name);
            let text = told::takes_effect(&who(model, effect.i), named, effect.seq);
            all.push(note(effect.from, effect.places.0, Turn::Effect, node(effect.i), text));
        }
    }
    for stale in &model.stale {
        let Stale { i, r, from, to, n, seq, over, numbers, .. } = *stale;
        let over = over.map_or_else(String::new, |i| format!("; {} had taken over", who(model, i)));
        let until = if n > 1 { format!(", {}", until(model.clock, from, to)) } else { String::new() };
        let text = told::stale(&told::writes(n, numbers, seq, &who(model, i), &on(r))) + &until + &over;
        all.push(note(from, stale.place, Turn::Bad, node(i), text));
    }
    for refused in &model.refused {
        let Refused { i, r, n, seq, numbers, .. } = *refused;
        let what = told::writes(n, numbers, seq, &who(model, i), &on(r));
        let text = told::refused(&what, Some(&*refused.highest).filter(|highest| *highest != "0"));
        all.push(note(refused.from, refused.place, Turn::Refuse, node(refused.i), text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::model::{Effect, Named};
    use protocols::history::FaultKind;

    fn struck(kind: FaultKind) -> FaultEvent {
        let (on, to, sides, one_way, point, detail) = Default::default();
        FaultEvent { index: 0, kind, phase: Phase::Once, on, to, sides, one_way, strength: 0, point, detail }
    }

    /// `n1` writes until 1 s, then nobody for a second. Returns what the silence is attributed to.
    fn laid_to(faults: &[(u64, u16, FaultKind, &str)]) -> Vec<String> {
        let effect =
            Effect { i: 0, r: 0, from: 10, to: 3_000_000, n: 9, stale: 0, runs: Vec::new(), seq: 1, places: (1, 9) };
        let named = Named { node: 0, token: "1".to_owned(), generation: 1, label: "token 1".to_owned() };
        let (effects, incarnations, dark) = (vec![effect], vec![named], vec![(1_000_000, 2_000_000, 1_000_000)]);
        let nodes = vec!["n1".to_owned(), "n2".to_owned()];
        let model = Model { nodes, effects, incarnations, dark, ..Model::default() };
        let notes = faults.iter().map(|(t, node, kind, text)| {
            let mut note = note(*t, *t, Turn::Fault, Some(*node), (*text).to_owned());
            note.moment.what = What::Fault(Box::new(struck(kind.clone())));
            note
        });
        let notes = Notes { notes: notes.collect(), ..Notes::default() };
        let all = moments(&model, notes, &[]).into_iter();
        all.map(|m| m.text).filter(|text| text.contains("dark for")).collect()
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
