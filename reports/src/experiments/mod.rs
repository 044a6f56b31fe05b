//! What the experiments came to: their numbers as data, and the findings that are told with them.
//!
//! Nothing here runs anything. Numbers come from `sim`; the prose is a template with places for numbers in it, so that none
//! in the prose can go stale.

mod chance;
pub mod curves;
pub mod findings;
pub mod numbers;
pub mod pictures;
pub mod slo;
mod tables;

pub use numbers::{Cell, Numbers, Refusal, Spread};
