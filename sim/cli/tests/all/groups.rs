//! Groups on the command line: their number, faults and verdicts.

use serde_json::Value;
use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

fn fencepost(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(arguments).env("NO_COLOR", "1").env_remove("CARGO").env_remove("COLUMNS");
    command.current_dir(env!("CARGO_TARGET_TMPDIR")).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn file(name: &str, content: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).expect("the file can be written");
    path.display().to_string()
}

/// The plan of eight groups, as JSON.
fn plan(arguments: &[&str]) -> Value {
    let output = fencepost(&[&["plan", "gc-pause", "--seed", "42", "--rate", "100"], arguments].concat());
    serde_json::from_slice(&output.stdout).expect("a plan")
}

#[test]
fn what_there_cannot_be_gets_one_sentence_and_64() {
    let changed = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut plan = plan(&["--groups", "8"]);
        change(&mut plan);
        file(name, &plan.to_string())
    };
    let many = changed("many-groups.json", &|plan| plan["groups"] = 100.into());
    let clients = changed("many-clients.json", &|plan| plan["load"]["clients"] = 126.into());
    let nobody = changed("no-such-group.json", &|plan| plan["faults"][0]["group"] = 8.into());
    let one = changed("one-group.json", &|plan| {
        plan["groups"] = 1.into();
        plan["faults"][0]["group"] = 1.into();
    });
    let cases: [(&[&str], &str); 15] = [
        (&["scenario", "steady", "--groups", "0"], "`0` is not a number of groups; write a whole number from 1 to 64"),
        (&["scenario", "steady", "--groups", "65"], "`65` is not a number of groups"),
        (&["scenario", "steady", "--groups", "-1"], "`-1` is not a number of groups"),
        (&["sweep", "steady", "--groups", "x", "--seeds", "0..2"], "`x` is not a number of groups"),
        (&["scenario", "steady", "--placement", "rings"], "there is no choice `rings`; did you mean `ring`?"),
        (&["scenario", "steady", "--placement", "ring"], "placement is ring, but there is one group"),
        (
            &["scenario", "steady", "--protocol", "bully", "--groups", "4", "--placement", "ring"],
            "placement is ring, but a leader of `bully` cannot hand over to a named successor",
        ),
        (&["scenario", "shard-rebalance", "--protocol", "bully"], "needs several leaderships"),
        (&["scenario", "shard-rebalance", "--nodes", "2"], "needs at least 3 candidates"),
        (&["scenario", "steady", "--hold-down", "2s"], "--hold-down means nothing here: no health check errs"),
        (&["scenario", "steady", "--health-check-errors", "101%"], "`101%` is too much; at most 100%"),
        (&["replay", &many], "groups is 100; it must be 1 to 64"),
        (&["replay", &clients], "groups is 8, each of which has 126 clients; at most 1000 in all"),
        (&["replay", &nobody], "faults[0] (pause) speaks of group 8, which does not exist; they are 0 to 7"),
        (&["replay", &one], "faults[0] (pause) speaks of group 1, which does not exist; there is only group 0"),
    ];
    for (arguments, why) in cases {
        let output = fencepost(arguments);
        let errors = text(&output.stderr);
        assert_eq!((output.status.code(), errors.lines().count()), (Some(64), 1), "{arguments:?}: {errors}");
        assert!(errors.contains(why), "{arguments:?}: {errors}");
    }
}

#[test]
fn one_group_is_as_none_asked_for() {
    let bytes = |options: &[&str]| {
        let plan = fencepost(&[&["plan", "gc-pause", "--seed", "42"], options].concat());
        let history = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("one-group-{}.jsonl", options.len()));
        let path = history.display().to_string();
        let run = ["scenario", "gc-pause", "--seed", "42", "--rate", "100", "--json", "--history", &path];
        let mut report: Value = serde_json::from_slice(&fencepost(&[&run, options].concat()).stdout).expect("JSON");
        report["wall_ms"] = Value::Null;
        (text(&plan.stdout), report.to_string(), fs::read_to_string(history).expect("a history"))
    };
    let (none, one) = (bytes(&[]), bytes(&["--groups", "1"]));
    assert_eq!(none, one);
    assert!(!none.0.contains("group") && !none.1.contains("group") && !none.2.contains("group"), "nobody speaks of it");
}

#[test]
fn a_plan_of_many_groups_is_repeated_bit_by_bit_in_a_fresh_process() {
    for protocol in ["redis-fenced", "bully"] {
        let output = fencepost(&["determinism", "gc-pause", "--protocol", protocol, "--groups", "8", "--rate", "100"]);
        assert_eq!(output.status.code(), Some(0), "{protocol}: {}{}", text(&output.stdout), text(&output.stderr));
    }
}

#[test]
fn the_group_that_did_wrong_is_told_and_its_history_is_judged_again() {
    let mut plan = plan(&["--groups", "4", "--protocol", "redis-fenced", "--fencing", "off"]);
    plan["faults"][0]["group"] = 2.into();
    let plan = file("third-group.json", &plan.to_string());
    let history = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("third-group.jsonl").display().to_string();
    let run = fencepost(&["replay", &plan, "-v", "--history", &history]);
    let shown = text(&run.stdout);
    assert_eq!(run.status.code(), Some(1), "{shown}");
    for part in ["Timeline of group 2", "✓ group 0", "✓ group 1", "✗ group 2", "✓ group 3", "group 2)"] {
        assert!(shown.contains(part), "{part} is missing:\n{shown}");
    }
    let again = fencepost(&["check", &history, "--json"]);
    let report: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    let verdicts: Vec<&str> =
        report["groups"].as_array().into_iter().flatten().filter_map(|group| group["verdict"].as_str()).collect();
    assert_eq!((again.status.code(), verdicts), (Some(1), vec!["pass", "pass", "safety", "pass"]));
}
