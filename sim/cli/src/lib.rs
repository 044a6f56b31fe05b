//! The `fencepost` command: the simulation's, and, built by `cargo real`, that for real processes.
//!
//! | module | has |
//! |---|---|
//! | `built` | which commit this program is built from |
//! | `commands` | the simulation's commands, one file each |
//! | `real` | `cargo real`: nodes, stores and clusters of real processes |
//! | `terminal` | what both share: options, exit codes, how a report is printed |
//!
//! This file is the mode guard: no other one of this crate asks what is built.

mod built;
#[cfg(madsim)]
pub mod commands;
#[cfg(real_mode)]
pub mod real;
pub mod terminal;

#[cfg(madsim)]
pub use commands::{main, main_with};
#[cfg(real_mode)]
pub use real::main;
