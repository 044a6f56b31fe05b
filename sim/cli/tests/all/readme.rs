//! What the README shows of a run is what the run says.

use std::{path::Path, process::Command};

/// The lines of a report but for those that differ from run to run and from machine to machine.
fn told(text: &str) -> Vec<&str> {
    let differs = |line: &&str| line.contains("real time") || line.starts_with("run it again:");
    text.lines().map(str::trim_end).filter(|line| !differs(line)).collect()
}

#[test]
fn the_sample_is_what_the_command_prints() {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).expect("README.md");
    let begins = readme.find("gc-pause · etcd-election · seed 42").expect("the sample");
    let sample = readme[begins..].split("```").next().expect("the end of the block");
    let mut run = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    run.args(["scenario", "gc-pause", "--seed", "42"]).env("NO_COLOR", "1");
    let printed = String::from_utf8(run.output().expect("the command starts").stdout).expect("text");
    assert_eq!(told(sample), told(&printed));
}
