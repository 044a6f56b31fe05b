//! Sweeps and single runs as whole processes: four outcomes, commands that repeat the runs they are printed for, one
//! check of the store at a time, an end on request.

use clap::Parser;
use protocols::{
    election::{self, Protocol, Timer},
    fence::checks::Fencing,
};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use scenarios::{Params, Plan, params::PROFILES, scenario};
use serde_json::Value;
use sim::repro;
use sim_cli::commands::args::{Cli, Command as Parsed};
use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.env("NO_COLOR", "1").env_remove("CARGO").env_remove("COLUMNS").current_dir(env!("CARGO_TARGET_TMPDIR"));
    command
}

fn fencepost(arguments: &[&str]) -> Output {
    program().args(arguments).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// An empty folder for a test's files.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-sweeps").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)))
}

/// Runs a printed line in a shell, in another folder.
fn shell(line: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("NO_COLOR", "1").current_dir("/").output().expect("a shell")
}

/// Parameters drawn from a seed, sometimes far from the usual ones, and their protocol.
fn drawn(random: &mut ChaCha8Rng) -> (&'static Protocol, Params) {
    let protocol = election::ALL[random.next_u32() as usize % election::ALL.len()];
    let mut params = Params::default();
    let mut maybe = |value: u64| (random.next_u32() % 3 == 0).then_some(value + u64::from(random.next_u32() % 1_000));
    params.nodes = maybe(0).map_or(params.nodes, |n| 3 + (n % 5) as u16);
    params.duration_ms = maybe(30_000);
    params.lease_ttl_ms = maybe(2_000);
    params.request_timeout_ms = maybe(300);
    params.clock_skew_ms = maybe(0).unwrap_or(params.clock_skew_ms);
    params.clock_drift_ppm = maybe(0).unwrap_or(params.clock_drift_ppm);
    params.rate = maybe(1).unwrap_or(params.rate);
    params.pause_ms = maybe(4_000);
    params.reads_per_s = maybe(0);
    params.read_lease = maybe(0).map(|n| n % 2 == 0);
    params.loss_ppm = maybe(0).map(|n| n as u32);
    params.latency_us = maybe(100).map(|us| (us, us + 777));
    params.fencing = maybe(0).map_or(params.fencing, |n| Fencing::ALL[n as usize % 5]);
    params.net = maybe(0).map_or(params.net, |n| &PROFILES[n as usize % PROFILES.len()]);
    if protocol.election_timeout.is_some() {
        params.election_timeout_ms = maybe(400).map(|ms| (ms, ms + 321));
    }
    params.renew_interval_ms = maybe(0).map(|n| 101 + n % 200);
    // Short, so that no client rejects them; each protocol has its own rules for combinations.
    params.retry_period_ms = protocol.timers.find(Timer::RetryPeriod).and_then(|_| maybe(0)).map(|n| 102 + n % 97);
    if protocol.timers.renews_at_retry {
        params.renew_interval_ms = None;
    }
    (protocol, params)
}

/// The parameters that the command line derives from the arguments.
fn parsed(arguments: &[String]) -> (Params, u64) {
    let words = ["fencepost".to_owned()].into_iter().chain(arguments.iter().cloned());
    let cli = Cli::try_parse_from(words).unwrap_or_else(|e| panic!("{arguments:?}: {e}"));
    let Parsed::Scenario(args) = cli.command else { panic!("{arguments:?} is no scenario") };
    (args.shared.plan.params().unwrap_or_else(|e| panic!("{arguments:?}: {e}")), args.seed.expect("a seed"))
}

#[test]
fn a_printed_line_makes_the_same_plan() {
    let mut random = ChaCha8Rng::seed_from_u64(50);
    let gc_pause = scenario::find("gc-pause").expect("a scenario");
    for seed in 0..50 {
        let (protocol, params) = drawn(&mut random);
        let arguments = repro::arguments(gc_pause.name, protocol.name, &params, seed);
        let (again, seed_again) = parsed(&arguments);
        assert_eq!((&again, seed_again), (&params, seed), "{arguments:?}");
        let digest = |params: &Params| gc_pause.compile(params, protocol, seed).map(|plan| plan.digest());
        assert_eq!(digest(&params), digest(&again), "{arguments:?}");
    }
}

