//! Real mode: clusters on loopback, proxies between their members, the director that injects a plan's faults, and the
//! load. Empty without the feature `real`, which `cargo real` enables.
//!
//! The crate `fencepost` is the interface for tests of your own service; this one belongs to its inside, and may change
//! in any release.

#![cfg(feature = "real")]

pub mod cluster;
pub mod control;
pub mod director;
pub mod drill;
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
mod tree;
