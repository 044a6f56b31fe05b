//! The figures that have a baseline, and whether a cell's lie far outside their range, given two small samples.
//!
//! Recorded seeds repeat their runs exactly while the code does what it did, so the median of some of them lies within
//! the recorded range. For other seeds, the two samples are only assumed to come from one distribution. Then the `r`
//! largest of `n + m` values all come from the `m` new ones with probability `m (m−1) … / (n + m)(n + m − 1) …`,
//! whatever the distribution. A figure has moved if that is less than [`CHANCE_MIN`].

use super::{By, Moved, OF_A_KIND, OF_A_KIND_FLOOR, Range, Seen};
use reports::{Metrics, statistics::quantile};
use std::collections::{BTreeMap, BTreeSet};

/// With fewer runs than this, the whole recorded range counts as usual; otherwise the middle 90 %. The median of a few
/// runs may lie as far out as a single run.
const RUNS_FOR_QUANTILES: usize = 10;
/// Less likely events are not chance. A full sweep tests some 60,000 figures on both sides.
const CHANCE_MIN: f64 = 1e-8;

/// What is known of a recorded cell.
pub(super) struct Recorded<'a> {
    /// Whether these seeds are among those recorded.
    pub known: bool,
    /// The number of runs that had a figure.
    pub values: &'a dyn Fn(&str) -> u64,
}

/// The figures of a cell that lie outside their ranges.
pub(super) fn out_of_range(cell: &str, ranges: &BTreeMap<String, Range>, was: &Recorded, seen: &Seen) -> Vec<Moved> {
    // A new kind of message is as suspicious as one that is gone.
    let kinds = ranges.keys().chain(seen.figures.keys()).filter(|name| name.starts_with(OF_A_KIND));
    let kinds: BTreeSet<&str> = kinds.map(String::as_str).collect();
    let named = FIGURES.iter().map(|figure| (figure.name, figure.floor));
    let check = |(name, floor): (&str, f64)| {
        let none = name.starts_with(OF_A_KIND).then(Range::default);
        let range = ranges.get(name).copied().or(none)?;
        let values = seen.values(name);
        let (is, by) = match was.known {
            true => far(floor, range, &values)?,
            false => (beyond(floor, range, (was.values)(name), &values)?, By::Many),
        };
        let figure = name.to_owned();
        Some(Moved { cell: cell.to_owned(), figure, was: range, is, by, runs: values.len() })
    };
    named.chain(kinds.into_iter().map(|kind| (kind, OF_A_KIND_FLOOR))).filter_map(check).collect()
}

fn slack(floor: f64, was: Range) -> f64 {
    floor + 0.15 * was.p50.abs()
}

/// For recorded seeds: the median if it lies far outside, or else the largest run if that does; and which of the two it
/// is.
fn far(floor: f64, was: Range, values: &[f64]) -> Option<(f64, By)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (median, most) = (quantile(&sorted, 0.5)?, quantile(&sorted, 1.0)?);
    let (low, high) = if values.len() < RUNS_FOR_QUANTILES { (was.min, was.max) } else { (was.p05, was.p95) };
    let slack = slack(floor, was);
    if median < low - slack || median > high + slack {
        return Some((median, By::Median));
    }
    // A single run may deviate innocently, but not by twice the largest recorded distance from the median.
    let farthest = was.max + (was.max - was.p50) + 2.0 * slack;
    (most > farthest).then_some((most, By::OneRun))
}

/// For other seeds: the distance beyond all recorded runs that more runs exceed than chance explains.
fn beyond(floor: f64, was: Range, recorded: u64, values: &[f64]) -> Option<f64> {
    let many = too_many(recorded, values.len() as u64)? as usize;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (high, low) = (sorted[sorted.len() - many], sorted[many - 1]);
    let slack = slack(floor, was);
    match () {
        () if high > was.max + slack => Some(high),
        () if low < was.min - slack => Some(low),
        () => None,
    }
}

/// The number of `new` values that chance does not put beyond all `recorded` ones; `None` if it may put all of them
/// there.
fn too_many(recorded: u64, new: u64) -> Option<u64> {
    let mut chance = 1.0;
    (0..new).find_map(|n| {
        chance *= (new - n) as f64 / (new + recorded - n) as f64;
        (chance < CHANCE_MIN).then_some(n + 1)
    })
}

// The figures that have a baseline.

