//! The page on formats matches what the code reads and writes.

use super::page::Page;
use protocols::history::json::Reader;
use scenarios::{Capsule, fault::Fault, plan::Plan};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{collections::BTreeSet, process::Command};

fn page() -> Page {
    Page::read("docs/formats.md")
}

/// The names that reading `T` would accept, from its error about `wrong`.
fn known<T: DeserializeOwned>(wrong: &str) -> BTreeSet<String> {
    let error = serde_json::from_str::<T>(wrong).err().expect("it is refused").to_string();
    let (_, list) = error.split_once("expected one of ").unwrap_or_else(|| panic!("{error}"));
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn assert_documented(what: &str, names: &BTreeSet<String>, documented: &BTreeSet<String>) {
    let missing: Vec<_> = names.difference(documented).collect();
    assert!(missing.is_empty(), "docs/formats.md does not say what these are, of {what}: {missing:?}");
}

#[test]
fn the_plan_of_the_page_is_read_and_every_field_is_explained() {
    let page = page();
    let plan = Plan::from_json(&page.blocks["json plan"]).expect("the example is a plan");
    assert_eq!((plan.scenario.as_str(), plan.seed), ("gc-pause", 42));
    let firsts = page.firsts();
    assert_documented("a plan", &known::<Plan>("{\"zz\":1}"), &firsts);
    assert_documented("a capsule", &known::<Capsule>("{\"zz\":1}"), &firsts);
    for (field, inside) in [
        ("timings", known::<scenarios::plan::Timings>("{\"zz\":1}")),
        ("candidates", known::<scenarios::plan::Candidate>("{\"zz\":1}")),
        ("load", known::<scenarios::plan::Load>("{\"zz\":1}")),
        ("network", known::<scenarios::plan::Network>("{\"zz\":1}")),
        ("faults", known::<scenarios::fault::PlannedFault>("{\"zz\":1}")),
    ] {
        assert_documented(field, &inside, &page.words(field, 1));
    }
}

#[test]
fn every_fault_is_listed_with_its_fields() {
    let page = page();
    let faults = known::<Fault>("\"zz\"");
    assert!(faults.len() > 20, "{faults:?}");
    for fault in &faults {
        let wrong = format!("{{\"{fault}\":{{\"zz\":1}}}}");
        let error = serde_json::from_str::<Fault>(&wrong).expect_err("it is refused").to_string();
        // One field is `expected`, several are `expected one of`, two have an `or`.
        let fields = error.split_once("expected").map_or("", |(_, list)| list);
        let fields: BTreeSet<String> = fields.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        assert!(!fields.is_empty(), "{error}");
        assert_documented(fault, &fields, &page.words(fault, 1));
    }
    let listed: BTreeSet<String> = page.firsts();
    assert_documented("faults", &faults, &listed);
}

fn events(lines: &str) -> BTreeSet<String> {
    let event = |line: &str| serde_json::from_str::<Value>(line).ok()?["event"].as_str().map(str::to_owned);
    lines.lines().filter_map(event).collect()
}

#[test]
fn the_history_of_the_page_is_read_and_every_event_is_explained() {
    let page = page();
    let history = &page.blocks["jsonl history"];
    let reader = Reader::new(history.as_bytes()).expect("it begins as a history");
    assert!(reader.header().is_some());
    let read: Result<Vec<_>, _> = reader.collect();
    let events_read = read.expect("every line is an event").len();
    assert_eq!(events_read, history.lines().count() - 1, "every line but the header");
    let firsts = page.firsts();
    assert_documented("the example", &events(history), &firsts);
    let written: BTreeSet<String> = reports::known::ALL.iter().flat_map(|known| events(known.text)).collect();
    assert!(written.len() > 15, "{written:?}");
    assert_documented("histories", &written, &firsts);
}

#[test]
fn every_field_of_a_report_is_explained() {
    let firsts = page().firsts();
    for arguments in [
        vec!["scenario", "gc-pause", "--seed", "42", "--duration", "12s"],
        vec!["scenario", "gc-pause", "--seed", "42", "--fencing", "off", "--groups", "2", "--duration", "12s"],
        vec!["scenario", "read-lease", "--protocol", "redis-fenced", "--seed", "1"],
        vec!["scenario", "diverging-copies", "--protocol", "bully", "--seed", "42"],
        vec!["scenario", "clean-kill", "--works", "sequencer,compaction", "--seed", "1"],
    ] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        let out = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("book");
        let run = run.args(&arguments).args(["--json", "--out"]).arg(out).output().expect("the command starts");
        let report: Value = serde_json::from_slice(&run.stdout).unwrap_or_else(|e| panic!("{arguments:?}: {e}"));
        let keys =
            |value: &Value| value.as_object().into_iter().flat_map(|o| o.keys().cloned()).collect::<BTreeSet<_>>();
        assert_documented(&format!("{arguments:?}"), &keys(&report), &firsts);
        assert_documented(&format!("the figures of {arguments:?}"), &keys(&report["metrics"]), &firsts);
    }
}
