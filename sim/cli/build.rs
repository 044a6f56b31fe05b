//! Tells the command from which commit it is built, so that a capsule can say it. It runs again at every commit, and so stands
//! in the crate that is compiled last.

use std::process::Command;

/// What git prints, or nothing when it cannot be run: sources may come without it.
fn git(arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success());
    output.map(|o| String::from_utf8_lossy(&o.stdout).trim_end().to_owned()).unwrap_or_default()
}

fn main() {
    println!("cargo:rustc-env=FENCEPOST_COMMIT={}", git(&["rev-parse", "HEAD"]));
    println!("cargo:rustc-env=FENCEPOST_DIRTY={}", !git(&["status", "--porcelain"]).is_empty());
    println!("cargo:rerun-if-changed=build.rs");
    // In a worktree it lies elsewhere; a file that is not there would count as changed at every build.
    let head = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    if !head.is_empty() {
        println!("cargo:rerun-if-changed={head}");
    }
}
