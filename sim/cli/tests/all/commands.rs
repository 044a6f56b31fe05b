//! The command line is a contract: exit codes, one sentence per mistake, JSON and nothing else.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

fn fencepost(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command
        .args(arguments)
        .env("NO_COLOR", "1")
        .env_remove("CARGO")
        .env_remove("COLUMNS")
        .current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.output().expect("the binary runs")
}

/// The arguments in a printed command line.
fn words(command: &str) -> Vec<String> {
    let words: Vec<&str> = command.trim_end_matches(')').split(' ').collect();
    let first = words.iter().position(|word| ["scenario", "replay"].contains(word)).expect("a command of ours");
    words[first..].iter().map(|word| word.trim_matches('\'').to_owned()).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn file(name: &str, content: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).expect("the file can be written");
    path
}

#[test]
fn mistakes_get_one_sentence_and_64() {
    let plan = text(&fencepost(&["plan", "gc-pause", "--seed", "42"]).stdout);
    let wrong_field = file("wrong-field.json", &plan.replacen("\"fencing\"", "\"fensing\"", 1));
    let whole_plan = file("plan.json", &plan);
    let truncated = file("truncated.json", &plan[..plan.len() / 2]);
    let negative = file("negative.json", &plan.replacen("\"duration_ms\": ", "\"duration_ms\": -", 1));
    let history = file("history.jsonl", "{\"t_us\":1,\"event\":\"nonsense\"}\n");
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_fencepost"));
    let path = |path: &PathBuf| path.display().to_string();
    let cases: Vec<(Vec<String>, &str)> = [
        (vec!["scenario", "gc-paus"], "did you mean `gc-pause`?"),
        (vec!["scenario", "gc-pause", "--seed", "x"], "not a seed"),
        (vec!["scenario", "gc-pause", "--seed", "-1"], "seed"),
        (vec!["scenario", "gc-pause", "--lease-ttl", "-3s"], "negative"),
        (vec!["scenario", "gc-pause", "--lease-ttl", "3"], "3s"),
        (vec!["scenario", "gc-pause", "--lease-ttl", "0s"], "lease"),
        (vec!["scenario", "gc-pause", "--protocol", "etcd-electron"], "did you mean `etcd-election`?"),
        (vec!["scenario", "gc-pause", "--fencing", "maybe"], "there are on, off, token, order, memory"),
        (vec!["scenario", "gc-pause", "--net", "lam"], "did you mean `lan`?"),
        (vec!["scenario", "gc-pause", "--nodes", "0"], "candidate"),
        (vec!["scenario", "gc-pause", "--rate", "0"], "--rate is 0; it must be 1 to"),
        (vec!["scenario", "gc-pause", "--rate", "x"], "--rate: `x` is not a whole number"),
        (vec!["scenario", "gc-pause", "--nodes", "3.5"], "--nodes: `3.5` is not a number of candidates"),
        (vec!["scenario", "gc-pause", "--nodes", "3,5"], "one number of candidates at a time"),
        (vec!["scenario", "steady", "--protocol", "raft", "--lease-ttl", "1ms"], "--lease-ttl is 1ms"),
        (vec!["scenario", "steady", "--clock-drift", "999999"], "--clock-drift is 999999; it must be 0 to 500000"),
        (vec!["scenario", "steady", "--election-timeout", "1..2s"], "--election-timeout means nothing to `steady`"),
        (vec!["scenario", "steady", "--lock-delay", "15s"], "--lock-delay is now --set consul-session.lock-delay=15s"),
        (
            vec!["sweep", "steady", "--retry-period", "1ms", "--seeds", "0..2", "--protocol", "raft,bully"],
            "--retry-period means nothing to any",
        ),
        (
            vec!["plan", "steady", "--protocol", "redis-lease", "--retry-period", "0s"],
            "--retry-period is 0ms; it must be 1ms to",
        ),
        (vec!["scenario", "swarm", "--retry-period", "1s"], "--retry-period means nothing here"),
        (vec!["scenario", "partition", "--pause", "3s"], "--pause means nothing to `partition`"),
        (vec!["plan", "steady", "--trace", "x"], "`plan` only prints the plan"),
        (vec!["scenario", "steady", "--protocol", "etcd"], "did you mean `etcd-election` or `etcd-key`?"),
        (vec!["scenario", "steady", "--latency", "40ms..20ms"], "--latency: "),
        (vec!["scenario", "steady", "--loss", "101%"], "at most 100%"),
        (
            vec!["scenario", "steady", "--protocol", "raft", "--latency", "40ms", "--election-timeout", "20..60ms"],
            "nobody can be elected: a round trip takes up to 80ms",
        ),
        (vec!["sweep", "steady", "partition", "--pause", "3s", "--seeds", "0..2"], "--pause means nothing to any"),
        (vec!["sweep", "gc-pause", "--clock-drift", "999999", "--seeds", "0..2"], "--clock-drift is 999999"),
        (
            vec!["sweep", "steady", "--protocol", "raft", "--nodes", "3", "--seeds", "0..4", "--shard", "9/9"],
            "nothing to run: shard 9/9 of 4 runs has none",
        ),
        (vec!["sweep", "steady", "--seeds", "0..2", "--history", "x"], "--history is for one run"),
        (vec!["scenario"], "NAME"),
        (vec!["sweep", "all"], "--seeds"),
        (vec!["sweep", "all", "--seeds", "9..3"], "empty"),
        (vec!["sweep", "all", "--seeds", "0..3", "--shard", "3/2"], "shard"),
        (vec!["scenaro", "gc-pause"], "scenario"),
        (vec!["scenario", "gc-pause", "--sed", "1"], "--seed"),
        (vec!["list", "scenarois"], "scenarois"),
        (vec!["replay", "no-such-file.json"], "cannot read"),
        (vec!["replay", &path(&wrong_field)], "fensing"),
        (vec!["replay", &path(&truncated)], "line"),
        (vec!["replay", &path(&negative)], "duration_ms"),
        (vec!["replay", &path(&binary)], "cannot read"),
        (vec!["scenario", "read-lease", "--protocol", "redis-naive"], "ends by the leader's own clock"),
        (vec!["scenario", "steady", "--read-lease", "maybe"], "`on` nor `off`"),
        (vec!["scenario", "steady", "--reads", "2000000"], "--reads is 2000000; it must be 0 to 1000000"),
        (vec!["bisect"], "NAME"),
        (vec!["bisect", "read-leas"], "did you mean `read-lease`?"),
        (vec!["bisect", "read-lease", "--clock-drift", "5"], "is what bisect looks for"),
        (vec!["bisect", "read-lease", "--protocol", "redis-naive"], "ends by the leader's own clock"),
        (vec!["bisect", "read-lease", "--seeds", "3"], "not a range of seeds"),
        (vec!["plot", "election-cfd"], "election-cdf"),
        (vec!["plot", "election-cdf", "--runs", "0"], "`0` is not a number from 1 to 1000000"),
        (vec!["plot", "election-cdf", "--election-timeout", "300..150ms"], "lower end must not be above"),
        (
            vec![
                "plot",
                "election-cdf",
                "--election-timeout",
                "15ms",
                "--renew-interval",
                "1ms",
                "--renew-interval",
                "2ms",
            ],
            "--renew-interval is given 2 times and --election-timeout 1",
        ),
        (vec!["plot", "election-cdf", "--loss", "101%"], "at most 100%"),
        (vec!["plot", "message-counts", "--latency", "40ms..20ms"], "must not be above"),
        (vec!["sweep", "swarm", "--seeds", "0..1", "--loss", "x"], "`x` is not a percentage"),
        (vec!["scenario", "steady", "--pre-vote", "off"], "--pre-vote is now --set raft-core.pre-vote=off"),
        (
            vec!["scenario", "steady", "--protocol", "kraft", "--set", "raft-core.pre-vote=on"],
            "--set raft-core.pre-vote means nothing to `steady` with `kraft`; leave it out",
        ),
        (
            vec!["sweep", "steady", "--seeds", "0..1", "--protocol", "raft,kraft", "--set", "raft-core.pre-vote=on"],
            "--set raft-core.pre-vote means nothing to any of these scenarios and protocols",
        ),
        (
            vec!["plan", "steady", "--set", "raft-core.pre-vote=of"],
            "raft-core.pre-vote: `of` is neither `on` nor `off`",
        ),
        (vec!["plan", "steady", "--set", "raft-core.prevote=off"], "did you mean `raft-core.pre-vote`?"),
        (vec!["plan", "steady", "--set", "raftcore.pre-vote=off"], "no owner of parameters `raftcore`"),
        (vec!["plan", "steady", "--set", "pre-vote=off"], "`pre-vote=off` is not a setting; write OWNER.NAME=VALUE"),
        (vec!["sweep", "swarm", "--seeds", "0..1", "--set", "raft-core.check-quorum=off"], "`swarm` draws it"),
        (vec!["plan", "steady", "--set", "raft-core.preset=hashicrop"], "did you mean `hashicorp`?"),
        (
            vec!["scenario", "steady", "--protocol", "raft", "--election-timeout", "150..150ms"],
            "`raft` draws from a range",
        ),
        (vec!["plot", "election-cdf", "--protocol", "redis-lease", "--election-timeout", "150..300ms"], "raft"),
        (vec!["plot", "election-cdf", "--nodes", "0", "--runs", "1"], "`0` is not a number of candidates"),
        (vec!["plot", "message-counts", "--protocol", "etcd-election", "--runs", "1"], "no message of `etcd-election`"),
        (vec!["plot", "message-counts", "--nodes", "3,x"], "`x` is not a number of candidates"),
        (vec!["check", &path(&history)], "unknown field `event`"),
        (vec!["check", &path(&whole_plan)], "is a plan, not a history; run it with `"),
        (vec!["check", "no-such-file.jsonl"], "cannot read"),
    ]
    .into_iter()
    .map(|(arguments, expected)| (arguments.into_iter().map(str::to_owned).collect(), expected))
    .collect();
    for (arguments, expected) in cases {
        let output = fencepost(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {err}");
        assert!(out.is_empty(), "{arguments:?} printed {out}");
        assert_eq!(err.trim_end().lines().count(), 1, "{arguments:?} said more than one line: {err}");
        assert!(err.contains(expected), "{arguments:?} said: {err}");
        assert!(!err.contains("panicked"), "{arguments:?}: {err}");
    }
}

#[test]
fn json_is_one_object_and_nothing_else() {
    let output = fencepost(&["scenario", "gc-pause", "--seed", "42", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(report["schema"], 1);
    assert_eq!(report["scenario"], "gc-pause");
    assert_eq!(report["protocol"], "etcd-election");
    assert_eq!(report["seed"], 42);
    assert_eq!(report["verdict"], "pass");
    for field in ["plan_digest", "trace_hash"] {
        assert_eq!(report[field].as_str().map(str::len), Some(32), "{field}");
    }
    let metrics = [
        "leaders_acting_by_effect_max",
        "leaders_believing_max",
        "writes_accepted",
        "writes_fenced",
        "writes_unknown",
        "seq_gaps",
        "elections",
        "false_failovers",
        "messages",
        "failover_ms",
        "election_latency_ms",
        "handoff_effect_gap_ms",
        "handoff_intent_gap_ms",
        "dark_ms",
        "dual_effect_ms",
        "dual_belief_ms",
    ];
    for metric in metrics {
        assert!(!report["metrics"][metric].is_null(), "{metric}");
    }
    for invariant in report["invariants"].as_array().expect("a list") {
        for field in ["name", "holds", "could_fail", "detail"] {
            assert!(!invariant[field].is_null(), "{invariant}: {field}");
        }
    }
}

#[test]
fn two_runs_differ_in_nothing_but_the_time_they_took() {
    let report = || {
        let output = fencepost(&["scenario", "partition", "--protocol", "redis-fenced", "--seed", "5", "--json"]);
        let mut report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        report["wall_ms"] = 0.into();
        report
    };
    assert_eq!(report(), report());
}

#[test]
fn a_failing_run_leaves_what_it_takes_to_repeat_it() {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("artifacts");
    let _ = std::fs::remove_dir_all(&out);
    let out_text = out.display().to_string();
    let arguments = ["scenario", "gc-pause", "--protocol", "redis-lease", "--seed", "9", "--out", &out_text, "--quiet"];
    assert_eq!(fencepost(&arguments).status.code(), Some(1));
    let folder = out.join("gc-pause/redis-lease/9");
    for name in ["capsule.json", "plan.json", "history.jsonl", "timeline.html", "repro.sh"] {
        assert!(folder.join(name).metadata().is_ok_and(|m| m.len() > 0), "{name}");
    }
    assert!(!folder.join("trace.txt").exists(), "a trace is written where --trace asks for one");
    let capsule = folder.join("capsule.json").display().to_string();
    let again = fencepost(&["replay", &capsule, "--strict", "--no-artifacts"]);
    assert_eq!(again.status.code(), Some(1), "{}", text(&again.stderr));
    assert!(text(&again.stderr).contains("same trace, same verdict"), "{}", text(&again.stderr));
    let check = fencepost(&["check", &folder.join("history.jsonl").display().to_string()]);
    assert_eq!(check.status.code(), Some(1), "{}", text(&check.stderr));
    // A capsule of another build is rejected on request.
    let other =
        std::fs::read_to_string(&capsule).expect("the capsule reads").replacen("\"rustc\": \"", "\"rustc\": \"x", 1);
    let other = file("other-build.json", &other).display().to_string();
    assert_eq!(fencepost(&["replay", &other, "--strict", "--no-artifacts"]).status.code(), Some(5));
    // The script works from any folder.
    let mut script = Command::new("sh");
    script.arg(folder.join("repro.sh")).current_dir("/").env("NO_COLOR", "1").env_remove("CARGO");
    let script = script.output().expect("the script runs");
    assert_eq!(script.status.code(), Some(1), "{}", text(&script.stderr));
    assert!(text(&script.stderr).contains("same trace, same verdict"), "{}", text(&script.stderr));
}

#[test]
fn a_run_is_a_page_where_somebody_asks_for_it() {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages");
    let _ = std::fs::remove_dir_all(&out);
    let out_text = out.display().to_string();
    let page = |path: &str| std::fs::read_to_string(out.join(path).join("timeline.html"));
    // A run that holds has a page, too, with the same bytes each time.
    let run = ["scenario", "gc-pause", "--seed", "2", "--rate", "20", "--out", &out_text, "--json"];
    let output = fencepost(&run);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("timeline: "), "{}", text(&output.stderr));
    serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("one JSON object and nothing else");
    let first = page("gc-pause/etcd-election/2").expect("a page");
    assert!(first.starts_with("<!doctype html>") && first.contains("The store refused it"), "{}", first.len());
    assert_eq!(fencepost(&run).status.code(), Some(0));
    assert_eq!(page("gc-pause/etcd-election/2").expect("a page"), first);
    // A failing run's page equals that of its history.
    let failing = ["scenario", "gc-pause", "--seed", "2", "--rate", "20", "--fencing", "off", "--out", &out_text];
    assert_eq!(fencepost(&failing).status.code(), Some(1));
    let history = out.join("gc-pause/etcd-election-fencing-off/2/history.jsonl").display().to_string();
    let checked = out.join("checked").display().to_string();
    assert_eq!(fencepost(&["check", &history, "--out", &checked, "--quiet"]).status.code(), Some(1));
    let failed = page("gc-pause/etcd-election-fencing-off/2").expect("a page");
    assert!(failed.contains("because fencing was off"));
    assert_eq!(page("checked").expect("a page"), failed);
    // Nothing opens it here: a message says so, and the exit code stays the same.
    let mut open = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    open.args(run).arg("--open").env("PATH", "").env("NO_COLOR", "1");
    let opened = open.output().expect("the binary runs");
    assert_eq!(opened.status.code(), Some(0), "{}", text(&opened.stderr));
    assert!(text(&opened.stderr).contains("nothing here opens a browser; the page is /"), "{}", text(&opened.stderr));
    // One run only; a command that runs nothing has no page.
    assert_eq!(fencepost(&["sweep", "steady", "--seeds", "0..1", "--open"]).status.code(), Some(64));
    assert_eq!(fencepost(&["plan", "steady", "--open"]).status.code(), Some(64));
}

#[test]
fn a_bisection_is_one_object_and_shows_its_seed() {
    let arguments =
        ["bisect", "read-lease", "--protocol", "redis-fenced", "--seeds", "0..1", "--rate", "100", "--json"];
    let output = fencepost(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!((&report["schema"], &report["seed"]), (&1.into(), &0.into()));
    assert_eq!(report["breaks_at_ppm"].as_u64(), report["holds_at_ppm"].as_u64().map(|ppm| ppm + 1));
    assert_eq!(report["read_lease"]["leader_ms"], 3_000.0);
    let command = report["command"].as_str().expect("a command");
    let again = fencepost(&words(command).iter().map(String::as_str).chain(["--json"]).collect::<Vec<_>>());
    assert_eq!(again.status.code(), Some(1), "{command}: {}", text(&again.stderr));
    let report: serde_json::Value = serde_json::from_slice(&again.stdout).expect("one JSON object");
    let judged = report["invariants"].as_array().into_iter().flatten();
    let broken: Vec<_> = judged.filter(|i| i["holds"] == false).map(|i| &i["name"]).collect();
    assert!(broken.contains(&&"no_stale_read".into()), "{command}: {broken:?}");
    assert_eq!(report["read_lease"]["holds_up_to_ppm"], 199);
    let nothing = fencepost(&["bisect", "steady", "--seeds", "0..1", "--rate", "10", "--duration", "2s"]);
    assert!(text(&nothing.stdout).contains("nothing breaks"), "{}", text(&nothing.stdout));
}

#[test]
fn plots_leave_pictures_and_one_object() {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("plots").display().to_string();
    let range = ["--election-timeout", "150..155ms", "--election-timeout", "150..300ms"];
    let cdf = ["plot", "election-cdf", "--protocol", "raft,lowest-id", "--runs", "5", "--out", &out, "--json"];
    let counts =
        ["plot", "message-counts", "--protocol", "raft", "--nodes", "3,4", "--runs", "2", "--out", &out, "--json"];
    for (name, arguments) in [("election-cdf", [&cdf[..], &range].concat()), ("message-counts", counts.to_vec())] {
        let output = fencepost(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let figures: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        let saved = std::fs::read_to_string(format!("{out}/{name}.json")).expect("the figures");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&saved).expect("JSON"), figures);
        for format in ["svg", "png"] {
            assert!(
                std::fs::metadata(format!("{out}/{name}.{format}")).is_ok_and(|m| m.len() > 1_000),
                "{name}.{format}"
            );
        }
        if name == "election-cdf" {
            let curves = figures["curves"].as_array().expect("curves");
            assert_eq!(curves.iter().map(|c| c["n"].as_u64()).collect::<Vec<_>>(), [Some(5); 3]);
            assert_eq!(curves[0]["percentiles_ms"].as_array().map(Vec::len), Some(101));
            assert!(curves[1]["messages_by_kind"]["vote"]["mean"].as_f64().is_some_and(|n| n > 0.0), "{figures}");
        } else {
            assert!(figures["points"][1]["by_kind"]["vote"].as_f64().is_some_and(|n| n >= 3.0), "{figures}");
        }
    }
}

#[test]
fn a_seed_that_nobody_chose_is_printed_first() {
    let output = fencepost(&["scenario", "steady", "--json"]);
    let err = text(&output.stderr);
    let seed = err.strip_prefix("seed ").and_then(|s| s.lines().next()?.parse::<u64>().ok());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(report["seed"].as_u64(), seed, "{err}");
}

#[test]
fn everything_can_be_listed() {
    for what in ["scenarios", "protocols", "faults", "invariants"] {
        let output = fencepost(&["list", what]);
        assert_eq!(output.status.code(), Some(0));
        let lines = text(&output.stdout);
        assert!(lines.lines().count() >= 4, "{what}: {lines}");
        assert!(lines.lines().all(|l| l.len() <= 220), "{what}: {lines}");
        // The descriptions of names are aligned in one column.
        let behind = |line: &str| line.find("  ").map(|gap| gap + line[gap..].len() - line[gap..].trim_start().len());
        let columns: std::collections::BTreeSet<_> = lines.lines().map(behind).collect();
        assert_eq!(columns.len(), 1, "{what}: {lines}");
    }
}

#[test]
fn a_log_with_fields_of_its_own_is_judged_or_refused() {
    let line = |t_us: u64, node: &str, token: u64, seq: u64| {
        let rest =
            format!("\"node\":\"{node}\",\"fence_token\":{token},\"seq\":{seq},\"verdict\":\"ok\",\"region\":\"eu\"");
        format!("{{\"t_us\":{},\"event\":\"apply\",\"resource\":\"sequence\",{rest}}}\n", 1_732_233_600_000_000 + t_us)
    };
    let healthy = file("healthy.jsonl", &[line(1, "web-12", 5, 1), line(2, "web-12", 5, 2)].concat());
    let stale =
        file("stale.jsonl", &[line(1, "web-12", 5, 1), line(2, "web-7", 7, 2), line(3, "web-12", 5, 3)].concat());
    let [healthy, stale] = [&healthy, &stale].map(|path| path.display().to_string());
    let cases: [(&[&str], u8, &str); 5] = [
        (&["check", &healthy], 64, "unknown fields `fence_token`, `region`"),
        (&["check", &healthy, "--map", "tokn=fence_token"], 64, "a history has no field \"tokn\""),
        (&["check", &healthy, "--map", "fence_token"], 64, "does not say which field is which"),
        (&["check", &healthy, "--map", "token=fence_token", "--ignore", "region"], 2, "only one leader wrote;"),
        (&["check", &stale, "--map", "token=fence_token", "--ignore", "region"], 1, "web-12 (token 5) after token 7"),
    ];
    for (arguments, code, says) in cases {
        let output = fencepost(arguments);
        let said = text(&output.stdout) + &text(&output.stderr);
        // A report wraps its lines.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(says), "{arguments:?}: {said}");
        assert_eq!(output.status.code(), Some(i32::from(code)), "{arguments:?}: {said}");
        assert!(!said.contains("node-"), "{said}");
    }
}
