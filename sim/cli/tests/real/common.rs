//! Real processes for tests: the built `fencepost`, and the servers it uses (see the crate `servers`).

pub mod fleet;
pub mod http;
pub mod running;

pub use ::servers::{self, Folder, Process, SOON, eventually, free_address, run, say, skip, text};

use std::{ffi::OsStr, process::Command, process::Output};

/// The program under test, with the word for real processes.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.arg("real");
    command.env("RUST_BACKTRACE", "1").env_remove("RUST_LOG").env_remove("PGPASSWORD");
    command
}

/// Runs the program under test.
pub fn fencepost<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    let mut command = program();
    command.args(arguments);
    run(command)
}
