//! Numbers on the shards of members that leave and join.

use reports::{Change, ShardFigures};

/// A run's counts: members that left and joined, and shards that moved.
pub(super) fn counts(figures: &ShardFigures) -> Vec<(&'static str, u64)> {
    let of = |change: &Change| {
        let names = match change.joins {
            false => ["left", "moved_left", "ring_left", "modulo_left", "leaderships_left"],
            true => ["came", "moved_came", "ring_came", "modulo_came", "leaderships_came"],
        };
        let Change { moved, moved_by_ring, moved_by_modulo, leaderships, .. } = *change;
        names.into_iter().zip([1, moved, moved_by_ring, moved_by_modulo, leaderships])
    };
    figures.changes.iter().flat_map(of).chain([("shards", figures.shards.into())]).collect()
}

/// A run's lists: how long each shard was dark, and how many each member leads before the faults.
pub(super) fn lists(figures: &ShardFigures) -> Vec<(&'static str, Vec<f64>)> {
    let dark = |joins: bool| {
        let changes = figures.changes.iter().filter(move |change| change.joins == joins);
        changes.flat_map(|change| change.dark_ms.iter().copied()).collect()
    };
    let leads = figures.leaders_before.values().map(|led| *led as f64).collect();
    vec![("dark_left_ms", dark(false)), ("dark_came_ms", dark(true)), ("led_by_member", leads)]
}
