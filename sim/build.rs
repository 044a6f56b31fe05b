//! Tells the binary what it was built from, so that a capsule can say it.

use std::process::Command;

/// The first line that a command prints, or nothing when it cannot be run: sources may come without git.
fn line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.ok().filter(|o| o.status.success()).map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    text.and_then(|t| t.lines().next().map(str::to_owned)).unwrap_or_default()
}

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo:rustc-env=FENCEPOST_RUSTC={}", line(&rustc, &["--version"]));
    println!("cargo:rustc-env=FENCEPOST_TARGET={target}");
    println!("cargo:rustc-env=FENCEPOST_COMMIT={}", line("git", &["rev-parse", "HEAD"]));
    println!("cargo:rustc-env=FENCEPOST_DIRTY={}", !line("git", &["status", "--porcelain"]).is_empty());
    println!("cargo:rerun-if-changed=build.rs");
    // In a worktree it lies elsewhere; a file that is not there would count as changed at every build.
    let head = line("git", &["rev-parse", "--git-path", "logs/HEAD"]);
    if !head.is_empty() {
        println!("cargo:rerun-if-changed={head}");
    }
}
