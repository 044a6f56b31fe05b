//! How many seeds each known bug takes: `cargo run -p fencepost-cli --example bugs [ID…] [--clean N]`.
//!
//! Twenty sweeps with disjoint seeds, each until the first run that shows the bug; and how many of N seeds show it
//! without the bug, which should be none.

#[cfg(not(real_mode))]
mod measure;
#[cfg(not(real_mode))]
mod shown;

fn main() -> std::process::ExitCode {
    #[cfg(not(real_mode))]
    return measure::main();
    // `cargo real-test` builds the examples, too.
    #[cfg(real_mode)]
    std::process::ExitCode::from(64)
}
