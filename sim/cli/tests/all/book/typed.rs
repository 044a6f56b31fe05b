//! Runs every command of the simulation that the README, the book, the findings and help texts print, as it stands or
//! reduced if it would take long. [`REDUCED`] has the reductions by kind of command, so a page may print another
//! command without a change here. [`ENDS`] has the exit codes other than 0.
//!
//! [`STANDS_FOR`] has the pages' placeholders, and [`FIRST`] creates the files that an earlier command leaves.

use super::{Page, commands, pages, root};
use crate::printed::{of_help_texts, of_the_findings, words as split};
use clap::Parser;
use sim_cli::commands::args::Cli;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

/// Options that reduce a command: its first words, and the options to set. A word without dashes replaces the missing
/// name after the command's name. The first match applies.
const REDUCED: [(&str, &[(&str, &str)]); 22] = [
    ("sweep swarm", &[("--seeds", "0..3")]),
    ("sweep all", &[("--seeds", "0..1"), ("--protocol", "redis-fenced"), ("--nodes", "3"), ("--shard", "1/60")]),
    ("sweep", &[("--seeds", "0..4")]),
    ("advise", &[("--no-trial", "")]),
    ("matrix", &[("steady", ""), ("--protocol", "redis-fenced"), ("--seeds", "0..1"), ("--rate", "50")]),
    ("frontier", &[("--seeds", "0..1"), ("--points", "2"), ("--rate", "50")]),
    ("bisect", &[("--seeds", "0..1"), ("--rate", "50")]),
    ("determinism", &[("--seeds", "0..1"), ("--protocol", "redis-fenced"), ("--rate", "50")]),
    ("plot ttl-sweep", &[("--seeds", "0..1"), ("--ttl", "2s"), ("--protocol", "redis-fenced")]),
    ("plot election-cdf", &[("--runs", "3")]),
    ("plot message-counts", &[("--protocol", "bully"), ("--nodes", "3")]),
    ("experiments", &[("7", ""), ("--reduced", "")]),
    ("exhaust", &[("--protocol", "redis-fenced"), ("--pairs", "5")]),
    ("nightly", &[("--protocol", "redis-fenced"), ("--runs", "1")]),
    ("explain", &[("--futures", "3")]),
    ("mutants ledger-one-sealed", &[]),
    ("mutants", &[("mixed-locks", ""), ("--seeds", "0..3")]),
    ("work-set", &[("--jobs", "20k")]),
    ("report", &[]),
    ("scenario steady --duration", &[("--duration", "20s")]),
    ("scenario shard-rebalance", &[("--groups", "3")]),
    ("", &[]),
];

/// Commands that end with another code than 0. Add a page's new command of that kind here.
const ENDS: [(&str, &[i32]); 28] = [
    ("scenario gc-pause --seed 42 --fencing off", &[1]),
    ("scenario swarm --seed", &[1]),
    ("scenario gc-pause --protocol redis-naive", &[1]),
    ("scenario gc-pause --fencing off", &[1]),
    ("scenario partition --protocol redis-lease --bug", &[1]),
    ("scenario redis-restart --protocol redis-sentinel", &[1]),
    ("scenario gc-pause --protocol pg-advisory-pooled", &[1]),
    ("scenario steady --protocol db-row-node-clock", &[1]),
    ("scenario diverging-copies --protocol bully", &[1]),
    ("scenario incident-invoice --protocol redis-fenced", &[1]),
    ("scenario weak-crons --protocol cron-lock", &[1]),
    ("sweep stale-enactor", &[1]),
    ("scenario partition --protocol redis-naive", &[1]),
    ("replay target/fencepost/partition/redis-naive", &[1]),
    (
        "assess k8s-lease --lease-ttl 15s --set k8s-lease.renew-deadline=10s --retry-period 2s --pause 20s --fencing off",
        &[1],
    ),
    ("assess etcd-election --lease-ttl 10s --partition 30s --fencing off", &[1]),
    // Clients that nobody serves in time.
    ("scenario stale-address --address dns --address-ttl 30s", &[3]),
    ("scenario heartbeat-starved --protocol raft --control-link separate", &[3]),
    ("replay seeds/gc-pause-fencing-off.json", &[1]),
    ("check sim/cli/tests/testdata/logs/invoices.csv --", &[1]),
    // The error names what is unclear, and the options to add.
    ("check sim/cli/tests/testdata/logs/invoices.csv", &[64]),
    ("check sim/cli/tests/testdata/logs/billing", &[1]),
    ("check controller-1.log", &[1]),
    ("check app.log", &[1]),
    ("check lease.yaml", &[1]),
    ("check history.edn", &[1]),
    ("check monitor.txt", &[1]),
    ("", &[0]),
];