#[test]
fn a_printed_line_gives_the_same_trace_from_any_folder() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for seed in 0..4 {
        let (protocol, params) = drawn(&mut random);
        let params = Params { duration_ms: Some(12_000), rate: 50, pause_ms: None, ..params };
        let arguments = repro::arguments("steady", protocol.name, &params, seed);
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let run = json(&fencepost(&[&words[..], &["--json"]].concat()));
        let report = text(&fencepost(&words).stdout);
        let line = report.lines().find_map(|line| line.strip_prefix("run it again: ")).expect("a line to repeat it");
        let again = json(&shell(&format!("{line} --json")));
        assert_eq!(run["trace_hash"], again["trace_hash"], "{line}");
        assert_eq!(run["plan_digest"], again["plan_digest"], "{line}");
    }
}

/// Every failure's command shows that failure: with the rate, the lease and the number of candidates of the sweep.
#[test]
fn a_failures_line_repeats_the_failure() {
    let out = folder("repeats");
    let out_text = out.display().to_string();
    let options = ["--nodes", "4", "--rate", "10", "--lease-ttl", "2s", "--fencing", "order", "--jobs", "1"];
    let sweep = ["sweep", "gc-pause", "--protocol", "redis-lease", "--seeds", "3..4", "--out", &out_text, "--json"];
    let output = fencepost(&[&sweep[..], &options].concat());
    assert_eq!(output.status.code(), Some(0), "it must break: {}", text(&output.stderr));
    // The same with a protocol that promises to hold: refused writes are not what `--fencing off` keeps.
    let sweep = ["sweep", "gc-pause", "--protocol", "bully", "--seeds", "3..4", "--pause", "100ms", "--out", &out_text];
    let output = fencepost(&[&sweep[..], &options, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let listed = std::fs::read_to_string(out.join("inconclusive.ndjson")).expect("the list");
    let failure: Value = serde_json::from_str(listed.lines().next().expect("one run")).expect("JSON");
    let line = failure["repro"].as_str().expect("a line");
    for option in ["--nodes 4", "--rate 10", "--lease-ttl 2s", "--pause 100ms", "--fencing order"] {
        assert!(line.contains(option), "{line} lacks {option}");
    }
    let again = json(&shell(&format!("{line} --json")));
    assert_eq!((&again["trace_hash"], &again["verdict"]), (&failure["trace_hash"], &Value::from("vacuous")), "{line}");
    assert!(std::fs::read_to_string(out.join("junit.xml")).expect("junit").contains("--rate 10"));
}

#[test]
fn the_four_outcomes_have_a_word_a_count_and_a_code() {
    let out = folder("outcomes").display().to_string();
    let run = |arguments: &[&str]| fencepost(&[arguments, &["--jobs", "1", "--rate", "20", "--out", &out]].concat());
    // Inconclusive, with the reason.
    let sweep = ["sweep", "gc-pause", "--protocol", "etcd-election", "--nodes", "3", "--seeds", "0..2"];
    let output = run(&[&sweep[..], &["--pause", "500ms"]].concat());
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{report}");
    assert!(report.contains("INCONCLUSIVE gc-pause etcd-election, 3 nodes: 2 runs, seeds 0, 1\n  why: "), "{report}");
    assert!(report.contains("at least 2 needed, 1 seen"), "{report}");
    assert!(report.contains("2 runs: 0 kept, 0 broken, 2 inconclusive"), "{report}");
    let junit = std::fs::read_to_string(Path::new(&out).join("junit.xml")).expect("junit");
    assert!(
        junit.contains("failures=\"0\" skipped=\"1\"") && junit.contains("<skipped message=\"2 of 2 runs"),
        "{junit}"
    );
    let summary = std::fs::read_to_string(Path::new(&out).join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let counts = ["kept", "broken", "inconclusive", "invalid"].map(|word| summary[word].as_u64());
    assert_eq!((counts, &summary["exit"]), ([Some(0), Some(0), Some(2), Some(0)], &Value::from(2)));
    // Kept.
    let output = run(&[&sweep[..], &["--json"]].concat());
    let summary = json(&output);
    assert_eq!((output.status.code(), summary["kept"].as_u64()), (Some(0), Some(2)), "{summary:#}");
    assert_eq!(summary["cells"].as_array().map(Vec::len), Some(1));
    // Invalid and empty: nothing runs, and nothing is printed.
    for options in [["--clock-drift", "999999"], ["--shard", "9/9"]] {
        let output = run(&[&sweep[..], &options].concat());
        assert_eq!((output.status.code(), output.stdout.len()), (Some(64), 0), "{}", text(&output.stderr));
    }
    // A single run reports it, too.
    let one = fencepost(&["scenario", "gc-pause", "--pause", "500ms", "--seed", "1", "--rate", "20", "--out", &out]);
    assert_eq!(one.status.code(), Some(2));
    assert!(text(&one.stdout).contains("INCONCLUSIVE: the situation under test never arose"), "{}", text(&one.stdout));
}

#[test]
fn a_sweep_has_two_sizes_and_runs_each_cell_once() {
    let out = folder("sizes").display().to_string();
    let sizes = |options: &[&str]| {
        let sweep = ["sweep", "steady", "steady", "--protocol", "redis-lease,redis-lease", "--seeds", "0..1"];
        let fixed = ["--duration", "2s", "--rate", "20", "--jobs", "1", "--json", "--out", &out];
        let summary = json(&fencepost(&[&sweep[..], &fixed, options].concat()));
        let cells = summary["cells"].as_array().expect("cells").iter();
        cells.map(|cell| cell["nodes"].as_u64().expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!(sizes(&[]), [3, 5]);
    assert_eq!(sizes(&["--nodes", "4"]), [4]);
    assert_eq!(sizes(&["--nodes", "5,2,5"]), [2, 5]);
    assert_eq!(sizes(&["--long"]), [1, 2, 3, 5, 7, 9]);
}

/// In order and with a new request: only the token can refuse a former leader's write.
#[test]
fn only_the_token_refuses_a_stale_write_that_is_in_order() {
    let out = folder("checks").display().to_string();
    for protocol in ["redis-fenced", "raft"] {
        let run = |fencing: &str| {
            let options = ["--protocol", protocol, "--fencing", fencing, "--rate", "100", "--json", "--out", &out];
            json(&fencepost(&[&["scenario", "gc-pause", "--seed", "2"], &options[..]].concat()))
        };
        let violated = |report: &Value| -> Vec<String> {
            let invariants = report["invariants"].as_array().expect("invariants").iter();
            let broken = invariants.filter(|i| i["holds"] == false);
            broken.map(|i| i["name"].as_str().unwrap_or_default().to_owned()).collect()
        };
        let token = run("token");
        assert_eq!((&token["verdict"], &token["fencing"]), (&"pass".into(), &"token".into()), "{token:#}");
        assert_eq!(token["metrics"]["writes_fenced"], 1, "{token:#}");
        for fencing in ["order", "memory"] {
            let report = run(fencing);
            assert_eq!(report["verdict"], "safety", "{fencing}: {report:#}");
            assert!(violated(&report).iter().any(|name| name == "no_stale_write"), "{fencing}: {report:#}");
            assert_eq!(report["metrics"]["writes_fenced"], 0, "{fencing}");
        }
        let off = run("off");
        assert!(violated(&off).iter().any(|name| name == "leaders_acting_by_effect"), "{off:#}");
        assert_eq!(off["fencing"], false);
    }
    // With all checks on, some seeds have such a write.
    let refused = (0..6).filter(|seed| {
        let seed = seed.to_string();
        let arguments = ["plan", "gc-pause", "--protocol", "redis-fenced", "--seed", &seed];
        let plan = Plan::from_json(&text(&fencepost(&arguments).stdout)).expect("a plan");
        plan.faults.iter().any(|fault| fault.what.kind() == protocols::history::FaultKind::Partition)
    });
    assert!((1..6).contains(&refused.count()));
}

#[test]
fn a_run_that_passes_leaves_its_history_when_asked() {
    let folder = folder("history");
    let [history, again] = ["history.jsonl", "again.jsonl"].map(|name| folder.join(name).display().to_string());
    let options = ["--duration", "3s", "--rate", "20"];
    let run = ["scenario", "steady", "--seed", "1", "--quiet", "--history", &history];
    assert_eq!(fencepost(&[&run[..], &options].concat()).status.code(), Some(0));
    assert_eq!(fencepost(&["check", &history, "--quiet"]).status.code(), Some(0));
    let plan = folder.join("plan.json").display().to_string();
    let printed = fencepost(&[&["plan", "steady", "--seed", "1"], &options[..]].concat()).stdout;
    std::fs::write(&plan, printed).expect("the plan can be written");
    assert_eq!(fencepost(&["replay", &plan, "--quiet", "--history", &again]).status.code(), Some(0));
    let [first, second] = [&history, &again].map(|file| std::fs::read(file).expect("a history"));
    assert!(!first.is_empty() && first == second, "the same plan, the same history");
}

#[test]
fn a_report_is_as_wide_as_the_terminal() {
    let report = |columns: &str| {
        let arguments = ["scenario", "gc-pause", "--seed", "2", "--rate", "20", "--out", "wide", "-v"];
        text(&program().args(arguments).env("COLUMNS", columns).output().expect("the binary runs").stdout)
    };
    for (columns, width) in [("60", 60), ("100", 100), ("120", 120)] {
        let report = report(columns);
        let lines = report.lines().filter(|line| !line.starts_with("run it again"));
        let long: Vec<&str> = lines.filter(|line| line.chars().count() > width).collect();
        assert!(long.is_empty(), "wider than {width}:\n{}", long.join("\n"));
        assert!(report.lines().any(|line| line.chars().count() > width - 12), "nothing is {width} wide:\n{report}");
    }
    // Words are never split, however narrow the terminal is.
    let words = |text: &str| text.split_whitespace().any(|word| word == "leaders_acting_by_effect");
    assert!(words(&report("60")) && report("60").contains("trace hash"));
}

#[test]
fn a_report_shows_the_lease_that_is_granted() {
    let arguments =
        ["scenario", "steady", "--lease-ttl", "1ms", "--seed", "1", "--rate", "20", "--out", "granted", "-v"];
    let output = fencepost(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(
        text(&output.stdout).contains("2000 ms (1 ms asked for), renewed every 666 ms"),
        "{}",
        text(&output.stdout)
    );
}

/// The default heartbeat adapts to the network; otherwise nobody would be elected.
#[test]
fn raft_elects_on_a_slow_network() {
    let network = ["--latency", "20ms..40ms", "--election-timeout", "150..300ms", "--rate", "20", "--duration", "10s"];
    let run = ["scenario", "steady", "--protocol", "raft", "--seed", "1", "--json"];
    let report = json(&fencepost(&[&run[..], &network].concat()));
    assert!(report["metrics"]["elections"].as_u64() >= Some(1), "{report:#}");
    assert_eq!(report["verdict"], "pass", "{report:#}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_sweep_reports_what_it_has_found() {
    let out = folder("interrupted");
    let mut command = program();
    let sweep = ["sweep", "gc-pause", "--protocol", "redis-fenced", "--pause", "500ms", "--nodes", "3", "--jobs", "1"];
    command.args(sweep).args(["--seeds", "0..1000000", "--rate", "20", "--out", &out.display().to_string()]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    std::thread::sleep(Duration::from_secs(3));
    let asked = Instant::now();
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(kill.success());
    let output = child.wait_with_output().expect("it ends");
    assert!(asked.elapsed() < Duration::from_secs(60), "it ends soon");
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{report}{}", text(&output.stderr));
    assert!(report.contains("INTERRUPTED after ") && report.contains("of 1000000 runs"), "{report}");
    let summary = std::fs::read_to_string(out.join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let (runs, lines) = (summary["runs"].as_u64(), std::fs::read_to_string(out.join("inconclusive.ndjson")));
    assert_eq!((summary["interrupted"].as_bool(), runs > Some(0)), (Some(true), true), "{summary:#}");
    assert_eq!(lines.expect("the list").lines().count() as u64, summary["inconclusive"].as_u64().expect("a count"));
    assert!(out.join("failures.ndjson").is_file() && out.join("junit.xml").is_file());
}

#[test]
fn a_failure_in_a_sweep_of_several_protocols_is_repeated_with_what_concerns_it() {
    let out = folder("concerning");
    let swept = fencepost(&[
        "sweep",
        "stale-enactor",
        "--protocol",
        "redis-fenced,raft-core,consul-session",
        "--nodes",
        "3",
        "--seeds",
        "0..8",
        "--bug",
        "ledger-enactments-unfenced",
        "--set",
        "raft-core.pre-vote=off",
        "--set",
        "consul-session.lock-delay=5s",
        "--json",
        "--out",
        out.to_str().expect("a path"),
    ]);
    let report = json(&swept);
    let causes = report["causes"].as_array().expect("failures");
    let mut seen: Vec<(&str, bool, bool)> = Vec::new();
    for cause in causes {
        let repro = cause["repro"].as_str().expect("a command");
        assert_eq!(shell(&format!("{repro} --quiet --out {}", out.display())).status.code(), Some(1), "{repro}");
        let protocol = cause["protocol"].as_str().expect("a name");
        seen.push((
            protocol,
            repro.contains("--set raft-core.pre-vote=off"),
            repro.contains("--set consul-session.lock-delay=5s"),
        ));
    }
    seen.sort_unstable();
    seen.dedup();
    let expected = [("consul-session", false, true), ("raft-core", true, false), ("redis-fenced", false, false)];
    assert_eq!(seen, expected);
}
