//! A sweep's outcome for CI systems, in the XML that JUnit's reporters made common: a test case per scenario and protocol.

use crate::sweep::{Failure, Outcome};
use std::fmt::Write;

/// The outcome as a document; `seconds` is how long it all took.
pub fn document(outcome: &Outcome, seconds: f64) -> String {
    let (tests, mut cases, mut failed) = (outcome.cells.len(), String::new(), 0);
    for cell in &outcome.cells {
        let is_its = |f: &&Failure| f.scenario == cell.scenario && f.protocol == cell.protocol;
        let failures: Vec<&Failure> = outcome.failures.iter().filter(is_its).collect();
        let (class, name) = (escape(&cell.scenario), escape(&cell.protocol));
        // Writing to a String cannot fail.
        let _ = write!(cases, "    <testcase classname=\"fencepost.{class}\" name=\"{name}: {} runs\"", cell.runs);
        if failures.is_empty() {
            cases.push_str("/>\n");
            continue;
        }
        failed += 1;
        let _ =
            write!(cases, ">\n      <failure message=\"{} of {} runs broke a promise\">", failures.len(), cell.runs);
        for failure in failures {
            let _ = writeln!(cases, "seed {}: {} | {}", failure.seed, escape(&failure.why), escape(&failure.repro));
        }
        cases.push_str("</failure>\n    </testcase>\n");
    }
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
    format!(
        "{head}  <testsuite name=\"fencepost sweep\" tests=\"{tests}\" failures=\"{failed}\" time=\"{seconds:.3}\">\n{cases}  \
         </testsuite>\n</testsuites>\n"
    )
}

/// Text as it may stand in XML, in an attribute too.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML has no way to write most control characters.
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Cell;

    #[test]
    fn a_failed_cell_names_its_seeds_and_nothing_breaks_the_markup() {
        let cell = |protocol: &str| Cell {
            scenario: "gc-pause".into(),
            protocol: protocol.into(),
            runs: 2,
            ..Cell::default()
        };
        let failure = Failure {
            scenario: "gc-pause".into(),
            protocol: "a".into(),
            seed: 7,
            fencing: true,
            verdict: "safety".into(),
            why: "1 < 2 & \"so\" on\u{1}".into(),
            trace_hash: String::new(),
            repro: "cargo run".into(),
            artifacts: None,
            plan: None,
        };
        let outcome = Outcome { cells: vec![cell("a"), cell("b")], failures: vec![failure] };
        let text = document(&outcome, 1.5);
        assert!(text.contains("tests=\"2\" failures=\"1\" time=\"1.500\""), "{text}");
        assert!(text.contains("seed 7: 1 &lt; 2 &amp; &quot;so&quot; on  | cargo run"), "{text}");
        assert_eq!(
            text.matches("<testcase").count(),
            text.matches("</testcase>").count() + text.matches("\"/>").count()
        );
    }
}
