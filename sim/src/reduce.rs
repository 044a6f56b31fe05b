//! Reduces a plan that fails: finds what the failure needs, and the smallest plan that fails the same way.

mod explain;
pub mod futures;
mod shrink;
mod symptom;

pub use explain::{Came, Change, Explained, Rest, explain};
pub use shrink::{Ending, Shrunk, shrink};
pub use symptom::{Looked, Symptom};
