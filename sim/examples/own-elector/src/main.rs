//! The whole command line of Fencepost, and what this crate adds to it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(sim_cli::main_with(&own_elector::registry(), std::env::args_os()))
}
