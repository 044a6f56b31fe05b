//! Tells the library what it is built with, so that a capsule can say it.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(rustc).arg("--version").output().map(|o| o.stdout).unwrap_or_default();
    println!("cargo:rustc-env=FENCEPOST_RUSTC={}", String::from_utf8_lossy(&version).trim_end());
    println!("cargo:rustc-env=FENCEPOST_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    println!("cargo:rerun-if-changed=build.rs");
}
