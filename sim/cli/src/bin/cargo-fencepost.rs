//! `cargo fencepost new`: writes a test of one's own service into its crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(sim_cli::terminal::own_service::main(std::env::args_os()))
}
