//! Raft, by the openraft crate (0.10.0-alpha.37), on any [`crate::env::Env`]: its runtime, journal and network.

pub mod journal;
pub mod network;
pub mod runtime;
pub mod server;
pub mod store;
pub mod types;
pub mod wire;
