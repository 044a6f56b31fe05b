//! Scenarios as pure functions from (parameters, protocol, seed) to a [`Plan`], the plan as plain data, and generated
//! plans for property tests.
//!
//! The crate `fencepost` is the interface for tests of your own service; this one belongs to its inside, and may change
//! in any release.
//!
//! This crate knows the protocols' types and runs nothing: a plan can be printed, edited, shrunk and replayed without
//! it.
//!
//! ```
//! use scenarios::{Params, scenario};
//!
//! let story = scenario::find("gc-pause").expect("a scenario");
//! let protocol = protocols::election::find("redis-fenced").expect("a protocol");
//! let plan = story.compile(&Params::default(), protocol, 42)?;
//! // The plan fixes the run before it starts: the same parameters and seed give the same plan.
//! assert_eq!(plan, story.compile(&Params::default(), protocol, 42)?);
//! assert_eq!(plan.faults.len(), 1);
//! # Ok::<(), scenarios::plan::Invalid>(())
//! ```

pub mod arithmetic;
pub mod axis;
pub mod belief;
pub mod capsule;
pub mod clearance;
pub mod fault;
pub mod generate;
pub mod params;
pub mod pauses;
pub mod plan;
pub mod profile;
pub mod read_lease;
pub mod registry;
pub mod scenario;
pub mod sense;
pub mod set;
pub mod streams;
pub mod suggest;
pub mod topology;
pub mod triggers;
pub mod units;

pub use capsule::{Artifact, Capsule, Case};
pub use params::Params;
pub use plan::Plan;
pub use registry::Registry;
pub use scenario::Scenario;
pub use topology::Topology;
