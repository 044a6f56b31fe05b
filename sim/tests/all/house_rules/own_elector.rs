//! The example that lies outside the workspace is built of what the workspace is built of.

use super::root;
use std::{collections::BTreeSet, fs};

/// Every package of a lock file, with its version.
fn locked(folder: &str) -> BTreeSet<(String, String)> {
    let file = root().join(folder).join("Cargo.lock");
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let value = |line: &str| line.split('"').nth(1).unwrap_or_default().to_owned();
    let (names, versions) = ("name = ", "version = ");
    let named = text.lines().filter(|line| line.starts_with(names)).map(value);
    // The file has a version of its own, unquoted.
    let versions = text.lines().filter(|line| line.starts_with(versions) && line.contains('"')).map(value);
    named.zip(versions).collect()
}

#[test]
fn an_own_elector_has_the_versions_of_the_workspace() {
    let (ours, own) = (locked(""), locked("sim/examples/own-elector"));
    assert!(own.len() > 50, "only {} packages", own.len());
    let other: Vec<_> = own.difference(&ours).filter(|(name, _)| name != "own-elector").collect();
    assert!(other.is_empty(), "`cargo update` the example to the workspace's versions: {other:?}");
}
