//! The swarm's baseline names every coverage mark that stands in the sources, and no other.

use super::{SIMULATED, code, sources};
use sim::baseline::{Baseline, marks::rare};
use std::collections::BTreeSet;

/// The marks in a source.
fn marks(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().map(code).collect();
    let code = code.join("\n");
    let quoted = |after: &str| {
        let text = after.trim_start().strip_prefix('"')?.split('"').next()?;
        Some(text.to_owned())
    };
    code.split("mark!(").skip(1).filter_map(quoted).collect()
}

/// Every mark that a run can reach.
pub fn in_sources() -> BTreeSet<String> {
    let sources = sources(&SIMULATED).into_iter().filter(|(name, _)| name != "protocols/src/coverage.rs");
    sources.flat_map(|(_, text)| marks(&text)).collect()
}

#[test]
fn marks_are_found_wherever_they_stand() {
    let text = "// mark!(\"no\")\nif a { crate::mark!(\"one: here\") }\nx => protocols::mark!(\n  \"two: there\"\n),";
    assert_eq!(marks(text), ["one: here", "two: there"]);
}

#[test]
fn the_baseline_names_every_mark_in_the_sources() {
    let marks = in_sources();
    assert!(marks.len() > 100, "only {marks:#?}");
    let baseline = Baseline::committed_swarm().expect("it is a baseline");
    let named: BTreeSet<String> = baseline.marks().cloned().collect();
    let gone: Vec<_> = named.difference(&marks).collect();
    assert!(gone.is_empty(), "the baseline has marks that stand nowhere: {gone:#?}; record it anew, as below");
    let new: Vec<_> = marks.difference(&named).collect();
    assert!(
        new.is_empty(),
        "no baseline has these marks: {new:#?}; record it anew, `cargo run --release -- sweep swarm --seeds 0..20000 \
         --record-baseline seeds/baseline/swarm.json`, or say in sim/src/baseline/marks.rs why these runs reach none"
    );
}

#[test]
fn a_mark_is_told_from_other_shares_and_says_where_it_stands() {
    for mark in in_sources() {
        assert!(mark.contains(": ") && !mark.contains('\\'), "{mark}");
        assert!(!mark.starts_with("violates ") && !mark.contains(" above "), "{mark} is no mark among shares");
    }
}

#[test]
fn a_mark_that_no_recorded_run_reached_is_rare_for_a_reason() {
    let baseline = Baseline::committed_swarm().expect("it is a baseline");
    let reached: BTreeSet<_> = baseline.shares.values().flat_map(|of| of.keys()).collect();
    let never: Vec<_> = baseline.marks().filter(|mark| !reached.contains(mark) && rare(mark).is_none()).collect();
    assert!(never.is_empty(), "say why in sim/src/baseline/marks.rs: {never:#?}");
}
