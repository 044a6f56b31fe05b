//! The figures of placed shards as text.

use super::paint::{Paint, wrap};
use crate::{
    clock::Clock,
    shards::{Change, ShardFigures},
    words::{count, duration},
};
use std::collections::BTreeMap;

/// How many shards each member leads, and what each change moved.
pub(super) fn lines(figures: &ShardFigures, paint: Paint) -> Vec<String> {
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
