//! What is recorded in `seeds/`: every regression plan gives its result, next to the story of why it is there; and
//! golden histories.

use crate::common::{for_each_pair, root, run, run_with_history};
use protocols::election;
use scenarios::{Case, Params, Plan, Registry, Scenario, capsule::Mended};
use sim::run::Options;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::Mutex,
};

/// A plan gives this verdict, violates exactly these invariants, and has these figures.
fn comes_to(name: &str, plan: &Plan, verdict: &str, violated: &[String], figures: &BTreeMap<String, f64>) {
    let run = run(plan);
    let seen: Vec<_> = run.judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.name).collect();
    assert_eq!(run.judgement.verdict.name(), verdict, "{name}: {seen:?}");
    assert_eq!(seen, violated, "{name}");
    let metrics = serde_json::to_value(&run.judgement.metrics).expect("figures are JSON");
    for (figure, value) in figures {
        assert_eq!(metrics[figure].as_f64(), Some(*value), "{name}: {figure}");
    }
}

#[test]
fn every_case_comes_to_what_it_did() {
    let mut files: Vec<_> = std::fs::read_dir(root().join("seeds"))
        .expect("there are seeds")
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "there are no cases");
    for file in files {
        let name = file.display();
        let text = std::fs::read_to_string(&file).expect("the case can be read");
        let case = Case::read(&text, &Registry::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(case.story.len() > 80, "{name}: tell the story");
        let (plan, name) = (case.plan, name.to_string());
        comes_to(&name, &plan, &case.verdict, &case.violated, &case.figures);
        assert_eq!(case.mended.is_some(), !plan.bugs.is_empty(), "{name}: say what it comes to without its bugs");
        if let Some(Mended { verdict, violated, figures }) = case.mended {
            let plan = Plan { bugs: Vec::new(), ..plan };
            comes_to(&format!("{name}, mended"), &plan, &verdict, &violated, &figures);
        }
    }
}

// Golden histories: the events of each scenario with one protocol, in `seeds/golden.jsonl`, for review as a diff. Changes in
// other protocols show in the digests of their traces, `seeds/baseline/scenarios.runs`.
//
// A history has the events at the protocol's boundary, and should survive a dependency's update; the trace's hash need
// not. Successful client requests are left out: they are many, and not interesting.

/// The interesting lines: everything but requests, with only the first write of each incarnation and verdict, and only
/// the first deletion of each incarnation. There are millions of lines, so they are filtered without parsing them as
/// JSON.
fn story(history: &str) -> String {
    let mut seen = BTreeSet::new();
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

/// The text between two markers.
fn between<'l>(line: &'l str, from: &str, to: &str) -> Option<&'l str> {
    let (_, rest) = line.split_once(from)?;
    rest.split_once(to).map(|(text, _)| text)
}

/// The histories of a file, by the scenario and the protocol that their headers name.
fn histories(text: &str) -> BTreeMap<(&str, &str), String> {
    let mut told = BTreeMap::new();
    let mut of = None;
    for line in text.lines() {
        if line.starts_with("{\"event\":\"header\"") {
            of = between(line, "\"scenario\":\"", "\"").zip(between(line, "\"protocol\":\"", "\""));
        }
        let story: &mut String = told.entry(of.expect("a history begins with its header")).or_default();
        story.push_str(line);
        story.push('\n');
    }
    told
}

/// The protocol whose history is kept for this scenario, or the first whose could be.
fn teller(kept: &BTreeMap<(&str, &str), String>, scenario: &Scenario) -> Option<&'static str> {
    let tellers = || election::ALL.into_iter().filter(|p| scenario.needs.met_by(p)).map(|p| p.name);
    tellers().find(|name| kept.contains_key(&(scenario.name, *name))).or_else(|| tellers().min())
}

/// The first line that differs between two texts.
fn difference(was: &str, is: &str) -> Option<String> {
    if was == is {
        return None;
    }
    let mut lines = was.lines().zip(is.lines()).enumerate();
    Some(match lines.find(|(_, (was, is))| was != is) {
        Some((place, (was, is))) => format!("line {} was\n{was}\nand is\n{is}", place + 1),
        None => format!("it had {} lines, and has {}", was.lines().count(), is.lines().count()),
    })
}

#[test]
fn histories_are_as_they_were() {
    let file = root().join("seeds/golden.jsonl");
    let text = fs::read_to_string(&file).expect("the histories");
    let kept = histories(&text);
    let told = Mutex::new(BTreeMap::new());
    for_each_pair(|scenario, protocol| {
        if teller(&kept, scenario) == Some(protocol.name) {
            // Requests are left out, so a low rate gives the same story.
            let params = Params { rate: 50, ..Params::default() };
            let plan = scenario.compile(&params, protocol, 42).expect("the default parameters make sense");
            let (_, history) = run_with_history(&plan, Options::default());
            told.lock().expect("nobody panicked").insert((scenario.name, protocol.name), story(&history));
        }
    });
    let told = told.into_inner().expect("nobody panicked");
    if std::env::var_os("FENCEPOST_UPDATE").is_some() {
        fs::write(file, told.into_values().collect::<String>()).expect("it can be written");
        return;
    }
    let changed = |((scenario, protocol), story): (&(&str, &str), &String)| {
        let was = kept.get(&(*scenario, *protocol)).map_or("", String::as_str);
        difference(was, story).map(|difference| format!("{scenario} by {protocol}: {difference}"))
    };
    let changed: Vec<String> = told.iter().filter_map(changed).collect();
    assert!(changed.is_empty(), "FENCEPOST_UPDATE=1 writes them anew:\n{}", changed.join("\n"));
    let untold: Vec<_> = kept.keys().filter(|of| !told.contains_key(*of)).collect();
    assert!(untold.is_empty(), "no scenario has these histories: {untold:?}");
}
