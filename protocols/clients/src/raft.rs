//! Raft by the openraft crate (0.10.0-alpha.37), on any [`crate::env::Env`]: its runtime, journal and network.
//!
//! openraft runs unmodified. Its surroundings come from the node: time and randomness through [`runtime`], the disk
//! through [`journal`], the network through [`network`] and [`server`]. Its source was searched for other sources of
//! nondeterminism; two are harmless here: its map of extensions hashes by type and is never iterated, and the machine's
//! clock is read only to print or serialize instants, which our code never does. Its `select`s are biased.

pub mod client;
pub mod journal;
pub mod member;
pub mod network;
pub mod runtime;
pub mod server;
pub mod store;
pub mod wire;
