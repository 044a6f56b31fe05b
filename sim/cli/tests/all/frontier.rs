//! `frontier` as a process: its output does not depend on the number of jobs, and it reports wrong arithmetic.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

fn fencepost(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(arguments).env("NO_COLOR", "1").env_remove("CARGO").current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The figures of a frontier, and its exit code.
fn figures(arguments: &[&str]) -> (serde_json::Value, Option<i32>) {
    let output = fencepost(arguments);
    let json = serde_json::from_slice(&output.stdout);
    (json.unwrap_or_else(|why| panic!("{why}: {}", text(&output.stderr))), output.status.code())
}

/// The exit code of rerunning a point's arguments.
fn again(side: &serde_json::Value) -> Option<i32> {
    let arguments: Vec<&str> = side["arguments"].as_array().into_iter().flatten().filter_map(|a| a.as_str()).collect();
    fencepost(&arguments).status.code()
}

#[test]
fn a_pause_is_harmless_up_to_what_the_lease_leaves_and_every_point_repeats() {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("frontier").display().to_string();
    let common = ["frontier", "gc-pause", "--protocol", "redis-fenced", "--fencing", "off", "--x", "ttl=1s"];
    let rest = ["--y", "pause=400ms..2s", "--seeds", "0..2", "--rate", "100", "--out", &out, "--json", "--jobs"];
    let with_jobs = |jobs| figures(&[&common[..], &rest, &[jobs]].concat());
    let (found, code) = with_jobs("1");
    assert_eq!((code, &found["schema"]), (Some(0), &1.into()));
    assert_eq!(with_jobs("3").0, found, "more jobs find something else");
    let points = found["points"].as_array().expect("points");
    assert_eq!(points.len(), 1);
    for (point, ttl_ms) in points.iter().zip([1_000]) {
        let at = |side: &str| point[side]["at"].as_u64().expect("an edge");
        assert_eq!((point["x"].as_u64(), at("violates")), (Some(ttl_ms), at("holds") + 1));
        assert_eq!(point["bound"]["safe"], "up-to", "{point}");
        let bound_ms = point["bound"]["value"].as_u64().expect("a bound");
        // A leader that was renewed a third of a lease ago has two thirds left, and a successor takes at most another
        // third.
        assert!(bound_ms < at("violates") && at("violates") < ttl_ms * 4 / 3 + 200, "{point}");
        assert!(bound_ms > ttl_ms / 2 && bound_ms < ttl_ms, "{point}");
        assert_eq!(again(&point["violates"]), Some(1), "{point}");
        let code = match point["holds"]["verdict"].as_str() {
            Some("pass") => 0,
            Some("vacuous") => 2,
            _ => 3,
        };
        assert_eq!(again(&point["holds"]), Some(code), "{point}");
    }
    for format in ["svg", "png", "json"] {
        let file = format!("{out}/frontier-gc-pause-redis-fenced-pause-by-ttl-fencing-off.{format}");
        assert!(std::fs::metadata(&file).is_ok_and(|m| m.len() > 1_000), "{file}");
    }
}

#[test]
fn a_belief_without_an_end_contradicts_the_arithmetic() {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("frontier-bug").display().to_string();
    let search = ["frontier", "read-lease", "--protocol", "redis-lease", "--x", "ttl=1s", "--y", "drift=0..40ppm"];
    let rest = ["--seeds", "0..2", "--reads", "200", "--rate", "20", "--out", &out, "--json"];
    let sound = figures(&[&search[..], &rest].concat());
    let broken = figures(&[&search[..], &rest, &["--bug", "redis-lease-renewal-throws"]].concat());
    let stale = |found: &serde_json::Value| found["points"][0]["contradicted"].as_bool();
    assert_eq!((stale(&sound.0), sound.1), (Some(false), Some(0)), "{}", sound.0);
    assert_eq!((stale(&broken.0), broken.1), (Some(true), Some(1)), "{}", broken.0);
}

#[test]
fn what_makes_no_sense_is_one_sentence() {
    let ttl = ["--x", "ttl=1s..3s"];
    let drift = ["--y", "drift=0..100"];
    for (name, axes, more, says) in [
        ("read-lease", ["--x", "pause=1s..3s"], &drift[..], "pause means nothing to `read-lease`"),
        ("gc-pause", ttl, &["--y", "ttl=1s..3s"], "they must be two"),
        ("gc-pause", ttl, &["--y", "drift=0..100", "--lease-ttl", "3s"], "--lease-ttl is what ttl varies"),
        ("gc-pause", ttl, &["--y", "drift=0..900000"], "at ttl=1s, drift=900000ppm: --clock-drift is 900000"),
        ("gc-pause", ttl, &["--y", "drift=5"], "not a range"),
        ("gc-pause", ["--x", "tll=1s"], &drift, "did you mean `ttl`?"),
        ("gc-paus", ttl, &drift, "did you mean `gc-pause`?"),
        ("gc-pause", ttl, &["--y", "latency=1ms..2ms", "--retry-period", "1s"], "--retry-period means nothing"),
    ] {
        let output = fencepost(&[&["frontier", name], &axes[..], more].concat());
        let why = text(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{why}");
        assert!(why.contains(says) && why.lines().count() == 1, "{why}");
    }
}
