//! Where along a range the verdict changes first.
//!
//! Bisecting finds a change of verdict, and the first one only if there is one alone. So the whole range is looked at in a few
//! places before, and what lies beside the change that was found in some more after; a change further down that shows there
//! is followed instead. What was looked at and said otherwise is told.

use crate::error::Failed;
use scenarios::axis::divided;
use std::collections::BTreeMap;

/// Looked at before anything is bisected: about so many values, from one end of the range to the other.
pub(super) const SCANNED: usize = 9;
/// Looked at beside the change that was found: so many values on either side, as far as the values scanned.
pub(super) const BESIDE: usize = 4;

/// What is to be told apart along a range.
pub(super) trait Verdict {
    /// Is it unsafe?
    fn violates(&self) -> bool;
}

/// Where the verdict changes first, from the lower end of the range upwards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Edge<V> {
    /// The highest value below the change, and what was seen there; everything that was tried below it is the same in kind.
    pub below: (u64, V),
    /// The next value, where it is the other in kind; `None` when no value that was tried is.
    pub above: Option<(u64, V)>,
    /// Values above the change that are again what those below it are.
    pub again: Vec<u64>,
    /// How many values were tried.
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

    /// The first of the values seen that is not like the lowest, and the one before it.
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

/// Finds it between two values, both included.
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
        // Bisecting from a scanned 10,000 that holds and 32,000 that does not ends at 30,000 and never looks at the island.
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
