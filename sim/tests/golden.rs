//! Golden histories: what happens in each scenario with each protocol, as data under `seeds/golden`, reviewed as a diff.
//!
//! A history names what happened at the protocol's boundary, and should survive a new version of a dependency; the trace's
//! hash need not. Client requests that went well are left out: they are many, and say nothing.

#![cfg(madsim)]

mod common;

use common::{golden, named, pairs, root, run_with_history};
use sim::run::Options;

/// The lines that tell a story: everything but requests, and of the writes only the first of each incarnation and verdict.
fn story(history: &str) -> String {
    let mut seen = std::collections::BTreeSet::new();
    let mut story = String::new();
    for line in history.lines() {
        let event: serde_json::Value = serde_json::from_str(line).expect("a history is JSON lines");
        let field = |name: &str| event[name].to_string();
        match event["event"].as_str().unwrap_or_default() {
            "invoke" | "issue" | "reply" | "read-invoke" | "read-reply" => continue,
            "apply" => {
                let what = ["resource", "node", "epoch", "term", "verdict"].map(field);
                if seen.insert(what) {
                    story += line;
                    story.push('\n');
                }
            }
            _ => {
                story += line;
                story.push('\n');
            }
        }
    }
    story
}

#[test]
fn histories_are_as_they_were() {
    for (scenario, protocol) in pairs() {
        let (_, history) = run_with_history(&named(scenario.name, protocol.name, 42, true), Options::default());
        let file = root().join("seeds/golden").join(format!("{}-{}.jsonl", scenario.name, protocol.name));
        golden(&file, &story(&history));
    }
}
