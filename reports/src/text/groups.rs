//! Several groups as text: the results of each, and the figures of placed shards.

use super::{
    invariants::{self, Told},
    paint::{Paint, Tone, pad, wrap},
};
use crate::{
    Judgement, Verdict,
    clock::Clock,
    invariant::InvariantResult,
    shards::{Change, ShardFigures},
    words::{count, duration, grouped},
};
use std::collections::BTreeMap;

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

// The figures of placed shards as text.

/// How many shards each member leads, and what each change moved.
pub(super) fn shard_lines(figures: &ShardFigures, paint: Paint) -> Vec<String> {
    let mut lines = wrap(&format!("led at first: {}", shares(&figures.leaders_before)), paint.width - 4);
    for change in &figures.changes {
        for (place, line) in wrap(&told(change, figures.shards), paint.width - 6).into_iter().enumerate() {
            lines.push(if place == 0 { line } else { format!("  {line}") });
        }
    }
    lines
}

fn told(change: &Change, shards: u16) -> String {
    let Change { node, joins, moved, moved_by_ring, moved_by_modulo, leaderships, .. } = change;
    let what = if *joins { "comes" } else { "leaves" };
    let dark = change.dark_ms_p50_max().map_or_else(
        || "none was dark".to_owned(),
        |(p50, max)| format!("dark for {} at the median, {} at most", duration(p50 * 1e3), duration(max * 1e3)),
    );
    format!(
        "{} {node} {what}: {moved} of {} moved (a ring moves {moved_by_ring}, a modulo {moved_by_modulo}), by {}; {dark}; \
         now led: {}",
        Clock::default().moment((change.t_ms * 1e3) as u64),
        count(shards.into(), "shard"),
        count(*leaderships, "new leadership"),
        shares(&change.leaders),
    )
}

fn shares(leaders: &BTreeMap<String, u64>) -> String {
    leaders.iter().map(|(node, led)| format!("{node} {led}")).collect::<Vec<_>>().join(", ")
}