pub struct Figure {
    /// Its name in baselines and reports.
    pub name: &'static str,
    /// Differences up to this never count as moved.
    pub(super) floor: f64,
    pub(super) of: fn(&Metrics) -> Option<f64>,
}

/// Every figure that has a baseline.
pub const FIGURES: [Figure; 24] = [
    Figure { name: "elections", floor: 1.0, of: |m| Some(m.elections as f64) },
    Figure { name: "contested_elections", floor: 1.0, of: |m| Some(m.contested_elections as f64) },
    Figure { name: "false_failovers", floor: 0.5, of: |m| Some(m.false_failovers as f64) },
    Figure { name: "writes_accepted", floor: 20.0, of: |m| Some(m.writes_accepted as f64) },
    Figure { name: "writes_fenced", floor: 3.0, of: |m| Some(m.writes_fenced as f64) },
    Figure { name: "writes_duplicate", floor: 10.0, of: |m| Some(m.writes_duplicate as f64) },
    Figure { name: "seq_gaps", floor: 10.0, of: |m| Some(m.seq_gaps as f64) },
    Figure { name: "messages", floor: 50.0, of: |m| Some(m.messages as f64) },
    Figure { name: "requests_to_service", floor: 5.0, of: |m| m.requests_to_service.map(|n| n as f64) },
    Figure { name: "dark_ms", floor: 50.0, of: |m| m.dark_ms },
    Figure { name: "dual_belief_ms", floor: 20.0, of: |m| Some(m.dual_belief_ms) },
    Figure { name: "failover_ms", floor: 50.0, of: |m| largest(&m.failover_ms) },
    Figure { name: "election_time_ms", floor: 50.0, of: |m| largest(&m.election_time_ms) },
    Figure { name: "election_latency_ms", floor: 20.0, of: |m| largest(&m.election_latency_ms) },
    Figure { name: "stop_after_loss_ms", floor: 20.0, of: |m| largest(&m.stop_after_loss_ms) },
    Figure { name: "handoff_intent_gap_ms", floor: 30.0, of: |m| smallest(&m.handoff_intent_gap_ms) },
    Figure { name: "startup_dark_ms", floor: 50.0, of: |m| m.startup_dark_ms },
    Figure { name: "served_after_ms", floor: 0.2, of: |m| m.served_after_ms },
    Figure { name: "requests_invoked", floor: 20.0, of: |m| Some(m.requests_invoked as f64) },
    Figure { name: "requests_answered", floor: 20.0, of: |m| Some(m.requests_answered as f64) },
    Figure { name: "reads_answered", floor: 20.0, of: |m| Some(m.reads_answered as f64) },
    Figure { name: "reads_stale", floor: 3.0, of: |m| Some(m.reads_stale as f64) },
    Figure { name: "writes_failed", floor: 5.0, of: |m| Some(m.writes_failed as f64) },
    Figure { name: "leaders_believing_max", floor: 0.5, of: |m| Some(m.leaders_believing_max as f64) },
];

fn largest(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

fn smallest(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_many_are_too_many_depends_on_both_samples() {
        assert_eq!(too_many(60, 3), None);
        assert_eq!(too_many(60, 12), Some(9));
        assert_eq!(too_many(12, 40), Some(36));
        assert_eq!(too_many(60, 40), Some(18));
        assert_eq!(too_many(0, 1_000), None);
    }

    /// Samples of one long-tailed distribution raise no alarm.
    #[test]
    fn chance_raises_no_alarm() {
        let mut state = 7_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let uniform = ((state >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
            // Pareto with infinite variance.
            uniform.powf(-0.7)
        };
        for (recorded, new) in [(12, 40), (60, 100), (60, 20), (12, 12), (60, 1)] {
            for _ in 0..3_000 {
                let was = Range::of(&(0..recorded).map(|_| draw()).collect::<Vec<_>>()).expect("there are some");
                let values: Vec<f64> = (0..new).map(|_| draw()).collect();
                assert_eq!(beyond(0.0, Range { p50: 0.0, ..was }, recorded, &values), None);
            }
        }
    }

    #[test]
    fn two_fifths_of_many_runs_far_out_are_told() {
        let was = Range { min: 1.0, p05: 1.0, p50: 2.0, p95: 3.0, max: 3.0 };
        let values: Vec<f64> = (0..100).map(|n| if n < 40 { 9.0 } else { 2.0 }).collect();
        assert_eq!(beyond(0.5, was, 60, &values), Some(9.0));
        assert_eq!(beyond(0.5, was, 12, &values), None);
    }
}
