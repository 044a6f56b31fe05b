//! Renders the findings: a hand-written text with placeholders for numbers.
//!
//! | placeholder | becomes |
//! |---|---|
//! | `{{only PATTERN FIGURE FORMAT}}` | a number; also `sum`, `max`, `min`, and `cells`: how many cells have it |
//! | `{{table PATTERN \| HEADING = FIGURE:FORMAT \| …}}` | a table with a row for each cell |
//! | `{{each PATTERN FIGURE FORMAT}}` | the figure of each cell, separated by commas |
//! | `{{names PATTERN FIGURE}}`, `{{nameless …}}` | the protocols whose figure is above 0, or is 0 |
//! | `{{limit PATTERN FIGURE}}` | the highest rate compatible with zero events in that many runs |
//! | `{{times PATTERN PATTERN}}` | the ratio of the two cells' rates of failovers without a crash, with its interval |
//! | `{{surely PATTERN PATTERN}}` | nothing; an error if the first rate is not surely above the second |
//! | `{{enough PERCENTILE}}` | how many values below a target show that this percentile is below it |
//! | `{{turns PATTERN}}` | a table of turns in churn, and whether fair draws would produce them |
//! | `{{commits}}` | a table: which commit measured which experiment |
//! | `{{refusals EXPERIMENT N}}` | at most N refused writes of each protocol's first run with one |
//! | `{{slo}}` | the table of objectives |
//!
//! Patterns and figures are those of [`Numbers::matching`] and [`Cell::figure`](super::Cell::figure).

use super::{chance, numbers::Numbers, slo, tables};
use std::collections::BTreeMap;

/// The first line of the output, so that nobody edits the generated file.
const HEAD: &str = "<!-- Written by `fencepost experiments` from reports/experiments/FINDINGS.in.md; edit that. -->\n";

/// A placeholder of the template that cannot be filled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the findings, line {line}: {why}")]
pub struct Unfilled {
    /// The line, from 1.
    pub line: usize,
    /// Which figure was not measured, or what is not a placeholder.
    pub why: String,
}

/// Fills in the numbers.
///
/// # Errors
/// A placeholder is unknown, or names something that was not measured: one sentence with its line.
pub fn render(template: &str, numbers: &Numbers) -> Result<String, Unfilled> {
    let mut text = HEAD.to_owned();
    for (line, content) in template.lines().enumerate() {
        let mut rest = content;
        while let Some((before, after)) = rest.split_once("{{") {
            let wrong = |why: String| Unfilled { line: line + 1, why };
            let (place, behind) =
                after.split_once("}}").ok_or_else(|| wrong("a placeholder is not closed".to_owned()))?;
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
        ["commits"] => commits(numbers),
        ["turns", pattern] => chance::turns(numbers, pattern),
        ["limit", pattern, figure] => {
            Ok(chance::limit(tables::value(numbers, "only", &pattern.replace('+', " "), figure)?))
        }
        ["surely", one, other] => chance::surely(numbers, [one, other]),
        ["times", one, other] => {
            let [times, least, most] = chance::ratio(numbers, [one, other])?.map(|ratio| format!("{ratio:.2}"));
            Ok(format!("{times} ({least} to {most})"))
        }
        ["enough", percentile] => {
            let percentile = percentile.parse().map_err(|_| format!("`{percentile}` is no number"))?;
            tables::written(chance::enough(percentile), "n")
        }
        ["names", pattern, figure] => tables::names(numbers, pattern, figure, |value| value > 0.0),
        ["nameless", pattern, figure] => tables::names(numbers, pattern, figure, |value| value == 0.0),
        ["each", pattern, figure, format] => tables::each(numbers, pattern, figure, format),
        [how, pattern, figure, format] => {
            // A variant's name may contain spaces, written as `+`.
            tables::written(tables::value(numbers, how, &pattern.replace('+', " "), figure)?, format)
        }
        _ => Err(format!("unknown placeholder `{place}`")),
    }
}

/// A table of the commits that measured each experiment; experiments with the same commits share a row.
fn commits(numbers: &Numbers) -> Result<String, String> {
    let mut rows: Vec<(Vec<String>, &BTreeMap<String, String>)> = Vec::new();
    for (experiment, parts) in &numbers.commits {
        match rows.iter_mut().find(|(_, known)| *known == parts) {
            Some((experiments, _)) => experiments.push(experiment.to_string()),
            None => rows.push((vec![experiment.to_string()], parts)),
        }
    }
    let part = |(part, commit): (&String, &String)| match part.split_once('/') {
        _ if part.is_empty() => format!("`{commit}`"),
        Some((scenario, protocol)) => format!("its `{scenario}` with `{protocol}`: `{commit}`"),
        None => format!("its `{part}`: `{commit}`"),
    };
    let row = |(experiments, parts): &(Vec<String>, &BTreeMap<String, String>)| {
        let told: Vec<String> = parts.iter().map(part).collect();
        format!("| {} | {} |", experiments.join(", "), told.join("; "))
    };
    let head = "| experiment | measured by the commit |\n|---|---|";
    match rows.is_empty() {
        true => Err("no commit is known".to_owned()),
        false => Ok(std::iter::once(head.to_owned()).chain(rows.iter().map(row)).collect::<Vec<_>>().join("\n")),
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
        let numbers = Numbers { schema: SCHEMA, cells: vec![cell], ..Numbers::default() };
        let text = render(
            "Refused: {{only 4/gc-pause/raft/no+pre-vote writes_fenced n}} writes, {{cells 4/*/*/* writes_fenced n}}.",
            &numbers,
        );
        assert_eq!(text.as_deref(), Ok(&*format!("{HEAD}Refused: 1,234 writes, 1.\n")));
        let wrong = render("fine\n{{only 5 writes_fenced n}}", &numbers).unwrap_err();
        assert_eq!(wrong.to_string(), "the findings, line 2: `5` has no `writes_fenced`");
        let mut numbers = numbers;
        assert!(render("{{commits}}", &numbers).unwrap_err().why.ends_with("no commit is known"));
        let whole = |commit: &str| BTreeMap::from([(String::new(), commit.to_owned())]);
        numbers.commits.extend([(1, "aa"), (3, "aa"), (4, "bb"), (5, "aa")].map(|(n, commit)| (n, whole(commit))));
        numbers.commits.get_mut(&4).unwrap().insert("steady/raft".to_owned(), "cc".to_owned());
        let text = render("{{commits}}", &numbers).unwrap();
        let rows = "|---|---|\n| 1, 3, 5 | `aa` |\n| 4 | `bb`; its `steady` with `raft`: `cc` |\n";
        assert!(text.ends_with(rows), "{text}");
        assert!(render("{{only", &numbers).unwrap_err().why.ends_with("a placeholder is not closed"));
        assert!(render("{{nothing}}", &numbers).unwrap_err().why.ends_with("unknown placeholder `nothing`"));
    }
}
