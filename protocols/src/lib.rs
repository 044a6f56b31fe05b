//! What is tested, and what runs in production: election protocols, the clients of their coordination services, the
//! leader's work and the fenced store, as cores without I/O and the shells that drive them.
//!
//! This crate imports none of Fencepost's others, and nothing in it knows whether its world is simulated.

pub mod bug;
pub mod candidate;
pub mod client;
pub mod clock;
pub mod core;
pub mod coverage;
pub mod election;
pub mod elector;
pub mod env;
pub mod error;
pub mod fence;
pub mod history;
pub mod known_bugs;
pub mod load;
pub mod message;
pub mod node;
pub mod peer;
pub mod point;
pub mod raft;
#[cfg(feature = "real")]
pub mod real;
pub mod types;
pub mod work;
