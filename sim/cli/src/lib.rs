//! The `fencepost` command: the simulation's and, with the feature `real`, that for real processes. `cargo real` builds
//! the latter alone.
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
//! No other file of this crate asks what is built.

mod built;
#[cfg(feature = "simulation")]
pub mod commands;
#[cfg(feature = "real")]
pub mod real;
pub mod terminal;

#[cfg(all(feature = "simulation", not(feature = "real")))]
pub use commands::main;
#[cfg(feature = "simulation")]
pub use commands::main_with;
#[cfg(all(feature = "real", not(feature = "simulation")))]
pub use real::main;

/// Runs the command line; the exit code is a contract. The commands for real processes come after the word `real`.
#[cfg(all(feature = "simulation", feature = "real"))]
pub fn main(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> u8 {
    let said: Vec<_> = arguments.into_iter().collect();
    if real::is_named(&said) { real::main(said) } else { commands::main(said) }
}
