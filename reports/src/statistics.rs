//! Statistics over several runs.

/// The q-quantile of sorted values (nearest rank); `None` if there are none.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// The distance between two samples, by Kolmogorov and Smirnov.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Distance {
    /// The largest difference between the two cumulative distributions, 0 to 1.
    pub distance: f64,
    /// The value at which it occurs; the first one, if there are several.
    pub at: f64,
    /// The fraction of the first sample up to that value.
    pub first: f64,
    /// The fraction of the second sample up to that value.
    pub second: f64,
    /// The distance that two samples of these sizes from one distribution exceed one time in twenty (N. Smirnov, 1948:
    /// 1.358 times the square root of (n + m) / nm; accurate enough from a dozen each).
    pub by_chance: f64,
}

/// The distance between two samples; `None` if one of them is empty or contains a value that is not finite.
pub fn distance(first: &[f64], second: &[f64]) -> Option<Distance> {
    let sorted = |sample: &[f64]| {
        let mut sample = sample.to_vec();
        sample.sort_by(f64::total_cmp);
        (!sample.is_empty() && sample.iter().all(|value| value.is_finite())).then_some(sample)
    };
    let (first, second) = (sorted(first)?, sorted(second)?);
    let share = |sample: &[f64], at: f64| sample.partition_point(|value| *value <= at) as f64 / sample.len() as f64;
    let (n, m) = (first.len() as f64, second.len() as f64);
    let by_chance = 1.358 * ((n + m) / (n * m)).sqrt();
    let apart = first.iter().chain(&second).map(|at| {
        let (first, second) = (share(&first, *at), share(&second, *at));
        Distance { distance: (first - second).abs(), at: *at, first, second, by_chance }
    });
    // Of equal distances, take the one at the smaller value.
    apart.reduce(|a, b| match b.distance.total_cmp(&a.distance) {
        std::cmp::Ordering::Greater => b,
        std::cmp::Ordering::Equal if b.at < a.at => b,
        _ => a,
    })
}

/// The confidence interval of a Poisson mean after `seen` events: below it, a count this high would be too rare; above it, a
/// count this low (Garwood, Biometrika 1936).
pub fn poisson_interval(seen: u64, confidence: f64) -> (f64, f64) {
    // The probability of at most `number` events at this mean; by logarithms, since means may be large.
    let at_most = |number: u64, mean: f64| {
        let mut log_term = -mean;
        let mut sum = log_term.exp();
        for place in 1..=number {
            log_term += (mean / place as f64).ln();
            sum += log_term.exp();
        }
        sum
    };
    let solved = |number: u64, level: f64| {
        let (mut low, mut high) = (0.0, 10.0 + 4.0 * number as f64);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if at_most(number, middle) > level { low = middle } else { high = middle }
        }
        low
    };
    let tail = (1.0 - confidence) / 2.0;
    let least = seen.checked_sub(1).map_or(0.0, |fewer| solved(fewer, 1.0 - tail));
    (least, solved(seen, tail))
}

pub use crate::words::{duration, grouped};

/// A count and its noun: `1 run`, `3 runs`.
pub fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// A figure rounded to three decimals, for JSON.
pub fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::{distance, quantile};

    #[test]
    fn a_distance_is_where_the_shares_differ_most() {
        let far = distance(&[1.0, 2.0, 3.0, 4.0], &[3.5, 4.5, 5.5]).unwrap();
        // At 3, three of the first four have been passed, but none of the other three.
        assert_eq!((far.distance, far.at, far.first, far.second), (0.75, 3.0, 0.75, 0.0));
        let same = distance(&[2.0, 1.0, 2.0], &[1.0, 2.0, 2.0]).unwrap();
        assert_eq!(same.distance, 0.0);
        let apart = distance(&[1.0, 2.0], &[10.0, 11.0]).unwrap();
        assert_eq!((apart.distance, apart.at), (1.0, 2.0));
        let uneven = distance(&[1.0], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((uneven.distance, uneven.at), (0.75, 1.0));
        assert_eq!(distance(&[], &[1.0]), None);
        assert_eq!(distance(&[1.0], &[f64::NAN]), None);
    }

    #[test]
    fn what_chance_does_is_the_tables_value() {
        // Thirty against thirty: 0.3506 (1.358 / sqrt(15)).
        let sample: Vec<f64> = (0..30).map(f64::from).collect();
        let by_chance = distance(&sample, &sample).unwrap().by_chance;
        assert!((by_chance - 0.3506).abs() < 1e-4, "{by_chance}");
    }

    /// The order of the samples does not matter; shifting and scaling both changes nothing.
    #[test]
    fn a_distance_has_no_order_and_no_unit() {
        let mut state = 1_u64;
        let mut drawn = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        for _ in 0..200 {
            let (n, m) = (1 + drawn(40), 1 + drawn(40));
            let first: Vec<f64> = (0..n).map(|_| drawn(50) as f64).collect();
            let second: Vec<f64> = (0..m).map(|_| drawn(50) as f64).collect();
            let there = distance(&first, &second).unwrap();
            let back = distance(&second, &first).unwrap();
            assert_eq!((there.distance, there.at), (back.distance, back.at));
            assert!((0.0..=1.0).contains(&there.distance));
            let stretched = |sample: &[f64]| sample.iter().map(|value| value * 4.0 + 3.0).collect::<Vec<_>>();
            assert_eq!(there.distance, distance(&stretched(&first), &stretched(&second)).unwrap().distance);
        }
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[7.0], 0.95), Some(7.0));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 1.0), Some(4.0));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.0), Some(1.0));
    }
}
