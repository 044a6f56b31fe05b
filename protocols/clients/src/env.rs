//! What I/O shells (clients, servers, drivers) see of the world: clocks, sleep, spawn, byte streams, randomness,
//! points. There are two implementations: [`tokio`] here, and the simulated one in `sim`. Not on the hot path.

pub mod tokio;
mod world;

pub use world::{Disk, Env, Listener, Peer};
