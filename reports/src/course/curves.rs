//! The two curves: how many nodes believed, and how many leaders were acting.

use super::model::{Belief, Effect};
use std::collections::{BTreeMap, BTreeSet};

/// A step function: each value holds from its time on.
pub(super) type Steps = Vec<(u64, u64)>;

/// How many of these intervals contain each time, up to `end`.
fn steps(intervals: impl Iterator<Item = (u64, u64)>, begin: u64, end: u64) -> Steps {
    let mut changes: BTreeMap<u64, i64> = BTreeMap::new();
    for (from, to) in intervals {
        *changes.entry(from).or_default() += 1;
        *changes.entry(to).or_default() -= 1;
    }
    let (mut now, mut steps) = (0, vec![(begin, 0)]);
    for (t, change) in changes.into_iter().filter(|(t, change)| *change != 0 && *t <= end) {
        now += change;
        steps.push((t, now.max(0) as u64));
    }
    let last = steps.last().map_or(0, |(_, value)| *value);
    steps.push((end, last));
    steps
}

fn value_at(steps: &Steps, t: u64) -> u64 {
    steps.partition_point(|(from, _)| *from <= t).checked_sub(1).map_or(0, |place| steps[place].1)
}

/// How many nodes believed.
pub(super) fn believing(beliefs: &[Belief], begin: u64, end: u64) -> Steps {
    // A belief that lasts to the end counts at the end, too.
    steps(beliefs.iter().map(|b| (b.from, if b.open { b.to + 1 } else { b.to })), begin, end)
}

/// How many leaders were acting, on the resource with most of them; and where there were several: from, to, most,
/// resource.
pub(super) fn acting(effects: &[Effect], begin: u64, end: u64) -> (Steps, Vec<(u64, u64, u64, usize)>) {
    let resources: BTreeSet<usize> = effects.iter().map(|e| e.r).collect();
    // A single write is an instant, but counts.
    let on = |r: usize| steps(effects.iter().filter(|e| e.r == r).map(|e| (e.from, e.to.max(e.from + 1))), begin, end);
    let each: Vec<(usize, Steps)> = resources.iter().map(|r| (*r, on(*r))).collect();
    let times: BTreeSet<u64> =
        each.iter().flat_map(|(_, steps)| steps.iter().map(|(t, _)| *t)).chain([begin, end]).collect();
    let (mut curve, mut several): (Steps, Vec<(u64, u64, u64, usize)>) = (Vec::new(), Vec::new());
    let mut open = None;
    for t in times {
        let most = each.iter().map(|(r, steps)| (value_at(steps, t), std::cmp::Reverse(*r))).max();
        let (value, r) = most.map_or((0, 0), |(value, r)| (value, r.0));
        if curve.last().is_none_or(|(_, last)| *last != value) || t == end {
            curve.push((t, value));
        }
        match (&mut open, value > 1) {
            (None, true) => open = Some((t, t, value, r)),
            (Some(one), true) => one.2 = one.2.max(value),
            (Some(one), false) => {
                several.push((one.0, t, one.2, one.3));
                open = None;
            }
            (None, false) => {}
        }
    }
    several.extend(open.map(|(from, _, most, r)| (from, end, most, r)));
    (curve, several)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(i: usize, r: usize, from: u64, to: u64) -> Effect {
        Effect { i, r, from, to, n: 2, stale: 0, runs: Vec::new(), seq: 1, places: (0, 0) }
    }

    #[test]
    fn who_believes_to_the_end_is_counted_there() {
        let belief = |from, to, open| Belief {
            i: 0,
            from,
            to,
            why: None,
            outlived: None,
            open,
            granted: true,
            replaced: None,
            places: (0, 0),
        };
        let curve = believing(&[belief(10, 30, false), belief(20, 50, true)], 0, 50);
        assert_eq!(curve, [(0, 0), (10, 1), (20, 2), (30, 1), (50, 1)]);
    }

    #[test]
    fn two_on_two_resources_are_no_split_brain() {
        let (curve, several) = acting(&[effect(0, 0, 10, 30), effect(1, 1, 20, 40)], 0, 50);
        assert_eq!(curve, [(0, 0), (10, 1), (40, 0), (50, 0)]);
        assert_eq!(several, []);
    }

    #[test]
    fn neighbouring_overlaps_are_one_with_the_most_of_both() {
        let effects = [effect(0, 0, 10, 30), effect(1, 0, 20, 40), effect(2, 0, 25, 26), effect(3, 1, 60, 60)];
        let (curve, several) = acting(&effects, 0, 70);
        assert_eq!(several, [(20, 30, 3, 0)]);
        assert_eq!(value_at(&curve, 25), 3);
        assert_eq!(value_at(&curve, 60), 1);
    }
}
