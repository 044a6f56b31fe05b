//! A sweep's outcome for CI systems, in JUnit's XML: a test case per scenario and protocol.

use reports::statistics::count;
use sim::{
    outcome::Failure,
    sweep::{Cell, Outcome},
};
use std::fmt::Write;

/// The outcome as a document; `seconds` is the duration of the sweep. A cell with an inconclusive run and no broken one
/// counts as skipped.
pub fn document(outcome: &Outcome, seconds: f64) -> String {
    let (tests, mut cases, mut failed, mut skipped) = (outcome.cells.len(), String::new(), 0, 0);
    for cell in &outcome.cells {
        let [failures, inconclusive] = [&outcome.failures, &outcome.inconclusive].map(|all| of(cell, all));
        let (class, name) = (escape(&cell.scenario), escape(&cell.protocol));
        let runs = format!("{}, {}", count(u64::from(cell.nodes), "node"), count(cell.runs, "run"));
        // Writing to a String cannot fail.
        let _ = write!(cases, "    <testcase classname=\"fencepost.{class}\" name=\"{name}: {runs}\"");
        let (tag, what, listed) = match (failures.is_empty(), inconclusive.is_empty()) {
            (true, true) => {
                cases.push_str("/>\n");
                continue;
            }
            (false, _) => ("failure", "broke a promise", failures),
            (true, false) => ("skipped", "inconclusive", inconclusive),
        };
        *(if tag == "failure" { &mut failed } else { &mut skipped }) += 1;
        let of_all = format!("{} of {}", listed.len(), count(cell.runs, "run"));
        let _ = write!(cases, ">\n      <{tag} message=\"{of_all} {what}\">");
        for failure in listed {
            let _ = writeln!(cases, "seed {}: {} | {}", failure.seed, escape(&failure.why), escape(&failure.repro));
        }
        let _ = write!(cases, "</{tag}>\n    </testcase>\n");
    }
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
    format!(
        "{head}  <testsuite name=\"fencepost sweep\" tests=\"{tests}\" failures=\"{failed}\" skipped=\"{skipped}\" \
         time=\"{seconds:.3}\">\n{cases}  </testsuite>\n</testsuites>\n"
    )
}

/// The failures of one cell.
fn of<'a>(cell: &Cell, all: &'a [Failure]) -> Vec<&'a Failure> {
    let is_its = |f: &&Failure| (&f.scenario, &f.protocol, f.nodes) == (&cell.scenario, &cell.protocol, cell.nodes);
    all.iter().filter(is_its).collect()
}

/// Escapes text for XML, attributes included.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML cannot represent most control characters.
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::outcome::Ended;

    #[test]
    fn a_failed_cell_names_its_seeds_and_nothing_breaks_the_markup() {
        let cell = |protocol: &str| Cell {
            scenario: "gc-pause".into(),
            protocol: protocol.into(),
            nodes: 3,
            runs: 2,
            ..Cell::default()
        };
        let failure = |protocol: &str, outcome| Failure {
            scenario: "gc-pause".into(),
            protocol: protocol.into(),
            nodes: 3,
            seed: 7,
            fencing: true.into(),
            outcome,
            verdict: "safety".into(),
            violated: Vec::new(),
            why: "1 < 2 & \"so\" on\u{1}".into(),
            trace_hash: String::new(),
            repro: "cargo run".into(),
            artifacts: None,
            cause: None,
            plan: None,
        };
        let failures = vec![failure("a", Ended::Broken)];
        let inconclusive = vec![failure("a", Ended::Inconclusive), failure("b", Ended::Inconclusive)];
        let cells = vec![cell("a"), cell("b"), cell("c")];
        let text = document(&Outcome { cells, failures, inconclusive, ..Outcome::default() }, 1.5);
        assert!(text.contains("tests=\"3\" failures=\"1\" skipped=\"1\" time=\"1.500\""), "{text}");
        assert!(text.contains("<failure message=\"1 of 2 runs broke a promise\">seed 7: 1 &lt; 2"), "{text}");
        assert!(text.contains("<skipped message=\"1 of 2 runs inconclusive\">seed 7"), "{text}");
        assert!(text.contains("&amp; &quot;so&quot; on  | cargo run"), "{text}");
        assert_eq!(
            text.matches("<testcase").count(),
            text.matches("</testcase>").count() + text.matches("\"/>").count()
        );
    }
}
