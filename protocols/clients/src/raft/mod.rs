//! Raft, by the openraft crate (0.10.0-alpha.37), on any [`crate::env::Env`]: its runtime, journal and network.
//!
//! openraft runs unmodified. What it takes from its surroundings comes from the node's: time and randomness through
//! [`runtime`], the disk through [`journal`], the network through [`network`] and [`server`]. Looked for in its source, and
//! harmless here: its map of extensions hashes by type and is never walked, and the machine's clock is read only where
//! instants are printed or serialized, which nothing of ours does. Its `select`s are biased.

pub mod client;
pub mod journal;
pub mod network;
pub mod runtime;
pub mod server;
pub mod store;
pub mod types;
pub mod wire;
