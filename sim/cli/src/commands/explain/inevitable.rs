//! When a failure became inevitable, as lines of text.

use sim::reduce::futures::{Curve, Moment};

/// The length of a bar for all futures.
const BAR: u32 = 40;

/// The sentence about a curve.
pub fn sentence(curve: &Curve) -> String {
    let Curve { futures, .. } = curve;
    let many = |failed: u32| match failed {
        0 => format!("none of {futures} futures fails"),
        1 => format!("1 of {futures} futures fails"),
        failed => format!("{failed} of {futures} futures fail"),
    };
    match curve.no_return() {
        Some((Some(before), first)) => format!(
            "Until {}, {} this way; from {} on, all of them do.",
            seconds(before.at_us),
            many(before.failed),
            seconds(first.at_us)
        ),
        Some((None, first)) => {
            let from = if first.at_us == 0 { "the start".to_owned() } else { seconds(first.at_us) };
            format!("All of {futures} futures fail this way from {from} on: the plan decides it, and no chance does.")
        }
        None => {
            let last = curve.moments.last().map_or(0, |moment| moment.failed);
            format!("There is no such point: {} this way even from the last moment on.", many(last))
        }
    }
}

/// A bar for each moment, without those that show nothing new.
pub fn bars(curve: &Curve) -> String {
    let told = |place: &usize| {
        let failed = |place: usize| curve.moments.get(place).map(|moment| moment.failed);
        let own = failed(*place);
        own != place.checked_sub(1).and_then(failed) || own != failed(place + 1)
    };
    let line = |place: usize| {
        let Moment { at_us, failed } = curve.moments[place];
        let length = (u64::from(failed) * u64::from(BAR)).div_ceil(u64::from(curve.futures)) as usize;
        let percent = 100.0 * f64::from(failed) / f64::from(curve.futures);
        format!("{:>12}  {:<width$}  {percent:.0} %\n", seconds(at_us), "█".repeat(length), width = BAR as usize)
    };
    (0..curve.moments.len()).filter(told).map(line).collect()
}

fn seconds(us: u64) -> String {
    format!("{:.3} s", us as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(of: &[(u64, u32)]) -> Curve {
        let moments = of.iter().map(|(at_us, failed)| Moment { at_us: *at_us, failed: *failed }).collect();
        Curve { moments, futures: 100, happened_us: 9_600_000 }
    }

    #[test]
    fn a_curve_says_until_when_it_could_have_ended_well() {
        let steep = curve(&[(0, 31), (5_000_000, 31), (9_520_000, 31), (9_600_000, 100), (9_700_000, 100)]);
        assert_eq!(
            sentence(&steep),
            "Until 9.520 s, 31 of 100 futures fail this way; from 9.600 s on, all of them do."
        );
        let drawn = bars(&steep);
        let told: Vec<&str> = drawn.lines().map(|line| line.rsplit("  ").next().unwrap_or_default()).collect();
        assert_eq!(told, ["31 %", "31 %", "100 %", "100 %"], "{drawn}");
        assert!(sentence(&curve(&[(0, 0), (9_600_000, 100)])).starts_with("Until 0.000 s, none of 100 futures fails"));
        assert!(sentence(&curve(&[(0, 100), (9_600_000, 100)])).contains("from the start on"));
        assert!(sentence(&curve(&[(0, 100), (9_600_000, 99)])).starts_with("There is no such point: 99 of 100"));
    }
}
