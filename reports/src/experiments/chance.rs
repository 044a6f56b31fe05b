//! What so few runs can show, and what chance alone would do.

use super::{
    numbers::{Cell, Numbers},
    tables::written,
};

/// With which confidence the limits below hold.
const CONFIDENCE: f64 = 0.95;

/// The largest share of runs that may still go wrong when none of `n` did, with a confidence of 95 %: the one-sided exact limit
/// of Clopper and Pearson (Biometrika 1934), which for no event is 1 − 0.05^(1/n).
pub(super) fn limit(n: f64) -> String {
    format!("{:.1} %", 100.0 * (1.0 - (1.0 - CONFIDENCE).powf(1.0 / n)))
}

/// How many values it takes, all below a target, to show with a confidence of 95 % that this percentile is.
pub(super) fn enough(percentile: f64) -> f64 {
    ((1.0 - CONFIDENCE).ln() / (percentile / 100.0).ln()).ceil()
}

/// How likely a binomial count of `n` trials with chance `p` is in `from..=to`, 0 to 1.
fn binomial(n: u64, p: f64, from: u64, to: u64) -> f64 {
    let mut log_term = n as f64 * (1.0 - p).ln();
    let mut sum = 0.0;
    for k in 0..=to.min(n) {
        if k >= from {
            sum += log_term.exp();
        }
        log_term += ((n - k) as f64).ln() - ((k + 1) as f64).ln() + (p / (1.0 - p)).ln();
    }
    sum.min(1.0)
}

/// How likely it is at most that fair draws give some candidate of some run so few turns as the fewest, or so many as the most
/// (Boole's inequality over candidates and both ends).
fn by_chance(cell: &Cell) -> Option<f64> {
    let wins = cell.spreads.get("wins")?;
    let (runs, candidates) = (cell.runs, wins.n / cell.runs.max(1));
    let each = cell.figure("elections")? as u64 / runs.max(1);
    let p = 1.0 / candidates as f64;
    // The rarer of the two ends, counted twice for having been chosen.
    let rarer = binomial(each, p, 0, wins.least as u64).min(binomial(each, p, wins.most as u64, each));
    Some((2.0 * wins.n as f64 * rarer).min(1.0))
}

/// A table of turns: who had fewest and most, and whether fair draws would come to that.
pub(super) fn turns(numbers: &Numbers, pattern: &str) -> Result<String, String> {
    let mut text = "| protocol | elections | turns of a candidate in a run: fewest; most | such a spread by fair draws, at most |\n|---|---:|---:|---:|"
        .to_owned();
    let mut any = false;
    for cell in numbers.matching(pattern) {
        let (Some(wins), Some(chance)) = (cell.spreads.get("wins"), by_chance(cell)) else { continue };
        any = true;
        let elections = written(cell.figure("elections").unwrap_or_default(), "n")?;
        let (fewest, most) = (written(wins.least, "n")?, written(wins.most, "n")?);
        text += &format!("\n| {} | {elections} | {fewest}; {most} | {} |", cell.protocol, share(chance));
    }
    if any { Ok(text) } else { Err(format!("`{pattern}` has no turns")) }
}

fn share(p: f64) -> String {
    if p < 0.0001 { "below 0.01 %".to_owned() } else { format!("{:.2} %", p * 100.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::numbers::{SCHEMA, Spread};

    #[test]
    fn limits_are_those_of_the_tables() {
        assert_eq!([limit(40.0), limit(20.0), limit(300.0)], ["7.2 %", "13.9 %", "1.0 %"]);
        assert_eq!([enough(99.0), enough(95.0)], [299.0, 59.0]);
        assert!((binomial(10, 0.5, 0, 2) - 56.0 / 1024.0).abs() < 1e-12);
        assert!((binomial(10, 0.5, 0, 10) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_preference_is_no_chance_and_a_fair_spread_is() {
        let cell = |protocol: &str, wins: Vec<f64>| {
            let mut cell = Cell { experiment: 6, scenario: "churn".into(), runs: 1, ..Cell::default() };
            cell.protocol = protocol.to_owned();
            cell.count([("elections", wins.iter().sum::<f64>() as u64)]);
            cell.spreads.extend(Spread::of(wins).map(|spread| ("wins".to_owned(), spread)));
            cell
        };
        let cells = vec![cell("fair", vec![9.0, 11.0, 10.0]), cell("unfair", vec![0.0, 1.0, 29.0])];
        let numbers = Numbers { schema: SCHEMA, cells, ..Numbers::default() };
        let text = turns(&numbers, "6/churn").unwrap();
        assert!(text.contains("| fair | 30 | 9; 11 | 100.00 % |"), "{text}");
        assert!(text.contains("| unfair | 30 | 0; 29 | 0.01 % |") || text.contains("| 0; 29 | below"), "{text}");
        assert!(turns(&numbers, "7").is_err());
    }
}
