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

#[cfg(feature = "simulation")]
pub use commands::main_with;
use std::ffi::OsString;

/// Runs the command line; the exit code is a contract. With both features, the commands for real processes come after
/// the word `real`.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let said: Vec<OsString> = arguments.into_iter().collect();
    #[cfg(feature = "real")]
    {
        let named = said.get(1).is_some_and(|word| word == sim_real::leash::REAL);
        if named || cfg!(not(feature = "simulation")) {
            return real::main(
                said.into_iter().enumerate().filter(|(place, _)| !(named && *place == 1)).map(|(_, word)| word),
            );
        }
    }
    #[cfg(feature = "simulation")]
    return commands::main(said);
    #[cfg(not(any(feature = "simulation", feature = "real")))]
    compile_error!("`fencepost` has no command without the feature `simulation` or `real`");
}
