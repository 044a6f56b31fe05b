//! A failing run leaves the same artifacts whether they were recorded during the run or made from the events kept.

use crate::common::named;
use sim::{
    artifacts::{self, Again, FILES},
    recorder::KEPT_MAX,
    registry::Registry,
    run::{self, Options},
};
use std::{collections::BTreeMap, fs, path::Path};

const AGAIN: Again = Again { repro: "the command", meaning: None, next: &[] };

/// The files of a folder, without the run's real time.
fn files(folder: &Path) -> BTreeMap<&'static str, String> {
    let told = |name: &'static str| {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        let is_timed = |line: &&str| !line.contains("wall_ms") && !line.contains("real time");
        Some((name, text.lines().filter(is_timed).collect::<Vec<_>>().join("\n")))
    };
    FILES.into_iter().filter_map(told).collect()
}

#[test]
fn artifacts_of_kept_events_are_those_of_a_run_that_was_listened_to() {
    let mut plan = named("gc-pause", "etcd-election", 42, false);
    plan.load.rate = 100;
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("artifacts-kept");
    let registry = Registry::default();
    // As with `--quiet`: nothing records the story or the page.
    let kept = run::run(&plan, Options { keep: KEPT_MAX, ..Options::default() }).expect("it runs");
    assert!(kept.kept.as_ref().is_some_and(|events| events.len() < KEPT_MAX && !events.is_empty()));
    let left = artifacts::leave(&out.join("kept"), &kept, AGAIN).expect("written");
    let history = fs::read_to_string(left.folder.join("history.jsonl")).expect("a history");
    let again = artifacts::repeat(&plan, &registry, kept.trace_hash(), None).expect("it runs again");
    let again = artifacts::leave(&out.join("again"), &again, AGAIN).expect("written");
    let (one, other) = (files(&left.folder), files(&again.folder));
    assert!(!left.history_left_out && one.keys().eq(other.keys()) && one.contains_key("timeline.html"), "{one:?}");
    for (name, text) in &one {
        assert!(other[name] == *text, "{name} differs");
    }
    assert_eq!(left.cause, again.cause);
    // The history equals the one that the run writes as it goes.
    let written = crate::common::run_with_history(&plan, Options::default()).1;
    assert!(history == written, "the history of what was kept differs");
    let wrong = artifacts::repeat(&plan, &registry, "another hash", None).err();
    assert!(wrong.is_some_and(|why| why.to_string().starts_with("the plan did not repeat itself")));
}

#[test]
fn a_run_that_is_too_long_to_keep_leaves_no_history() {
    let mut plan = named("gc-pause", "etcd-election", 42, false);
    plan.load.rate = 20;
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("artifacts-long");
    let run =
        run::run(&plan, Options { timeline: true, page: true, keep: KEPT_MAX, ..Options::default() }).expect("it runs");
    let short = artifacts::leave(&out, &run, AGAIN).expect("written");
    assert!(short.folder.join("history.jsonl").is_file() && !short.history_left_out);
    // A part of a history would be judged like a whole.
    let long = artifacts::leave(&out, &run::Run { kept: None, ..run }, AGAIN).expect("written");
    assert!(!long.folder.join("history.jsonl").exists() && long.history_left_out);
    assert!(long.folder.join("timeline.html").is_file());
}
