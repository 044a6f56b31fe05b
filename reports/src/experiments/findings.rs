//! The findings: a text written by hand with places for numbers in it.
//!
//! | place | becomes |
//! |---|---|
//! | `{{only PATTERN FIGURE FORMAT}}` | a number; also `sum`, `max`, `min`, and `cells`: how many have it |
//! | `{{table PATTERN \| HEADING = FIGURE:FORMAT \| …}}` | a table with a row for each cell |
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
        [how, pattern, figure, format] => {
            // A variant's name may have spaces in it.
            tables::written(tables::value(numbers, how, &pattern.replace('+', " "), figure)?, format)
        }
        _ => Err(format!("`{place}` is no place")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