/// Placeholders, and their values.
const STANDS_FOR: [(&str, &str); 6] = [
    ("NAME", "gc-pause"),
    ("P", "etcd-election"),
    ("N", "42"),
    ("FILE", "reports/experiments/profiles/jvm-g1.log"),
    ("DIR", "manual"),
    ("capsule.json", "target/fencepost/partition/redis-naive/7/capsule.json"),
];

/// A table of writes that a help text names.
const WRITES: &str =
    "created_at,worker,fence_token,version\n2026-11-21T10:00:00Z,w1,41,1\n2026-11-21T10:00:01Z,w2,42,2\n";

/// Files that help texts name as the user's own, and their content.
const FILES: [(&str, &str); 9] = [
    ("app.log", "sim/cli/tests/testdata/logs/app.log"),
    ("controller-1.log", "sim/cli/tests/testdata/logs/controller-1.log"),
    ("controller-2.log", "sim/cli/tests/testdata/logs/controller-2.log"),
    ("lease.yaml", "sim/cli/tests/testdata/logs/lease.yaml"),
    ("history.edn", "sim/cli/tests/testdata/logs/history.edn"),
    ("monitor.txt", "sim/cli/tests/testdata/logs/monitor.txt"),
    ("gc.log", "reports/experiments/profiles/jvm-g1.log"),
    ("monday.jsonl", "history.jsonl"),
    ("tuesday.jsonl", "history.jsonl"),
];

/// Commands that create the files that later commands read.
const FIRST: [&str; 3] = [
    "scenario partition --protocol redis-naive --seed 7 --rate 50 --quiet",
    "scenario gc-pause --rate 50 --seed 42 --history history.jsonl --quiet",
    "plan gc-pause --seed 42",
];

/// Commands that are only parsed, and why: another test makes their inputs, or their exit code depends on earlier
/// commands.
const PARSED: [(&str, &str); 5] = [
    ("check app.log --elected", "it goes on until it is interrupted; followed.rs runs others like it"),
    ("check -", "another program writes what it reads; `cargo real-test written::` runs it"),
    ("check n1.log n2.log", "whatever these logs say"),
    ("merge", "its shards are made and merged in merge.rs"),
    ("clean", "it would remove what others go on with"),
];

fn fits<'a, T>(table: &'a [(&str, T)], command: &str) -> Option<&'a T> {
    table.iter().find(|(begins, _)| command.starts_with(begins)).map(|(_, value)| value)
}

/// The command reduced, with a seed if one would be drawn, and without opening a browser.
fn reduced(command: &str, mut words: Vec<String>) -> Vec<String> {
    words.retain(|word| word != "--open");
    if command.starts_with("scenario ") && !words.iter().any(|word| word == "--seed") {
        words.extend(["--seed", "1"].map(str::to_owned));
    }
    for (option, value) in fits(&REDUCED, command).copied().unwrap_or_default() {
        if !option.starts_with("--") {
            if words.get(1).is_none_or(|word| word.starts_with("--")) {
                words.insert(1, (*option).to_owned());
            }
            continue;
        }
        match words.iter().position(|word| word == option) {
            Some(_) if value.is_empty() => {}
            Some(place) => words[place + 1] = (*value).to_owned(),
            None => words.extend([*option, *value].into_iter().filter(|word| !word.is_empty()).map(str::to_owned)),
        }
    }
    words
}

