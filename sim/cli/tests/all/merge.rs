//! `merge`: the shards of a sweep give the whole sweep's result, and unrelated shards are rejected.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const SWEEP: &str = "sweep steady gc-pause --protocol redis-lease,redis-fenced --bug mixed-locks --nodes 3 --rate 50";

pub fn fencepost(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.env("NO_COLOR", "1").env_remove("CARGO").env_remove("COLUMNS").current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.args(arguments.split(' ')).output().expect("the binary runs")
}

/// An empty folder for a test's files.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-merge").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// The files in a folder, by name, without their timings.
pub fn left(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).expect("below it").display().to_string();
            found.insert(name, timeless(&path));
        }
    }
    found
}

fn timeless(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).expect("a file");
    let times: &[&str] = match path.file_name().and_then(|name| name.to_str()) {
        Some("summary.json") => &["\"wall_s\":", "\"jobs\":", "\"runs_per_s\":", "\"runs_per_s_and_core\":"],
        Some("junit.xml") => &["<testsuite name="],
        Some("report.json") => &["\"wall_ms\":"],
        Some("report.txt") => return without_real_time(&bytes),
        _ => return bytes,
    };
    let text = String::from_utf8(bytes).expect("text");
    let lines = text.lines().filter(|line| !times.iter().any(|time| line.trim_start().starts_with(time)));
    lines.collect::<Vec<_>>().join("\n").into_bytes()
}

/// The report's text without the run's duration.
fn without_real_time(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    text.lines().filter(|line| !line.contains("real time")).collect::<Vec<_>>().join("\n").into_bytes()
}

#[test]
fn shards_make_what_the_whole_sweep_makes() {
    let root = folder("whole");
    // Artifacts contain their folder's path, so both use the same one.
    let out = root.join("out");
    let whole = fencepost(&format!("{SWEEP} --seeds 0..7 --jobs 1 --out {}", out.display()));
    assert_eq!(whole.status.code(), Some(1), "the bug breaks a promise");
    let expected = left(&out);
    assert!(expected.contains_key("failures.ndjson") && expected.keys().any(|name| name.ends_with("capsule.json")));
    fs::remove_dir_all(&out).expect("it can be removed");
    let shards: Vec<String> = (1..=3).map(|part| root.join(part.to_string()).display().to_string()).collect();
    for (part, shard) in (1..).zip(&shards) {
        let output = fencepost(&format!("{SWEEP} --seeds 0..7 --shard {part}/3 --out {shard}"));
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    }
    // In any order.
    let merged = fencepost(&format!("merge {} {} {} --out {}", shards[2], shards[0], shards[1], out.display()));
    assert_eq!(merged.status.code(), Some(1), "{}", String::from_utf8_lossy(&merged.stderr));
    let found = left(&out);
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, bytes) in &expected {
        assert_eq!(String::from_utf8_lossy(&found[name]), String::from_utf8_lossy(bytes), "{name}");
    }
    // The table and the causes; the last line has timings.
    let said = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().filter(|line| !line.contains("runs/s")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(said(&merged), said(&whole));
    let summary: Value = serde_json::from_slice(&fs::read(out.join("summary.json")).expect("a file")).expect("JSON");
    let seconds = |folder: &str| {
        let text = fs::read(Path::new(folder).join("summary.json")).expect("a file");
        serde_json::from_slice::<Value>(&text).expect("JSON")["wall_s"].as_f64().expect("a number")
    };
    let sum: f64 = shards.iter().map(|shard| seconds(shard)).sum();
    assert!((summary["wall_s"].as_f64().expect("a number") - sum).abs() < 0.01, "all shards together: {sum}");
}

#[test]
fn shards_that_do_not_belong_together_are_refused() {
    let root = folder("refused");
    let sweep = |name: &str, seeds: &str, more: &str, shard: &str| {
        let out = root.join(name).display().to_string();
        let command = format!("sweep steady --protocol redis-lease --rate 50 --nodes 3 --seeds {seeds}{more}{shard}");
        let output = fencepost(&format!("{command} --out {out}"));
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        out
    };
    let one = sweep("one", "0..4", "", " --shard 1/2");
    let two = sweep("two", "0..4", "", " --shard 2/2");
    let copy = sweep("copy", "0..4", "", " --shard 1/2");
    let others = sweep("others", "4..8", "", " --shard 2/2");
    let options = sweep("options", "0..4", " --lease-ttl 4s", " --shard 2/2");
    let thirds = sweep("thirds", "0..4", "", " --shard 2/3");
    let whole = sweep("whole", "0..4", "", "");
    let out = root.join("out").display().to_string();
    for (dirs, why) in [
        (format!("{one} {others}"), "belong to different sweeps: the seeds differ".to_owned()),
        (format!("{one} {options}"), "belong to different sweeps: the options differ".to_owned()),
        (format!("{one} {thirds}"), "one of 2 shards, and".to_owned()),
        (one.clone(), "shard 2/2 is missing".to_owned()),
        (two.clone(), "shard 1/2 is missing".to_owned()),
        (format!("{one} {copy} {two}"), "are both shard 1/2".to_owned()),
        (format!("{one} {whole}"), "cannot read".to_owned()),
    ] {
        let output = fencepost(&format!("merge {dirs} --out {out}"));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), told.lines().count()), (Some(64), 1), "{dirs}: {told}");
        assert!(told.contains(&why), "{dirs}: {told}");
    }
    assert!(!Path::new(&out).exists(), "nothing is written of what is refused");
    assert_eq!(fencepost(&format!("merge {two} {one} --out {out}")).status.code(), Some(0));
}
