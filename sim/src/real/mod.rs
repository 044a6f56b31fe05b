//! `cargo real …`: nodes, stores and clusters of real processes.

use std::ffi::OsString;

/// Runs the command line; the exit code is a contract.
pub fn main(_: impl IntoIterator<Item = OsString>) -> u8 {
    64
}
