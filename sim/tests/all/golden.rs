//! Golden histories: what happens in each scenario, as data under `seeds/golden`, reviewed as a diff; and digests of what
//! happens with the other protocols.
//!
//! A history names what happened at the protocol's boundary, and should survive a new version of a dependency; the trace's
//! hash need not. Client requests that went well are left out: they are many, and say nothing.

use crate::{
    common::{for_each_pair, root, run_with_history},
    shelf::Shelf,
};
use scenarios::Params;
use sim::run::Options;

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

#[test]
fn histories_are_as_they_were() {
    let shelf = Shelf::open(&root().join("seeds/golden"), ".jsonl");
    for_each_pair(|scenario, protocol| {
        // Requests are left out, and few of them make the same story.
        let params = Params { rate: 50, ..Params::default() };
        let plan = scenario.compile(&params, protocol, 42).expect("the default parameters make sense");
        let (_, history) = run_with_history(&plan, Options::default());
        shelf.look(scenario.name, protocol.name, &story(&history));
    });
    shelf.close();
}
