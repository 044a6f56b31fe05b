//! The command line's errors: which option is wrong, what would be right, and what to run next.

use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// An empty folder for a test's files.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-words").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn fencepost(words: &str, folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(words.split_whitespace()).env("NO_COLOR", "1").env_remove("CARGO").env_remove("COLUMNS");
    command.current_dir(folder).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The output and the exit code; lines are joined, so that line breaks do not matter.
fn said(words: &str, folder: &Path) -> (String, Option<i32>) {
    let output = fencepost(words, folder);
    let all = text(&output.stdout) + &text(&output.stderr);
    (all.split_whitespace().collect::<Vec<_>>().join(" "), output.status.code())
}

#[test]
fn a_mistake_is_told_in_the_words_of_the_command_line() {
    let folder = folder("mistakes");
    let run = "scenario steady --seed 1 --duration 2s --rate 20 --history history.jsonl --quiet";
    assert_eq!(fencepost(run, &folder).status.code(), Some(0));
    let report = fencepost("scenario steady --seed 1 --duration 2s --rate 20 --json", &folder).stdout;
    let plan = text(&fencepost("plan steady --seed 1", &folder).stdout);
    for (name, content) in [
        ("report.json", report),
        ("plan.json", plan.clone().into_bytes()),
        ("list.json", b"[]".to_vec()),
        ("other.json", plan.replacen("\"etcd-election\"", "\"etcd\"", 1).into_bytes()),
        ("word.json", plan.replacen("\"seed\": 1", "\"seed\": \"one\"", 1).into_bytes()),
        ("binary.json", vec![0xff, 0xfe, 0x00]),
    ] {
        std::fs::write(folder.join(name), content).expect("a file");
    }
    let cases = [
        (
            "scenario lock-delay --protocol etcd-election",
            "runs only with consul-session; use --protocol consul-session",
        ),
        (
            "bisect weak-crons",
            "runs only with cron-lock, cron-hash, cron-key; use one of them, as --protocol cron-lock",
        ),
        (
            "sweep swarm --seeds 0..1 --protocol cron-hash",
            "`cron-hash` leads only while a night's job runs, and `swarm` asks for a leader at any time; run `weak-crons`",
        ),
        (
            "scenario steady --bug redis-lease-without-ttl",
            "--bug redis-lease-without-ttl is a bug of redis-lease; `etcd-election`",
        ),
        ("scenario steady --members 7", "--members is 7; the service of `etcd-election` has 1 to 5 members"),
        ("scenario steady --protocol raft --members 3", "--members is 3, but `raft` has no service"),
        ("scenario steady --work-items 5", "as --works sequencer,compaction or sequencer,pending-jobs"),
        ("matrix steady --nodes 3,5", "--nodes: one number of candidates for a matrix"),
        ("plan steady --out planned", "--out needs a run; `plan` only prints the plan"),
        ("scenario steady --nodes -3", "--nodes: `-3` is not a number of candidates"),
        ("sweep steady --seeds 0..1 --jobs -1", "--jobs: `-1` is not a number from 1 to 1024"),
        ("sweep steady --seeds 0..1 --jobs 0", "--jobs: `0` is not a number from 1 to 1024"),
        ("matrix --jobs foo", "--jobs: `foo` is not a number from 1 to 1024"),
        ("experiments foo", "`foo` is not a number from 1 to 11"),
        ("sweep steady --seeds 0..1 --protocol etcd", "--protocol: there is no protocol `etcd`; did you mean"),
        ("sweep steady --seeds 0..1 --protocol raft,,bully", "--protocol: there is an empty name in `raft,,bully`"),
        (
            "scenario steady --beside nonsense",
            "--beside: `nonsense` is not a change; write OPTION=VALUE, such as fencing=on",
        ),
        ("scenario", " list scenarios` has the names"),
        ("replay plan.json --seed 3", "--seed: a plan says that itself"),
        ("replay history.jsonl", "it is a history, not a plan; judge it with `"),
        ("replay report.json", "it is a report, not a plan; replay the capsule.json or the plan.json"),
        ("replay list.json", "invalid type: a list, expected an object"),
        ("replay other.json", "there is no protocol `etcd`; did you mean `etcd-election` or `etcd-key`?"),
        ("replay word.json", "expected a whole number, 0 or more"),
        ("replay binary.json", "cannot read binary.json: it is not text"),
        ("completions tcsh", "[possible values: bash, elvish, fish, powershell, zsh]"),
    ];
    refused(&cases, &folder);
    assert!(!folder.join("planned").exists());
}

