//! Which stories are told: scenarios as pure functions from (parameters, protocol, seed) to a [`Plan`], the plan as plain
//! data, and generated plans for property tests.
//!
//! This crate knows the protocols' types and runs nothing: a plan can be printed, edited, shrunk and replayed without it.

pub mod belief;
pub mod capsule;
pub mod fault;
pub mod generate;
pub mod params;
pub mod plan;
pub mod read_lease;
pub mod registry;
pub mod scenario;
pub mod sense;
pub mod streams;
pub mod suggest;
pub mod topology;
pub mod triggers;
pub mod units;

pub use capsule::{Artifact, Capsule};
pub use params::Params;
pub use plan::Plan;
pub use registry::Registry;
pub use scenario::Scenario;
pub use topology::Topology;
