//! The results of several groups: one line each, and the violations in each.

use super::{
    invariants::{self, Told},
    paint::{Paint, Tone, pad, wrap},
};
use crate::{
    Judgement, Verdict,
    invariant::InvariantResult,
    words::{count, grouped},
};

/// Width of a group's name, characters.
const NAME: usize = 10;

/// Narrower reports do not indent.
const INDENTED_MIN: usize = 60;

/// A line for each group, and its violations.
pub(super) fn lines(groups: &[Judgement], paint: Paint) -> Vec<String> {
    groups.iter().enumerate().flat_map(|(group, judgement)| one(group, judgement, paint)).collect()
}

fn one(group: usize, judgement: &Judgement, paint: Paint) -> Vec<String> {
    let (mark, tone) = match judgement.verdict {
        Verdict::Pass => ("✓", Tone::Good),
        Verdict::Safety | Verdict::Liveness => ("✗", Tone::Bad),
        Verdict::Vacuous => ("–", Tone::Warn),
    };
    let m = &judgement.metrics;
    let mut did = format!("{}, {} accepted", count(m.elections, "election"), count(m.writes_accepted, "write"));
    if m.writes_fenced > 0 {
        did += &format!(", {} refused", grouped(m.writes_fenced));
    }
    let mut lines = Vec::new();
    for (place, part) in wrap(&did, paint.width.saturating_sub(4 + NAME)).into_iter().enumerate() {
        let (mark, name) = if place == 0 { (mark, format!("group {group}")) } else { (" ", String::new()) };
        lines.push(format!("{} {}{part}", paint.paint(tone, mark), pad(&name, NAME)));
    }
    let broken: Vec<InvariantResult> = judgement.invariants.iter().filter(|i| !i.holds).cloned().collect();
    // Without room, violations are not indented.
    let indent = if paint.width < INDENTED_MIN { 0 } else { 2 };
    let narrower = Paint { width: paint.width - indent, ..paint };
    lines.extend(
        invariants::lines(&broken, Told::All, narrower).into_iter().map(|line| format!("{:indent$}{line}", "")),
    );
    lines
}
