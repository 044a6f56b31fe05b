//! `--shard`: what engines say, what a shard leaves and when, and the manifests of `docs/shards/`.

use crate::merge::{fencepost, folder, left};
use clap::Parser;
use sim_cli::commands::{
    args::{Cli, Command as Asked},
    shard::engine::Share,
};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

const SMALL: &str = "sweep steady --protocol redis-lease --bug mixed-locks --rate 50 --nodes 3 --seeds 0..4";

/// The program in an engine's environment.
fn within(environment: &str, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.env("NO_COLOR", "1").env_remove("CARGO").env_remove("COLUMNS").current_dir(env!("CARGO_TARGET_TMPDIR"));
    for name in ["JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX", "CI_NODE_INDEX", "SLURM_ARRAY_TASK_ID"] {
        command.env_remove(name);
    }
    command.envs(environment.split(' ').filter_map(|pair| pair.split_once('='))).args(arguments.split(' '));
    command
}

fn told(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_shards_of_an_engine_make_the_whole_sweep_drawn_or_not() {
    for (name, sweep, code) in
        [("engine", SMALL, 1), ("engine-swarm", "sweep swarm --protocol raft-core,redis-lease --seeds 3..15", 0)]
    {
        let root = folder(name);
        let (out, shards) = (root.join("out"), root.join("shards"));
        let whole = fencepost(&format!("{sweep} --jobs 1 --out {}", out.display()));
        assert_eq!(told(&whole).0, Some(code), "{}", told(&whole).1);
        let expected = left(&out);
        fs::remove_dir_all(&out).expect("it can be removed");
        for index in 0..3 {
            let command = format!("{sweep} --shard auto/3 --out {}", shards.display());
            let output = within(&format!("JOB_COMPLETION_INDEX={index}"), &command).output().expect("it runs");
            assert_eq!(told(&output).0, Some(code), "{}", told(&output).1);
        }
        assert_eq!(names(&shards), ["1-of-3", "2-of-3", "3-of-3"]);
        // The summaries name artifacts where they lie.
        let summary = fs::read_to_string(shards.join("1-of-3/summary.json")).expect("a summary");
        assert!(!summary.contains(".incomplete"), "{summary}");
        assert_eq!(names(&shards.join("2-of-3")).iter().find(|name| name.starts_with('.')), None);
        let merged = fencepost(&format!("merge {} --out {}", shards.display(), out.display()));
        assert_eq!(told(&merged).0, Some(code), "{}", told(&merged).1);
        let found = left(&out);
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (name, bytes) in &expected {
            assert_eq!(String::from_utf8_lossy(&found[name]), String::from_utf8_lossy(bytes), "{name}");
        }
    }
}

#[test]
fn a_shard_that_was_killed_is_missing_until_it_is_run_again() {
    let root = folder("killed");
    let shards = root.join("shards");
    let sweep = |seeds: &str, shard: &str| {
        let out = shards.join(&shard[..1]);
        format!(
            "sweep steady --protocol redis-lease --rate 50 --nodes 3 --seeds {seeds} --shard {shard} --out {}",
            out.display()
        )
    };
    assert_eq!(fencepost(&sweep("0..4", "1/2")).status.code(), Some(0));
    // It cannot end by itself.
    let mut running = within("", &sweep("0..4000000", "2/2")).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(running.stderr.take().expect("a pipe")).read_line(&mut line).expect("its progress");
    running.kill().expect("it can be killed");
    running.wait().expect("it ends");
    assert!(line.contains("of 2,000,000 done"), "{line}");
    assert!(names(&shards.join("2")).iter().all(|name| name.starts_with(".incomplete")), "{:?}", names(&shards));
    let merge = format!("merge {} --out {}", shards.display(), root.join("out").display());
    let (code, why) = told(&fencepost(&merge));
    assert_eq!((code, why.contains("shard 2/2 is missing")), (Some(64), true), "{why}");
    assert_eq!(fencepost(&sweep("0..4", "2/2")).status.code(), Some(0));
    let (code, why) = told(&fencepost(&merge));
    assert_eq!(code, Some(0), "{why}");
}

#[test]
fn a_folder_has_one_shard_and_a_shard_one_build() {
    let root = folder("builds");
    let shard = |part: u64| format!("{SMALL} --shard {part}/2 --out {}", root.join(part.to_string()).display());
    for part in [1, 2] {
        assert_eq!(told(&fencepost(&shard(part))).0, Some(1));
    }
    let misplaced = format!("{SMALL} --shard 2/2 --out {}", root.join("1").display());
    let (code, why) = told(&fencepost(&misplaced));
    assert_eq!((code, why.contains("1 has shard 1/2 of this sweep")), (Some(64), true), "{why}");
    // Run again, it replaces itself, and what others have put there stays.
    fs::write(root.join("1/notes.txt"), "mine").expect("a file");
    assert_eq!(told(&fencepost(&shard(1))).0, Some(1));
    assert!(root.join("1/notes.txt").is_file() && root.join("1/shard.json").is_file());
    // The same with another commit, compiler or program.
    let file = root.join("2/shard.json");
    let mine: serde_json::Value = serde_json::from_slice(&fs::read(&file).expect("a file")).expect("JSON");
    let altered = |pointer: &str, value: serde_json::Value| {
        let mut altered = mine.clone();
        *altered.pointer_mut(pointer).expect(pointer) = value;
        fs::write(&file, altered.to_string()).expect("a file");
        let merge = format!("merge {0}/1 {0}/2 --out {0}/out", root.display());
        told(&fencepost(&merge))
    };
    for (pointer, value, why) in [
        ("/asked/commit", "0123".into(), "the commit differ"),
        ("/asked/build/0", "rustc 1.0.0".into(), "the builds differ"),
        ("/program", "0123".into(), "of two programs"),
        ("/interrupted", true.into(), "was interrupted"),
        ("/part", serde_json::json!([0, 0]), "is no shard: 0 of 0"),
    ] {
        let (code, told) = altered(pointer, value);
        assert_eq!((code, told.contains(why), told.lines().count()), (Some(64), true, 1), "{pointer}: {told}");
    }
    // A shard of an earlier release had other fields.
    let mut earlier = mine.clone();
    earlier["schema"] = 1.into();
    earlier["asked"].as_object_mut().expect("an object").remove("build");
    fs::write(&file, earlier.to_string()).expect("a file");
    let (code, told) = told(&fencepost(&format!("merge {0}/1 {0}/2 --out {0}/out", root.display())));
    assert_eq!((code, told.contains("has schema 1")), (Some(64), true), "{told}");
}

#[test]
fn one_shard_is_a_shard_and_an_empty_one_is_refused() {
    let root = folder("few");
    let only = format!("{SMALL} --shard auto --out {}", root.join("only").display());
    let output = within("CI_NODE_INDEX=1 CI_NODE_TOTAL=1", &only).output().expect("it runs");
    assert_eq!(told(&output).0, Some(1), "{}", told(&output).1);
    let merged = fencepost(&format!("merge {0}/only --out {0}/merged", root.display()));
    assert_eq!(told(&merged).0, Some(1), "{}", told(&merged).1);
    // More shards than runs.
    let many = format!("{SMALL} --shard auto --out {}", root.join("many").display());
    let output = within("CI_NODE_INDEX=5 CI_NODE_TOTAL=5", &many).output().expect("it runs");
    let (code, why) = told(&output);
    assert_eq!((code, why.contains("shard 5/5 of 4 runs has none")), (Some(64), true), "{why}");
    assert!(!root.join("many").exists(), "nothing is left of it");
    // Shards that end when they like are not the parts of a whole.
    let stable = format!(
        "sweep swarm --protocol raft-core --seeds 0..2 --until-stable --shard 1/2 --out {}/stable",
        root.display()
    );
    let (code, why) = told(&fencepost(&stable));
    assert_eq!(code, Some(0), "{why}");
    assert!(root.join("stable/summary.json").is_file() && !root.join("stable/shard.json").exists());
    // Nothing is set, and the error says what could be.
    let (code, why) = told(&within("", &many).output().expect("it runs"));
    assert_eq!((code, why.contains("SLURM_ARRAY_TASK_ID"), why.lines().count()), (Some(64), true, 1), "{why}");
}

// The manifests.

fn manifest(name: &str) -> String {
    let file: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/shards", name].iter().collect();
    fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// The shard that a manifest's command asks for.
fn share(words: &[&str]) -> Share {
    let asked = Cli::try_parse_from([&["fencepost"], words].concat()).unwrap_or_else(|e| panic!("{words:?}: {e}"));
    match asked.command {
        Asked::Sweep { shard, .. } => shard.expect("--shard"),
        other => panic!("{other:?}"),
    }
}

/// The words of a list in YAML or JSON that follows `key`.
fn listed<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let (_, rest) =
        text.split_once(&format!("{key}: [")).or_else(|| text.split_once(&format!("\"{key}\": ["))).expect(key);
    let list = rest.split(']').next().unwrap_or_default();
    list.split(',').map(|word| word.trim().trim_matches('"')).collect()
}

/// The ends of a sweep that another try would not change; see docs/commands.md.
const FINAL: [&str; 5] = ["1", "2", "3", "6", "64"];

#[test]
fn the_manifests_ask_for_the_shards_that_they_start() {
    let job = manifest("job.yaml");
    assert_eq!(share(&listed(&job, "args")), Share::Auto(Some(8)));
    assert!(job.contains("\n  completions: 8\n"), "as many as --shard auto/8 says");
    assert_eq!(listed(&job, "values"), FINAL);

    let batch: serde_json::Value = serde_json::from_str(&manifest("batch-definition.json")).expect("JSON");
    assert_eq!(share(&listed(&manifest("batch-definition.json"), "command")), Share::Auto(None));
    let ends = batch["retryStrategy"]["evaluateOnExit"].as_array().expect("a list");
    assert_eq!(ends.iter().map(|end| end["onExitCode"].as_str().expect("a code")).collect::<Vec<_>>(), FINAL);
    assert!(ends.iter().all(|end| end["action"] == "EXIT"));

    let workflow = manifest("github.yml");
    let line = |has: &str| workflow.lines().find(|line| line.contains(has)).expect(has).to_owned();
    let shards = listed(&workflow, "shard");
    assert_eq!(shards, (1..=8).map(|shard| shard.to_string()).collect::<Vec<_>>());
    let sweep = line("./fencepost sweep").replace("${{ matrix.shard }}", "8").replace("${{ strategy.job-total }}", "8");
    let (_, sweep) = sweep.split_once("./fencepost ").expect("the command");
    assert_eq!(share(&sweep.split_whitespace().collect::<Vec<_>>()), Share::Part(8, 8));
    let merge = line("./fencepost merge");
    let (_, merge) = merge.split_once("./").expect("the command");
    assert!(Cli::try_parse_from(merge.split_whitespace()).is_ok(), "{merge}");
}
