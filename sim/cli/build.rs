//! Gives the command the commit it is built from, for capsules. This script reruns at every commit, so it belongs to
//! the crate that compiles last.

use std::process::Command;

/// git's output; empty if git fails, since sources may come without it.
fn git(arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success());
    output.map(|o| String::from_utf8_lossy(&o.stdout).trim_end().to_owned()).unwrap_or_default()
}

fn main() {
    println!("cargo:rustc-env=FENCEPOST_COMMIT={}", git(&["rev-parse", "HEAD"]));
    println!("cargo:rustc-env=FENCEPOST_DIRTY={}", !git(&["status", "--porcelain"]).is_empty());
    println!("cargo:rerun-if-changed=build.rs");
    // A worktree keeps it elsewhere; a missing file would count as changed at every build.
    let head = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    if !head.is_empty() {
        println!("cargo:rerun-if-changed={head}");
    }
}
