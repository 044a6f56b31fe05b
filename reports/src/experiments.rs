//! The results of the experiments: their numbers as data, and the findings that quote them.
//!
//! Nothing here runs anything. The numbers come from `sim`; the prose is a template with placeholders, so that no
//! number in it can go stale.

mod chance;
pub mod curves;
pub mod findings;
pub mod numbers;
pub mod pictures;
pub mod slo;
mod tables;

pub use numbers::{Cell, Numbers, Refusal, Spread};
