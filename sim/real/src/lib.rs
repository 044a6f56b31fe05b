//! Stories on real processes: clusters on loopback, proxies between their members, the director that injects a plan's
//! faults, and the load on them. Empty but in the build of `cargo real`: its feature `real` has the dependencies.

#![cfg(feature = "real")]

pub mod certificates;
pub mod cluster;
pub mod control;
pub mod director;
pub mod error;
pub mod history;
mod keepalive;
pub mod leash;
mod load;
mod process;
mod proxy;
pub mod secret;
pub mod service;
pub mod spec;
pub mod stalls;
