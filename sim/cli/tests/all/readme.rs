//! The excerpts of runs in the README and the book match real output.

use std::{path::Path, process::Command};

fn page(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)).expect(file)
}

fn printed(arguments: &[&str]) -> String {
    let mut run = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    run.args(arguments).arg("--out").arg(out).env("NO_COLOR", "1").env("COLUMNS", "100");
    String::from_utf8(run.output().expect("the command starts").stdout).expect("text")
}

/// The lines of a report without those that differ between runs and machines.
fn told(text: &str) -> Vec<&str> {
    let differs = |line: &&str| line.contains("real time") || line.starts_with("run it again:");
    text.lines().map(str::trim_end).filter(|line| !differs(line)).collect()
}

#[test]
fn the_sample_is_what_the_command_prints() {
    let page = page("docs/reading.md");
    let begins = page.find("gc-pause · etcd-election · seed 42").expect("the sample");
    let sample = page[begins..].split("```").next().expect("the end of the block");
    assert_eq!(told(sample), told(&printed(&["scenario", "gc-pause", "--seed", "42", "--verbose"])));
}

/// The README shows selected lines: each occurs in the report, and in that order.
#[test]
fn the_readmes_excerpts_are_lines_of_the_report() {
    let readme = page("README.md");
    for (begins, arguments) in [
        ("      9.521  ·", &["scenario", "gc-pause", "--seed", "42"][..]),
        ("     10.242  ·", &["scenario", "gc-pause", "--seed", "42", "--fencing", "off"]),
    ] {
        let at = readme.find(&format!("```\n{begins}")).expect("an excerpt");
        let excerpt = readme[at + 4..].split("```").next().expect("the end of the block");
        assert!(excerpt.lines().count() >= 3, "{excerpt}");
        let report = printed(arguments);
        let mut rest = report.lines();
        for line in excerpt.lines() {
            assert!(
                rest.any(|printed| printed.trim_end() == line),
                "{arguments:?} does not print, or not there: {line}"
            );
        }
    }
}
