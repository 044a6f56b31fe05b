//! Where it runs: the simulated world, the models of coordination services in it, and the `fencepost` command; and, built
//! by `cargo real`, the same command for real processes.
//!
//! Only this crate names madsim, and only [`host`] does. This file is the mode guard: no other one asks what is built.

#[cfg(not(any(madsim, real_mode)))]
compile_error!(
    "build with `cargo run` or `cargo test` from within the repository, and without an exported RUSTFLAGS: \
     .cargo/config.toml sets the flags that the simulation needs"
);

#[cfg(real_mode)]
pub mod real;
pub mod terminal;

#[cfg(madsim)]
pub mod artifacts;
#[cfg(madsim)]
pub mod bisect;
#[cfg(madsim)]
pub mod cli;
#[cfg(madsim)]
pub mod determinism;
#[cfg(madsim)]
pub mod election_times;
#[cfg(madsim)]
pub mod fleet;
#[cfg(madsim)]
pub mod host;
#[cfg(madsim)]
pub mod identity;
#[cfg(madsim)]
pub mod promise;
#[cfg(madsim)]
pub mod recorder;
#[cfg(madsim)]
pub mod run;
#[cfg(madsim)]
pub mod seeds;
#[cfg(madsim)]
pub mod service;
#[cfg(madsim)]
pub mod sweep;
#[cfg(madsim)]
pub mod ttl_sweep;
#[cfg(madsim)]
pub mod words;
#[cfg(madsim)]
pub mod world;

#[cfg(madsim)]
pub use cli::main;
#[cfg(real_mode)]
pub use real::main;
