//! How many seeds each known bug takes: `cargo run -p fencepost-cli --example bugs [ID…] [--clean N]`.
//!
//! Twenty sweeps with disjoint seeds, each until the first run that shows the bug; and how many of N seeds show it
//! without the bug, which should be none.

mod measure;
mod shown;

fn main() -> std::process::ExitCode {
    measure::main()
}
