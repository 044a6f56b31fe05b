//! The examples outside the workspace have locked what the workspace asks for; `own-elector` uses the same versions.

use super::root;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

fn read(file: &str) -> String {
    let path = root().join(file);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn quoted(line: &str) -> String {
    line.split('"').nth(1).unwrap_or_default().to_owned()
}

/// Every package of a lock file, with its version.
fn locked(folder: &str) -> BTreeSet<(String, String)> {
    let text = read(&format!("{folder}/Cargo.lock"));
    let (names, versions) = ("name = ", "version = ");
    let named = text.lines().filter(|line| line.starts_with(names)).map(quoted);
    // The file's own version is unquoted.
    let versions = text.lines().filter(|line| line.starts_with(versions) && line.contains('"')).map(quoted);
    named.zip(versions).collect()
}

/// The dependencies of each package in a lock file, by name.
fn dependencies(folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    let text = read(&format!("{folder}/Cargo.lock"));
    let package = |block: &str| {
        let (head, listed) = block.split_once("dependencies = [").unwrap_or((block, ""));
        let name = head.lines().find(|line| line.starts_with("name = ")).map(quoted)?;
        // If two versions are locked, the name is followed by one of them.
        let bare = |line: &str| quoted(line).split(' ').next().map(str::to_owned);
        Some((name, listed.lines().filter_map(bare).filter(|name| !name.is_empty()).collect()))
    };
    text.split("[[package]]").filter_map(package).collect()
}

/// What the registry calls one of our crates; anything else has the name that the code uses.
fn package(name: &str) -> &str {
    match name {
        "protocols" => "fencepost-protocols",
        "protocols-clients" => "fencepost-clients",
        "scenarios" => "fencepost-scenarios",
        "reports" => "fencepost-reports",
        "logs" => "fencepost-logs",
        "sim" => "fencepost-sim",
        other => other,
    }
}

/// The dependencies in a manifest that are neither optional nor dev-dependencies.
fn asked_for(manifest: &str) -> BTreeSet<String> {
    let mut asked = BTreeSet::new();
    let mut counts = false;
    for line in read(manifest).lines() {
        if line.starts_with('[') {
            counts = line.ends_with("dependencies]") && !line.contains("dev-dependencies");
        } else if counts && line.contains('=') && !line.starts_with('#') && !line.contains("optional = true") {
            let end = line.find([' ', '.', '=']).unwrap_or(line.len());
            asked.insert(package(&line[..end]).to_owned());
        }
    }
    asked
}

#[test]
fn an_own_elector_has_the_versions_of_the_workspace() {
    let (ours, own) = (locked("."), locked("sim/examples/own-elector"));
    assert!(own.len() > 50, "only {} packages", own.len());
    let other: Vec<_> = own.difference(&ours).filter(|(name, _)| name != "own-elector").collect();
    assert!(other.is_empty(), "`cargo update` the example to the workspace's versions: {other:?}");
}

/// CI builds the examples with `--locked`.
#[test]
fn the_examples_have_locked_what_our_crates_ask_for() {
    const OURS: [(&str, &str); 8] = [
        ("fencepost-protocols", "protocols/Cargo.toml"),
        ("fencepost-clients", "protocols/clients/Cargo.toml"),
        ("fencepost-scenarios", "scenarios/Cargo.toml"),
        ("fencepost-reports", "reports/Cargo.toml"),
        ("fencepost-logs", "reports/logs/Cargo.toml"),
        ("fencepost-sim", "sim/Cargo.toml"),
        ("fencepost-cli", "sim/cli/Cargo.toml"),
        ("fencepost-libc", "sim/process/libc/Cargo.toml"),
    ];
    for example in [
        "sim/examples/own-elector",
        "sim/examples/own-service",
        "sim/examples/ecosystem",
        "sim/examples/invoices",
        "sim/examples/own-node",
    ] {
        let locked = dependencies(example);
        let mut compared = 0;
        for (name, manifest) in OURS {
            let asked = asked_for(manifest);
            assert!(!asked.is_empty(), "{manifest}: nothing was read");
            let Some(locked) = locked.get(name) else { continue };
            let missing: Vec<_> = asked.difference(locked).collect();
            let build = format!("run `cargo build` in {example}");
            assert!(missing.is_empty(), "{build}: its lock file lacks {missing:?} of {name}");
            compared += 1;
        }
        assert!(compared > 5, "{example} uses only {compared} of our crates");
    }
}
