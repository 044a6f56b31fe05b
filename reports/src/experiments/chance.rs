//! Statistics: what so few runs can show, and what chance alone would produce.

use super::{
    numbers::{CONFIDENCE, Cell, Numbers},
    tables::{value, written},
};

/// The highest failure rate compatible with no failure in `n` runs, with a confidence of 95 %: the one-sided exact
/// limit of Clopper and Pearson (Biometrika 1934), which for no event is 1 − 0.05^(1/n).
pub(super) fn limit(n: f64) -> String {
    format!("{:.1} %", 100.0 * (1.0 - (1.0 - CONFIDENCE).powf(1.0 / n)))
}

/// How many values, all below a target, show with a confidence of 95 % that this percentile is below it.
pub(super) fn enough(percentile: f64) -> f64 {
    ((1.0 - CONFIDENCE).ln() / (percentile / 100.0).ln()).ceil()
}

/// The probability that a binomial count of `n` trials with probability `p` is in `from..=to`.
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

/// The 95 % confidence interval of a proportion after `seen` of `n` (Clopper and Pearson).
fn share_between(seen: u64, n: u64) -> (f64, f64) {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let solved = |falls: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (1e-12, 1.0 - 1e-12);
        for _ in 0..50 {
            let middle = (low + high) / 2.0;
            if falls(middle) { high = middle } else { low = middle }
        }
        low
    };
    let least = if seen == 0 { 0.0 } else { solved(&|p| binomial(n, p, seen, n) > tail) };
    let most = if seen == n { 1.0 } else { solved(&|p| binomial(n, p, 0, seen) < tail) };
    (least, most)
}

/// The ratio of the rates of failovers without a crash in two cells, with its 95 % confidence interval, whatever the
/// rates: given the total of both, the first cell's count is binomial.
pub(super) fn ratio(numbers: &Numbers, [one, other]: [&str; 2]) -> Result<[f64; 3], String> {
    let figure = |pattern: &str, name| value(numbers, "only", &pattern.replace('+', " "), name);
    let [seen, others] = [figure(one, "pause_failovers")?, figure(other, "pause_failovers")?];
    let longer = figure(other, "paused_minutes")? / figure(one, "paused_minutes")?;
    let (least, most) = share_between(seen as u64, (seen + others) as u64);
    let odds = |share: f64| share / (1.0 - share) * longer;
    Ok([seen / others * longer, odds(least), odds(most)])
}

/// Empty if the first rate is above the second with a confidence of 95 %, as the text claims; otherwise an error.
pub(super) fn surely(numbers: &Numbers, cells: [&str; 2]) -> Result<String, String> {
    let [_, least, _] = ratio(numbers, cells)?;
    let [one, other] = cells;
    if least > 1.0 {
        return Ok(String::new());
    }
    Err(format!("the numbers do not show that `{one}` has failovers more often than `{other}`: mend the text"))
}

/// An upper bound of the probability that fair draws give some candidate in some run as few turns as the fewest, or as
/// many as the most (Boole's inequality over candidates and both ends).
fn by_chance(cell: &Cell) -> Option<f64> {
    let wins = cell.spreads.get("wins")?;
    let (runs, candidates) = (cell.runs, wins.n / cell.runs.max(1));
    let each = cell.figure("elections")? as u64 / runs.max(1);
    let p = 1.0 / candidates as f64;
    // The rarer of the two ends, doubled because it was chosen.
    let rarer = binomial(each, p, 0, wins.least as u64).min(binomial(each, p, wins.most as u64, each));
    Some((2.0 * wins.n as f64 * rarer).min(1.0))
}

/// A table of turns: the fewest, the most, and whether fair draws would produce them.
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
    fn a_ratio_of_rates_is_as_sure_as_the_events_allow() {
        // From tables of exact limits: 7 of 9 is 0.40 to 0.972, 0 of 10 at most 0.308.
        let (least, most) = share_between(7, 9);
        assert!((least - 0.3999).abs() < 1e-3 && (most - 0.9719).abs() < 1e-3, "{least} {most}");
        assert!((share_between(0, 10).1 - 0.3085).abs() < 1e-3);
        let cell = |protocol: &str, failovers, minutes| {
            let mut cell = Cell { experiment: 2, scenario: "ttl-sweep".into(), ..Cell::default() };
            cell.protocol = protocol.to_owned();
            cell.count([("pause_failovers", failovers), ("paused_minutes", minutes)]);
            cell
        };
        let cells = vec![cell("few", 2, 90), cell("more", 7, 90), cell("many", 700, 9_000), cell("half", 350, 9_000)];
        let numbers = Numbers { schema: SCHEMA, cells, ..Numbers::default() };
        let of = |one: &str, other: &str| surely(&numbers, [&format!("2/*/{one}"), &format!("2/*/{other}")]);
        assert!(of("more", "few").unwrap_err().contains("do not show"));
        assert_eq!(of("many", "half").as_deref(), Ok(""));
        assert!(of("half", "many").is_err());
        let [times, least, most] = ratio(&numbers, ["2/*/many", "2/*/half"]).unwrap();
        assert!(times == 2.0 && least > 1.7 && most < 2.3, "{times} {least} {most}");
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
