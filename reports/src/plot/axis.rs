//! A numeric axis with chosen ticks.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// Values with a larger ratio than this are drawn on a logarithmic axis.
const LINEAR_SPREAD_MAX: f64 = 5.0;
/// The approximate number of ticks on an axis.
const TICKS: f64 = 7.0;

/// An axis, logarithmic or not.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) range: Range<f64>,
    pub(super) log: bool,
    /// A logarithmic axis is nearly linear up to here: it includes 0, and may have negative values.
    pub(super) near: Option<f64>,
    pub(super) ticks: Vec<f64>,
}

impl Axis {
    /// An axis that contains both values, which are above 0; logarithmic if they are far apart.
    pub(super) fn spanning(least: f64, most: f64) -> Self {
        if most / least > LINEAR_SPREAD_MAX {
            let range = least / 1.15..most * 1.15;
            // Less than two decades leave room for more ticks.
            let close = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0];
            let steps = if most / least < 100.0 { &close[..] } else { &[1.0, 2.0, 5.0] };
            let ticks = decades(range.start, range.end, steps);
            return Axis { range, log: true, near: None, ticks };
        }
        let margin = (most - least).max(most / 50.0) * 0.06;
        let range = (least - margin).max(0.0)..most + margin;
        let rough = (range.end - range.start) / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|s| s * power).into_iter().find(|s| *s >= rough).unwrap_or(power * 10.0);
        let (first, last) = ((range.start / step).ceil() as i64, (range.end / step).floor() as i64);
        Axis { ticks: (first..=last).map(|n| n as f64 * step).collect(), range, log: false, near: None }
    }

    /// A logarithmic axis that contains both values, which are above 0.
    pub(super) fn spanning_decades(least: f64, most: f64) -> Self {
        let range = least / 1.3..most * 1.3;
        // So few that their labels do not touch.
        let steps = if most / least > 300.0 { &[1.0][..] } else { &[1.0, 2.0, 5.0][..] };
        let ticks = decades(range.start, range.end, steps);
        Axis { range, log: true, near: None, ticks }
    }

    /// An axis that contains both values and 0, logarithmic on either side of 0.
    pub(super) fn through_zero(least: f64, most: f64, near: f64) -> Self {
        let end = |most: f64| if most > 0.0 { most.max(near) * 1.3 } else { 0.0 };
        let (below, above) = (end(-least), end(most));
        let up = decades(near, above.max(near), &[1.0]);
        let down = decades(near, below.max(near), &[1.0]);
        let side = |ticks: Vec<f64>, end: f64| ticks.into_iter().filter(move |tick| *tick <= end);
        let ticks = side(down, below).map(|tick| -tick).chain([0.0]).chain(side(up, above)).collect();
        // Leave room for the mark of a value of exactly 0.
        let range = (-below).min(-near * 0.3)..above.max(near);
        Axis { range, log: true, near: Some(near), ticks }
    }

    /// A linear axis that contains both values, with a tick at 0.
    pub(super) fn around_zero(least: f64, most: f64) -> Self {
        let rough = (most - least).max(f64::MIN_POSITIVE) / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|s| s * power).into_iter().find(|s| *s >= rough).unwrap_or(power * 10.0);
        let (first, last) = ((least / step).floor() as i64, (most / step).ceil() as i64);
        let range = first as f64 * step..last as f64 * step;
        Axis { ticks: (first..=last).map(|n| n as f64 * step).collect(), range, log: false, near: None }
    }

    /// A linear axis with these ticks.
    pub(super) fn with_ticks(range: Range<f64>, ticks: Vec<f64>) -> Self {
        Axis { range, log: false, near: None, ticks }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let of = |v: f64| match (self.log, self.near) {
            (true, Some(near)) => v.signum() * (1.0 + v.abs() / near).ln(),
            (true, None) => v.max(f64::MIN_POSITIVE).ln(),
            (false, _) => v,
        };
        let (start, end) = (of(self.range.start), of(self.range.end));
        let share = (of(*value) - start) / (end - start);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        number(*value)
    }
}

/// Ticks for a logarithmic axis: these steps of each power of ten within a range.
pub(super) fn decades(from: f64, to: f64, steps: &[f64]) -> Vec<f64> {
    let first = from.log10().floor() as i32;
    let last = to.log10().ceil() as i32;
    let all = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
    all.filter(|tick| (from..=to).contains(tick)).collect()
}

/// A number without unneeded decimals: `0.5`, `30`.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_lie_on_the_axis_and_are_round() {
        let linear = Axis::spanning(151.0, 320.0);
        assert_eq!((linear.log, linear.ticks), (false, vec![150.0, 200.0, 250.0, 300.0]));
        let log = Axis::spanning(2.0, 4_000.0);
        assert!(log.log && log.ticks.contains(&1_000.0));
        assert_eq!((log.map(&log.range.start, (10, 90)), log.map(&log.range.end, (10, 90))), (10, 90));
    }

    #[test]
    fn an_axis_through_zero_has_both_sides() {
        let axis = Axis::through_zero(-120.0, 15_000.0, 1.0);
        let ticks = [-100.0, -10.0, -1.0, 0.0, 1.0, 10.0, 100.0, 1_000.0, 10_000.0];
        assert!((axis.ticks.len(), axis.ticks[0], axis.ticks[3]) == (ticks.len(), -1.0, 0.0), "{:?}", axis.ticks);
        let at = |value: f64| axis.map(&value, (0, 1_000));
        assert!(at(-10.0) < at(0.0) && at(0.0) < at(10.0) && at(10.0) - at(0.0) > 50, "{}", at(0.0));
        assert_eq!((at(axis.range.start), at(axis.range.end)), (0, 1_000));
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(
            decades(0.4, 30.0, &[1.0, 2.0, 5.0]).into_iter().map(number).collect::<Vec<_>>(),
            ["0.5", "1", "2", "5", "10", "20"]
        );
    }
}
