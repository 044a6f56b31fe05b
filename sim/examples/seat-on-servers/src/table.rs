//! Durations in tables of Markdown.

use std::time::Duration;

/// The duration below which this share of them lies.
pub fn quantile(durations: &mut [Duration], share: f64) -> Duration {
    durations.sort();
    let place = (durations.len() as f64 * share).ceil() as usize;
    durations.get(place.saturating_sub(1)).copied().unwrap_or_default()
}

/// The cells of a row: how many, the median, the 95th percentile and the longest, in seconds.
pub fn cells(mut durations: Vec<Duration>) -> String {
    let count = durations.len();
    let [half, most, all] = [0.5, 0.95, 1.0].map(|share| quantile(&mut durations, share).as_secs_f64());
    format!("{count} | {half:.2} | {most:.2} | {all:.2}")
}

/// Digits in groups of three.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let (head, rest) = digits.split_at(first);
    let groups = rest.as_bytes().chunks(3).map(String::from_utf8_lossy);
    let all: Vec<_> = [head.into()].into_iter().chain(groups).filter(|group| !group.is_empty()).collect();
    all.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_the_durations_there_are() {
        let mut durations: Vec<_> = (1..=100).rev().map(Duration::from_secs).collect();
        assert_eq!(quantile(&mut durations, 0.5), Duration::from_secs(50));
        assert_eq!(quantile(&mut durations, 1.0), Duration::from_secs(100));
        assert_eq!(quantile(&mut [], 0.5), Duration::ZERO);
        assert_eq!(cells(durations), "100 | 50.00 | 95.00 | 100.00");
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!([7, 1_000, 123_456].map(grouped), ["7", "1,000", "123,456"]);
    }
}
