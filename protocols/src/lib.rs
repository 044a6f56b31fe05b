//! What is tested, and what runs in production: election protocols, the leader's work and the fenced store, as cores without
//! I/O and without a clock.
//!
//! This crate imports none of Fencepost's others, and nothing in it knows whether its world is simulated. What drives its
//! cores and carries out what they ask is in `protocols-clients`.

pub mod bug;
pub mod clock;
pub mod core;
pub mod coverage;
pub mod division;
pub mod election;
pub mod elector;
pub mod error;
pub mod fence;
pub mod group;
pub mod history;
pub mod known_bugs;
pub mod load;
pub mod message;
pub mod multiplexer;
pub mod node;
pub mod payload;
pub mod point;
pub mod service;
pub mod types;
pub mod work;
