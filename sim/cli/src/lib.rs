//! The `fencepost` command: the simulation's and, built by `cargo real`, that for real processes.
//!
//! The crate `fencepost` is the interface for tests of your own service; this one belongs to its inside, and may change
//! in any release.
//!
//! | module | has |
//! |---|---|
//! | `built` | the commit that this program is built from |
//! | `commands` | the simulation's commands, one file each |
//! | `real` | `cargo real`: nodes, stores and clusters of real processes |
//! | `terminal` | shared code: options, exit codes, printing of reports |
//!
//! This file is the mode guard: no other file of this crate checks the build's mode.

mod built;
#[cfg(not(real_mode))]
pub mod commands;
#[cfg(real_mode)]
pub mod real;
pub mod terminal;

#[cfg(not(real_mode))]
pub use commands::{main, main_with};
#[cfg(real_mode)]
pub use real::main;
