//! Fencepost's command line with this crate's additions.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(sim_cli::main_with(&own_elector::registry(), std::env::args_os()))
}
