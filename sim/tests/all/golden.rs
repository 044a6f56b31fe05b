//! Golden histories: what happens in each scenario with one protocol, as data under `seeds/golden`, reviewed as a diff. That
//! the other protocols behave as they did is held by the digests of their traces, `seeds/baseline/scenarios.runs`.
//!
//! A history names what happened at the protocol's boundary, and should survive a new version of a dependency; the trace's
//! hash need not. Client requests that went well are left out: they are many, and say nothing.

use crate::{
    common::{for_each_pair, root, run_with_history},
    shelf::Shelf,
};
use protocols::election;
use scenarios::{Params, Scenario};
use sim::run::Options;
use std::path::Path;

/// The lines that tell a story: everything but requests, of the writes only the first of each incarnation and verdict, and of
/// what they have deleted only the first of each incarnation.
/// There are millions of lines, so they are told apart without being read as JSON.
fn story(history: &str) -> String {
    let mut seen = std::collections::BTreeSet::new();
    let mut story = String::new();
    for line in history.lines() {
        let kind = between(line, "\"event\":\"", "\"").expect("a line says what happened");
        if ["invoke", "issue", "reply", "read-invoke", "read-reply"].contains(&kind) {
            continue;
        }
        let writer = || (between(line, "\"resource\":", ",\"seq\":"), between(line, "\"verdict\":\"", "\""));
        if !["apply", "deleted"].contains(&kind) || seen.insert(writer()) {
            story += line;
            story.push('\n');
        }
    }
    story
}

/// What stands between two texts.
fn between<'l>(line: &'l str, from: &str, to: &str) -> Option<&'l str> {
    let (_, rest) = line.split_once(from)?;
    rest.split_once(to).map(|(text, _)| text)
}

/// Whoever has a file of this scenario, or the first that could have one.
fn teller(folder: &Path, scenario: &Scenario) -> Option<&'static str> {
    let tellers = || election::ALL.into_iter().filter(|p| scenario.needs.met_by(p)).map(|p| p.name);
    let has_file = |teller: &&str| folder.join(format!("{}.{teller}.jsonl", scenario.name)).exists();
    tellers().find(has_file).or_else(|| tellers().min())
}

#[test]
fn histories_are_as_they_were() {
    let folder = root().join("seeds/golden");
    let shelf = Shelf::open(&folder, ".jsonl");
    for_each_pair(|scenario, protocol| {
        if teller(&folder, scenario) != Some(protocol.name) {
            return;
        }
        // Requests are left out, and few of them make the same story.
        let params = Params { rate: 50, ..Params::default() };
        let plan = scenario.compile(&params, protocol, 42).expect("the default parameters make sense");
        let (_, history) = run_with_history(&plan, Options::default());
        shelf.look(scenario.name, protocol.name, &story(&history));
    });
    shelf.close();
}
