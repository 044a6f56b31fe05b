//! The examples outside the workspace have locked what our crates ask for.

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

/// CI builds the examples with `--locked`.
#[test]
fn the_examples_have_locked_what_our_crates_ask_for() {
    const OURS: [(&str, &str); 8] = [
        ("fencepost-protocols", "protocols/Cargo.toml"),
        ("fencepost-clients", "protocols/clients/Cargo.toml"),
        ("fencepost-seat", "protocols/seat/Cargo.toml"),
        ("fencepost-scenarios", "scenarios/Cargo.toml"),
        ("fencepost-reports", "reports/Cargo.toml"),
        ("fencepost-sim", "sim/Cargo.toml"),
        ("fencepost", "sim/fencepost/Cargo.toml"),
        ("fencepost-libc", "sim/process/libc/Cargo.toml"),
    ];
    let locked = dependencies("sim/examples");
    for (name, manifest) in OURS {
        let asked = asked_for(manifest);
        assert!(!asked.is_empty(), "{manifest}: nothing was read");
        let locked = locked.get(name).unwrap_or_else(|| panic!("no example uses {name}"));
        let missing: Vec<_> = asked.difference(locked).collect();
        assert!(missing.is_empty(), "run `cargo build` in sim/examples: its lock file lacks {missing:?} of {name}");
    }
}
