//! `nightly`: failures stay open until they pass, seeds are never run twice, and nothing counts if the canary passes.

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn fencepost(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.env("NO_COLOR", "1").env_remove("CARGO").env_remove("COLUMNS").current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.args(arguments).output().expect("the binary runs")
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

/// An empty folder for nights.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nightly").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// The line of a night of `redis-fenced`, which is also the last line of the file.
fn night(folder: &Path, more: &str) -> Value {
    let out = folder.display().to_string();
    let mut arguments = vec!["nightly", "--out", &out, "--protocol", "redis-fenced", "--json"];
    arguments.extend(more.split_whitespace());
    let output = fencepost(&arguments);
    let line: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{more}: {e}: {}", said(&output)));
    assert_eq!(line["exit"], output.status.code().expect("an exit code"), "{line:#}");
    let nights = fs::read_to_string(folder.join("nights.ndjson")).expect("a file of nights");
    let last = nights.lines().last().map(|last| serde_json::from_str::<Value>(last).expect("a line of JSON"));
    assert_eq!(last.as_ref(), Some(&line));
    line
}

fn seeds(open: &Value) -> Vec<u64> {
    open.as_array().expect("a list").iter().filter_map(|open| open["failure"]["seed"].as_u64()).collect()
}

/// What the page shows, as its script reads it.
fn page(folder: &Path) -> Value {
    let page = fs::read_to_string(folder.join("index.html")).expect("a page");
    let (_, data) = page.split_once(r#"id="index">"#).expect("the data");
    serde_json::from_str(data.split("</script>").next().expect("an end")).expect("JSON")
}

#[test]
fn a_failure_is_open_until_it_passes_and_no_seed_is_run_twice() {
    let folder = folder("fixed");
    let first = night(&folder, "--runs 2 --bug mixed-locks");
    assert_eq!(
        (&first["exit"], &first["broken"], seeds(&first["open"])),
        (&1.into(), &2.into(), vec![0, 1]),
        "{first:#}"
    );
    let shown = page(&folder);
    assert_eq!((shown["stories"].as_array().map(Vec::len), &shown["bad"]), (Some(2), &true.into()), "{shown:#}");
    let command = shown["stories"][1]["command"].as_str().expect("a command");
    let (_, file) = command.split_once("replay ").expect("a replay");
    assert_eq!(fencepost(&["replay", file, "--quiet", "--no-artifacts"]).status.code(), Some(1), "{command}");

    // The plan of seed 0 is as a build that draws other plans would find it, and that of seed 1 one that it cannot read.
    let [mine, foreign] = ["0", "1"].map(|seed| folder.join(format!("failures/{seed}.json")));
    let drawn = fs::read_to_string(&mine).expect("a capsule");
    let edited = drawn.replacen("\"duration_ms\": ", "\"duration_ms\": 1", 1);
    assert_ne!(drawn, edited);
    fs::write(&mine, edited).expect("an edited capsule");
    let kept = fs::read_to_string(&foreign).expect("a capsule");
    fs::write(&foreign, "{}").expect("another file");
    let second = night(&folder, "--runs 1");
    assert_eq!((&second["seeds"], &second["exit"]), (&serde_json::json!([2, 3]), &1.into()), "{second:#}");
    assert_eq!((seeds(&second["fixed"]), seeds(&second["open"])), (vec![0], vec![1]), "{second:#}");
    assert_eq!((&second["fixed"][0]["redrawn"], &second["open"][0]["since"]), (&false.into(), &first["ended"]));
    assert!(second["open"][0]["unread"].as_str().is_some_and(|why| why.contains("1.json")), "{second:#}");

    fs::write(&foreign, kept).expect("the capsule");
    let third = night(&folder, "--runs 1");
    assert_eq!(
        (seeds(&third["fixed"]), &third["open"], &third["exit"]),
        (vec![1], &Value::Array(Vec::new()), &0.into())
    );
    assert_eq!((&third["seeds"], &third["fixed"][0]["redrawn"]), (&serde_json::json!([3, 4]), &true.into()));
    let shown = page(&folder);
    assert_eq!((shown["verdict"].as_str(), &shown["bad"]), (Some("No failure is open"), &false.into()), "{shown:#}");
    let [figures, fixed, nights] = [0, 1, 2].map(|table| shown["tables"][table]["rows"].as_array().expect("rows"));
    assert_eq!((fixed.len(), nights.len()), (2, 3));
    let line = figures[0].as_array().and_then(|row| row.last()?.as_array()).expect("a line");
    assert_eq!(line.len(), 2, "the night with the bug had other options: {figures:#?}");
}

#[test]
fn nothing_of_a_night_counts_whose_canary_passes() {
    let folder = folder("canary");
    let first = night(&folder, "--runs 1 --bug mixed-locks");
    let plan = folder.join("passes.json");
    fs::write(&plan, fencepost(&["plan", "steady", "--duration", "5s", "--rate", "20"]).stdout).expect("a plan");
    let blind = night(&folder, &format!("--runs 1 --canary {}", plan.display()));
    assert_eq!((&blind["exit"], &blind["open"], &blind["runs"]), (&70.into(), &first["open"], &0.into()), "{blind:#}");
    assert!(blind["worthless"].as_str().is_some_and(|why| why.contains("`pass`")), "{blind:#}");
    assert!(page(&folder)["verdict"].as_str().is_some_and(|said| said.contains("worthless")));
    // Short as the time is, a night runs one seed: the one that did not count.
    let next = night(&folder, "--for 1ms");
    assert_eq!((&next["seeds"], seeds(&next["fixed"])), (&serde_json::json!([1, 2]), vec![0]), "{next:#}");
}

#[test]
fn a_file_that_is_none_of_nights_is_refused_and_stays() {
    let folder = folder("foreign");
    let (file, out) = (folder.join("nights.ndjson"), folder.display().to_string());
    for (text, why) in [
        ("no JSON\n", "line 1 is no night"),
        ("\n{\"schema\": 2}", "line 2 has schema 2, and this program reads 1"),
        ("{\"event\":\"header\"}\n", "line 1 has schema null"),
        ("{\"schema\": 1}\n", "line 1 is no night: missing field"),
    ] {
        fs::write(&file, text).expect("a file");
        let output = fencepost(&["nightly", "--out", &out, "--runs", "1"]);
        assert_eq!(output.status.code(), Some(64), "{}", said(&output));
        assert!(said(&output).contains(why) && said(&output).contains("nights.ndjson"), "{}", said(&output));
        assert_eq!(fs::read_to_string(&file).expect("the file"), text);
    }
    let refused = fencepost(&["nightly", "--out", &out, "--runs", "1", "--rate", "5"]);
    assert!(
        refused.status.code() == Some(64) && said(&refused).contains("--rate means nothing here"),
        "{}",
        said(&refused)
    );
}