/// Runs it in the folder; returns the exit code and the output.
fn run(words: &[String], folder: &Path) -> (Option<i32>, String) {
    let mut run = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    run.args(words).current_dir(folder).env("NO_COLOR", "1");
    let output = run.output().expect("the command starts");
    if words.first().is_some_and(|word| word == "plan") {
        fs::write(folder.join("plan.json"), &output.stdout).expect("a plan");
    }
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A folder like a clone of the repository, as far as commands name its files.
fn clone() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("typed");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    for name in ["reports", "seeds", "sim"] {
        std::os::unix::fs::symlink(root().canonicalize().expect("a path").join(name), folder.join(name))
            .expect("a link");
    }
    folder
}

#[test]
#[ignore = "long: .ci/run runs it"]
fn every_printed_command_runs_as_it_stands_or_with_less_of_the_same() {
    let mut all = pages();
    all.insert("README.md".to_owned(), Page::read("README.md"));
    let folder = clone();
    for first in FIRST {
        let (code, said) = run(&split(first), &folder);
        assert!(matches!(code, Some(0 | 1)), "{first}: {code:?}: {said}");
    }
    fs::write(folder.join("writes.csv"), WRITES).expect("a table");
    for (name, stands_for) in FILES {
        fs::copy(folder.join(stands_for), folder.join(name)).expect(stands_for);
    }
    let run_elsewhere: BTreeSet<String> = crate::found::commands().collect();
    let (mut done, mut wrong, mut slow) = (BTreeSet::new(), Vec::new(), Vec::new());
    let of_pages = all.iter().flat_map(|(name, page)| commands(page).into_iter().map(move |words| (&**name, words)));
    let others = [("FINDINGS.md", of_the_findings()), ("a help text", of_help_texts())];
    let as_words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let others = others.into_iter().flat_map(|(name, all)| all.into_iter().map(move |text| (name, as_words(text))));
    for (page, words) in of_pages.chain(others) {
        if !words.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_lowercase())) {
            continue;
        }
        let stands_for = |word: String| {
            let named = STANDS_FOR.iter().find(|(placeholder, _)| *placeholder == word);
            named.map_or(word, |(_, value)| (*value).to_owned())
        };
        let words: Vec<String> = split(words.join(" ").trim_end_matches(')')).into_iter().map(stands_for).collect();
        let command = words.join(" ");
        if let Err(error) = Cli::try_parse_from([&["fencepost".to_owned()], &words[..]].concat()) {
            wrong.push(format!("{page}: {command}: {error}"));
            continue;
        }
        if fits(&PARSED, &command).is_some() || !done.insert(command.clone()) || run_elsewhere.contains(&command) {
            continue;
        }
        let began = Instant::now();
        let (code, said) = run(&reduced(&command, words), &folder);
        let ends = fits(&ENDS, &command).copied().unwrap_or_default();
        if !code.is_some_and(|code| ends.contains(&code)) {
            let last = said.lines().last().unwrap_or_default();
            wrong.push(format!("{page}: {command}: ended with {code:?}, not {ends:?}: {last}"));
        }
        slow.push((began.elapsed().as_millis(), command));
    }
    slow.sort();
    for (ms, command) in slow.iter().rev().take(8) {
        println!("{ms} ms: {command}");
    }
    assert!(done.len() > 60, "only {} commands were run", done.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (begins, _) in &ENDS {
        assert!(done.iter().any(|command| command.starts_with(begins)), "no page prints `{begins}` any more");
    }
    let _ = fs::remove_dir_all(&folder);
}
