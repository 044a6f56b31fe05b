//! How many futures fail from each moment on, as bars of text.

use sim::reduce::futures::{Curve, Moment, seconds};

/// The length of a bar for all futures.
const BAR: u32 = 40;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_between_equal_ones_have_no_bar() {
        let of = [(0, 31), (5_000_000, 31), (9_520_000, 31), (9_600_000, 100), (9_700_000, 100)];
        let moments = of.map(|(at_us, failed)| Moment { at_us, failed }).to_vec();
        let drawn = bars(&Curve { moments, futures: 100 });
        let told: Vec<&str> = drawn.lines().map(|line| line.rsplit("  ").next().unwrap_or_default()).collect();
        assert_eq!(told, ["31 %", "31 %", "100 %", "100 %"], "{drawn}");
    }
}
