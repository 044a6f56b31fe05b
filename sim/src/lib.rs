//! Where it runs: the simulated world, the models of coordination services in it, and the `fencepost` command.
//!
//! Only this crate names madsim, and only [`host`] does.

#[cfg(not(any(madsim, real_mode)))]
compile_error!(
    "build with `cargo run` or `cargo test` from within the repository, and without an exported RUSTFLAGS: \
     .cargo/config.toml sets the flags that the simulation needs"
);

pub mod artifacts;
pub mod cli;
pub mod determinism;
pub mod fleet;
pub mod host;
pub mod identity;
pub mod recorder;
pub mod run;
pub mod service;
pub mod sweep;
pub mod ttl_sweep;
pub mod words;
pub mod world;
