//! Finds the first change of verdict along a range.
//!
//! Bisection alone finds the first change only if there is just one. So the search first scans the whole range
//! coarsely, then bisects, and then probes around the change; if a lower change shows there, it follows that one.
//! Deviating values are reported.

use crate::error::Failed;
use scenarios::axis::divided;
use std::collections::BTreeMap;

/// The number of values scanned before bisection, from one end of the range to the other.
pub(super) const SCANNED: usize = 9;
/// The number of values probed on each side of the change, as far as the neighbouring scanned values.
pub(super) const BESIDE: usize = 4;

/// A verdict that can change along a range.
pub(super) trait Verdict {
    fn violates(&self) -> bool;
}

/// The first change of verdict, from the lower end of the range upwards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Edge<V> {
    /// The highest value below the change, and its verdict; all tried values below it agree.
    pub below: (u64, V),
    /// The next value, whose verdict differs; `None` if all tried values agree.
    pub above: Option<(u64, V)>,
    /// Values above the change whose verdict is that below it.
    pub again: Vec<u64>,
    /// The number of values tried.
    pub tried: usize,
}

struct Search<V, F> {
    seen: BTreeMap<u64, V>,
    look: F,
}

impl<V: Verdict + Clone, F: FnMut(u64) -> Result<V, Failed>> Search<V, F> {
    fn violates(&mut self, value: u64) -> Result<bool, Failed> {
        if !self.seen.contains_key(&value) {
            let seen = (self.look)(value)?;
            self.seen.insert(value, seen);
        }
        Ok(self.seen.get(&value).is_some_and(Verdict::violates))
    }

    /// The first value seen whose verdict differs from the lowest one's, and its predecessor.
    fn change(&self) -> Option<(u64, u64)> {
        let mut seen = self.seen.iter();
        let (lowest, first) = seen.next()?;
        let mut before = *lowest;
        for (value, verdict) in seen {
            if verdict.violates() != first.violates() {
                return Some((before, *value));
            }
            before = *value;
        }
        None
    }
}

/// Searches between two values, both included.
///
/// # Errors
/// That of `look`.
pub(super) fn first_change<V: Verdict + Clone>(
    (from, to): (u64, u64),
    look: impl FnMut(u64) -> Result<V, Failed>,
) -> Result<Edge<V>, Failed> {
    let mut search = Search { seen: BTreeMap::new(), look };
    let scanned = divided(from, to, SCANNED);
    for value in &scanned {
        search.violates(*value)?;
    }
    let lowest = search.violates(from)?;
    while let Some((mut below, mut above)) = search.change() {
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            if search.violates(middle)? == lowest { below = middle } else { above = middle }
        }
        let floor = scanned.iter().rev().find(|v| **v < below).map_or(from, |v| *v);
        let roof = scanned.iter().find(|v| **v > above).map_or(to, |v| *v);
        let parts = BESIDE as u64 + 1;
        for step in 1..parts {
            search.violates(floor + (below - floor) * step / parts)?;
            search.violates(above + (roof - above) * step / parts)?;
        }
        if search.change() == Some((below, above)) {
            break;
        }
    }
    let tried = search.seen.len();
    let change = search.change();
    let at = change.map_or(to, |(below, _)| below);
    let again = search.seen.range(at + 1..).filter(|(_, seen)| seen.violates() == lowest).map(|(value, _)| *value);
    let again = again.collect();
    let mut take = |value| search.seen.remove(&value).map(|seen| (value, seen));
    let below = take(at).ok_or("nothing was tried")?;
    Ok(Edge { below, above: change.and_then(|(_, above)| take(above)), again, tried })
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Verdict for bool {
        fn violates(&self) -> bool {
            *self
        }
    }

    fn found(range: (u64, u64), violates: impl Fn(u64) -> bool) -> Edge<bool> {
        let edge = first_change(range, |value| {
            assert!((range.0..=range.1).contains(&value), "{value}");
            Ok(violates(value))
        });
        edge.expect("nothing fails")
    }

    #[test]
    fn the_one_change_is_found_to_the_unit_in_both_directions() {
        for at in [1, 2, 777, 50_000, 99_999, 100_000] {
            let up = found((0, 100_000), |value| value >= at);
            assert_eq!((up.below, up.above, up.again), ((at - 1, false), Some((at, true)), vec![]), "{at}");
            let down = found((0, 100_000), |value| value < at);
            assert_eq!((down.below, down.above, down.again), ((at - 1, true), Some((at, false)), vec![]), "{at}");
            assert!(up.tried < 50, "{} tries", up.tried);
        }
    }

    #[test]
    fn without_a_change_the_upper_end_is_what_is_left() {
        let holds = found((5, 900), |_| false);
        assert_eq!((holds.below, holds.above, holds.again), ((900, false), None, vec![]));
        assert_eq!(found((5, 900), |_| true).below, (900, true));
        assert_eq!(found((7, 8), |value| value == 8).above, Some((8, true)));
    }

    #[test]
    fn what_bisecting_would_miss_is_seen_beside_the_change() {
        // Bisecting from a scanned 10,000 that holds and 32,000 that does not ends at 30,000, and misses the island.
        let island = 20_000..22_500;
        let edge = found((1_000, 100_000), |value| value >= 30_000 || island.contains(&value));
        assert_eq!((edge.below, edge.above), ((19_999, false), Some((20_000, true))));
        assert!(edge.again.iter().all(|value| (22_500..30_000).contains(value)) && !edge.again.is_empty(), "{edge:?}");
    }

    #[test]
    fn what_holds_again_far_above_is_told() {
        let edge = found((0, 500_000), |value| (300..200_000).contains(&value));
        assert_eq!((edge.below, edge.above), ((299, false), Some((300, true))));
        assert!(edge.again.contains(&500_000) && !edge.again.contains(&100_000), "{edge:?}");
    }

    #[test]
    fn a_run_that_fails_ends_the_search() {
        assert_eq!(first_change((0, 9), |_| Err::<bool, _>("no".into())), Err("no".into()));
    }
}
