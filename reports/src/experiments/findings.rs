//! The findings: a text written by hand with places for numbers in it.
//!
//! | place | becomes |
//! |---|---|
//! | `{{only PATTERN FIGURE FORMAT}}` | a number; also `sum`, `max`, `min`, and `cells`: how many have it |
//! | `{{table PATTERN \| HEADING = FIGURE:FORMAT \| …}}` | a table with a row for each cell |
//! | `{{counts PATTERN PATTERN}}` | failovers that pauses caused, of one cell and another, and whether they differ |
//! | `{{refusals EXPERIMENT N}}` | at most N refused writes of each protocol's first run with one |
//! | `{{slo}}` | the table of objectives |
//!
//! Patterns and figures are those of [`Numbers::matching`] and [`Cell::figure`](super::Cell::figure).

use super::{numbers::Numbers, slo, tables};

/// What stands before the text, so that nobody edits what is generated.
const HEAD: &str = "<!-- Written by `fencepost experiments` from reports/experiments/FINDINGS.in.md; edit that. -->\n";

/// The text with its numbers.
///
/// # Errors
/// A place names what was not measured, or is no place at all: one sentence with its line.
pub fn render(template: &str, numbers: &Numbers) -> Result<String, String> {
    let mut text = HEAD.to_owned();
    for (line, content) in template.lines().enumerate() {
        let mut rest = content;
        while let Some((before, after)) = rest.split_once("{{") {
            let wrong = |why: String| format!("the findings, line {}: {why}", line + 1);
            let (place, behind) = after.split_once("}}").ok_or_else(|| wrong("a place has no end".to_owned()))?;
            text += before;
            text += &filled(place, numbers).map_err(wrong)?;
            rest = behind;
        }
        text += rest;
        text.push('\n');
    }
    Ok(text)
}

fn filled(place: &str, numbers: &Numbers) -> Result<String, String> {
    if let Some(table) = place.strip_prefix("table ") {
        let mut parts = table.split('|').map(str::trim);
        let pattern = parts.next().unwrap_or_default();
        return tables::table(numbers, pattern, &parts.collect::<Vec<_>>());
    }
    match place.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["slo"] => slo::table(numbers),
        ["refusals", experiment, most] => {
            let most = most.parse().map_err(|_| format!("`{most}` is no number"))?;
            tables::refusals(numbers, experiment, most)
        }
        ["counts", first, second] => {
            let count = |pattern: &str, figure| tables::value(numbers, "only", &pattern.replace('+', " "), figure);
            let [one, other] = [count(first, "pause_failovers")?, count(second, "pause_failovers")?];
            let minutes = [count(first, "paused_minutes")?, count(second, "paused_minutes")?];
            if minutes[0] != minutes[1] {
                return Err(format!("`{first}` and `{second}` were counted over different times"));
            }
            Ok(against(one as u64, other as u64))
        }
        [how, pattern, figure, format] => {
            // A variant's name may have spaces in it.
            tables::written(tables::value(numbers, how, &pattern.replace('+', " "), figure)?, format)
        }
        _ => Err(format!("`{place}` is no place")),
    }
}

/// Two counts over equal times, and what the exact conditional test of two Poisson rates says (Przyborowski and Wilenski,
/// Biometrika 1940): given their sum, the first is binomial with ½.
fn against(one: u64, other: u64) -> String {
    let p = same_rate(one, other);
    let p_text = if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") };
    let verdict = if p < 0.05 { "significant" } else { "not significant" };
    format!("{one} to {other} ({p_text}, {verdict})")
}

/// How likely two counts over equal times are at least so far apart when their rates are the same, 0 to 1.
fn same_rate(one: u64, other: u64) -> f64 {
    let n = one + other;
    // Term by term, in logarithms: 2⁻ⁿ alone may be too small a number.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for k in 0..=one.min(other) {
        tail += log_term.exp();
        log_term += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_a_few_events_is_not_significant() {
        assert_eq!(against(7, 2), "7 to 2 (p = 0.180, not significant)");
        assert_eq!(against(13, 2), "13 to 2 (p = 0.007, significant)");
        assert_eq!(against(0, 0), "0 to 0 (p = 1.000, not significant)");
        assert!(against(2_000, 1_000).contains("p < 0.001, significant"));
    }
    use crate::experiments::numbers::{Cell, SCHEMA};

    #[test]
    fn places_are_filled_and_mistakes_have_a_line() {
        let mut cell = Cell { experiment: 4, scenario: "gc-pause".into(), protocol: "raft".into(), ..Cell::default() };
        cell.variant = "no pre-vote".to_owned();
        cell.count([("writes_fenced", 1_234)]);
        let numbers = Numbers { schema: SCHEMA, cells: vec![cell], refusals: Vec::new() };
        let text = render(
            "Refused: {{only 4/gc-pause/raft/no+pre-vote writes_fenced n}} writes, {{cells 4/*/*/* writes_fenced n}}.",
            &numbers,
        );
        assert_eq!(text.as_deref(), Ok(&*format!("{HEAD}Refused: 1,234 writes, 1.\n")));
        let wrong = render("fine\n{{only 5 writes_fenced n}}", &numbers).unwrap_err();
        assert_eq!(wrong, "the findings, line 2: `5` has no `writes_fenced`");
        assert!(render("{{only", &numbers).unwrap_err().ends_with("a place has no end"));
        assert!(render("{{nothing}}", &numbers).unwrap_err().ends_with("`nothing` is no place"));
    }
}
