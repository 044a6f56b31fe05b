//! The `fencepost` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(sim::main(std::env::args_os()))
}