/// Each is rejected with 64 and this message.
fn refused(cases: &[(&str, &str)], folder: &Path) {
    let mut wrong = Vec::new();
    for (words, expected) in cases {
        let (said, code) = said(words, folder);
        if code != Some(64) || !said.contains(expected) || said.contains("similar value") {
            wrong.push(format!("{words}: {code:?}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_name_in_other_words_or_letters_is_answered_with_the_one_that_is_meant() {
    let folder = folder("names");
    std::fs::write(folder.join("plan.json"), "{}").expect("a file");
    let cases = [
        ("scenario GC-Pause", "there is no scenario `GC-Pause`; did you mean `gc-pause`?"),
        ("scenario steady --protocol RAFT", "did you mean `raft`?"),
        ("scenario steady --protocol postgres", "did you mean `pg-advisory`, `db-row` or `db-row-node-clock`?"),
        ("scenario steady --protocol kubernetes", "did you mean `k8s-lease`?"),
        ("scenario steady --protocol lease", "these have it in their name: "),
        ("scenario steady --seed 1 --quiet --out plan.json", "plan.json is a file, and --out is a folder"),
        ("sweep steady --seeds 0..1 --out plan.json", "plan.json is a file, and --out is a folder"),
        ("sweep --seeds 0..1", "`sweep all` runs every scenario"),
    ];
    refused(&cases, &folder);
}

#[test]
fn help_shows_no_option_that_is_always_refused() {
    let folder = folder("help");
    let help = |command: &str| text(&fencepost(&format!("{command} --help"), &folder).stdout);
    for command in ["sweep", "determinism", "plan"] {
        for option in ["--trace", "--history", "--open"] {
            assert!(!help(command).contains(&format!("\n      {option}")), "{command} {option}");
        }
    }
    assert!(!help("bisect").contains("--clock-drift") && help("scenario").contains("--clock-drift"));
    assert!(help("sweep").contains("Numbers of candidates, such as 3,5,7"));
    assert!(!help("scenario").contains("sweep takes several"));
    for command in ["matrix", "bisect", "report", "advise", "assess"] {
        assert!(help(command).contains("Exit codes: 0"), "{command}");
    }
}

#[test]
fn a_sweep_says_in_how_many_runs_a_bug_shows() {
    let folder = folder("bugs");
    // A bug in a cell that promises nothing about it: all promises are kept, and the bug shows.
    let sweep = "sweep late-answer --protocol redis-lease --nodes 3 --seeds 0..2 --jobs 1";
    let bug = "redis-lease-belief-from-answer";
    let (with, code) = said(&format!("{sweep} --bug {bug}"), &folder);
    assert!(
        code == Some(0) && with.contains(&format!("bug {bug} shows in 2 of 2 runs: dual_belief see it: ")),
        "{with}"
    );
    let (without, _) = said(sweep, &folder);
    assert!(!without.contains("shows in"), "{without}");
    let summary: Value = serde_json::from_slice(&fencepost(&format!("{sweep} --bug {bug} --json"), &folder).stdout)
        .expect("one JSON object");
    let seen = &summary["bugs"][0];
    assert_eq!((&seen["id"], &seen["shown"], &seen["runs"]), (&bug.into(), &2.into(), &2.into()), "{summary:#}");
    let command = seen["command"].as_str().expect("a command");
    assert!(command.contains(&format!("--bug {bug}")), "{command}");
    // A figure, and a flaw by design: its own sweep shows it, and the other does not.
    let polls = "sweep outage-recovery --protocol db-row --groups 8 --nodes 3 --seeds 0..1 --bug polls-in-step";
    let (polls, _) = said(polls, &folder);
    assert!(polls.contains("bug polls-in-step shows in ") && polls.contains(" above 20"), "{polls}");
    let unfenced = "sweep gc-pause --protocol etcd-election --nodes 3 --seeds 0..1";
    let (shown, _) = said(&format!("{unfenced} --fencing off"), &folder);
    assert!(shown.contains("bug unfenced shows in 1 of 1 runs: leaders_acting_by_effect"), "{shown}");
    let (mended, _) = said(unfenced, &folder);
    assert!(mended.contains("bug unfenced shows in 0 of 1 runs"), "{mended}");
}

#[test]
fn a_bound_on_a_figure_is_told_as_that() {
    let folder = folder("bound");
    let sweep = "sweep steady --protocol db-row-node-clock --clock-skew 3m --nodes 3 --seeds 0..1";
    let (said, code) = said(sweep, &folder);
    assert_eq!(code, Some(1), "{said}");
    let why =
        "elections, more than the 1 that the cell's promise allows: a bound on a figure, so the run by itself passes";
    assert!(said.contains(why) && !said.contains("what happened"), "{said}");
}

#[test]
fn a_run_that_shows_nothing_says_what_would() {
    let folder = folder("nothing");
    let (short, code) = said("scenario gc-pause --duration 3s --seed 1 --rate 20", &folder);
    assert_eq!(code, Some(2), "{short}");
    assert!(short.contains("no fault struck before the run ended at 3s: leave --duration out"), "{short}");
    assert!(!short.contains("other seeds"), "{short}");
    let (alone, code) = said("scenario gc-pause --nodes 1 --seed 1 --rate 20", &folder);
    assert!(code == Some(2) && alone.contains("gc-pause needs 2 nodes"), "{alone}");
    // If a pause struck and was too short, the run's length does not matter.
    let (weak, _) = said("scenario gc-pause --pause 500ms --duration 21s --seed 1 --rate 20", &folder);
    assert!(weak.contains("nobody takes over within the pause (500ms), since"), "{weak}");
    assert!(!weak.contains("other seeds") && !weak.contains("leave --duration out"), "{weak}");
    let (quiet, _) = said("scenario gc-pause --pause 500ms --seed 1 --rate 20 --quiet", &folder);
    assert!(quiet.contains("seed 1: inconclusive: elections: at least 2 needed"), "{quiet}");
}

#[test]
fn beside_takes_another_seed_and_repeats_what_it_showed() {
    let folder = folder("beside");
    let run = "scenario gc-pause --seed 42 --rate 20 --fencing off --beside";
    let (said, code) = said(&format!("{run} seed=43"), &folder);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("A gc-pause · etcd-election · seed 42") && said.contains("B gc-pause · etcd-election · seed 43")
    );
    assert!(said.contains("--seed 42 --rate 20 --fencing off --beside seed=43"), "{said}");
    assert!(!said.contains("beside it, with fencing"), "it is beside it already: {said}");
    // Times are formatted as in the report.
    assert!(said.contains("dark time 0 µs") || said.contains(" s "), "{said}");
    assert!(!said.contains("0.0 ms"), "{said}");
}

#[test]
fn clean_removes_what_runs_leave_and_nothing_else() {
    let folder = folder("clean");
    let failing = "scenario gc-pause --seed 42 --rate 20 --fencing off --quiet";
    assert_eq!(fencepost(failing, &folder).status.code(), Some(1));
    let left = folder.join("target/fencepost/gc-pause/etcd-election-fencing-off/42");
    std::fs::write(left.join("notes.md"), "mine").expect("a file");
    let (would, code) = said("clean --dry-run", &folder);
    assert!(
        code == Some(0) && would.starts_with("would remove 7 files") && left.join("capsule.json").exists(),
        "{would}"
    );
    let (done, code) = said("clean", &folder);
    assert!(code == Some(0) && done.starts_with("removed 7 files"), "{done}");
    let kept: Vec<_> = std::fs::read_dir(&left).expect("the folder").flatten().map(|e| e.file_name()).collect();
    assert_eq!(kept, ["notes.md"]);
    assert!(said("clean", &folder).0.starts_with("removed 0 files"), "there is nothing left");
}

#[test]
fn commands_that_are_printed_can_be_run() {
    let folder = folder("printed");
    let program = env!("CARGO_BIN_EXE_fencepost");
    let bugs = text(&fencepost("list bugs", &folder).stdout);
    let shown = bugs.split("Shown by:").skip(1);
    assert!(shown.clone().count() > 50);
    for command in shown {
        assert!(command.trim_start().starts_with(program), "{command}");
    }
    let (advice, _) = said("advise --slo 99.999% --no-trial --protocol redis-fenced", &folder);
    assert!(advice.contains("Warning: no pauses were given") && !advice.contains("Tried"), "{advice}");
    assert!(advice.contains(&format!("See it: {program} scenario clean-kill --protocol redis-fenced")), "{advice}");
    assert!(advice.contains(" 0.03 >99 %"), "a crash a month changes the leader: {advice}");
    let pauses = "advise --slo 99% --no-trial --protocol redis-fenced --lease-ttl 3s --over 30d --pause";
    let (advice, _) = said(&format!("{pauses} 7s"), &folder);
    assert!(
        advice.contains("scenario gc-pause --protocol redis-fenced --seed 1 ") && advice.contains("--pause 7s"),
        "{advice}"
    );
}

#[test]
fn a_report_is_short_and_v_has_all_of_it() {
    let folder = folder("short");
    let run = "scenario gc-pause --seed 42 --rate 50";
    let [short, all] = ["", " -v"].map(|more| text(&fencepost(&format!("{run}{more}"), &folder).stdout));
    for part in ["\nTimeline\n", "\nFigures\n", "failover time", "\nPASS: ", "\nrun it again: "] {
        assert!(short.contains(part) && all.contains(part), "{part}: {short}");
    }
    for part in ["\nPlan\n", "\nLeaders\n", "\nInvariants\n", "  ✓ liveness ", "trace hash"] {
        assert!(!short.contains(part) && all.contains(part), "{part}: {short}{all}");
    }
    assert!(short.lines().count() < 36 && short.contains("\n-v shows "), "{short}");
    // Violations are always listed.
    let broken = text(&fencepost(&format!("{run} --fencing off"), &folder).stdout);
    for name in ["leaders_acting_by_effect", "tokens_monotone", "seq_strictly_increasing", "read_version"] {
        assert!(broken.contains(&format!("✗ {name}")), "{name}: {broken}");
    }
}

#[test]
fn a_list_begins_with_how_much_there_is() {
    let folder = folder("list");
    let overview = text(&fencepost("list", &folder).stdout);
    assert!(overview.lines().count() < 15, "{overview}");
    for kind in ["scenarios", "protocols", "faults", "invariants", "works", "networks"] {
        let listed = text(&fencepost(&format!("list {kind}"), &folder).stdout).lines().count();
        let row = overview.lines().find(|line| line.starts_with(kind)).expect("a line of its own");
        assert_eq!(row.split_whitespace().nth(1), Some(&*listed.to_string()), "{row}");
    }
    assert!(overview.contains(" list scenarios`") && overview.contains(" list all`"), "{overview}");
    let all = text(&fencepost("list all", &folder).stdout);
    assert!(all.lines().count() > 300 && all.contains("\n  gc-pause "), "{all}");
}

#[test]
fn a_hold_down_that_ends_with_the_warm_up_is_named() {
    let folder = folder("hold-down");
    let run = "scenario steady --seed 2 --duration 2m --rate 20 --health-check-errors 40% --warm-up 10s --hold-down";
    let (dismissed, code) = said(&format!("{run} 10s"), &folder);
    assert_eq!(code, Some(3), "{dismissed}");
    for words in
        ["was elected meanwhile, and resigned before it wrote anything", "a hold-down that outlasts the warm-up (10s)"]
    {
        assert!(dismissed.contains(words) || dismissed.contains("came and went meanwhile"), "{words}: {dismissed}");
    }
    assert!(dismissed.contains("--hold-down 20s"), "{dismissed}");
    for seed in 0..6 {
        let run = run.replace("--seed 2", &format!("--seed {seed}"));
        let (held, code) = said(&format!("{run} 20s --quiet"), &folder);
        assert_eq!(code, Some(0), "{held}");
    }
}
