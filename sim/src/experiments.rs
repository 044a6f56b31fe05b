//! The experiments: their questions, and the runs that answer them, as committed data.
//!
//! A plan set names the scenario, parameters, protocols and seeds that plans are compiled from. It is committed instead
//! of the plans, since a person can read and change it, and a thousand plans would take megabytes. Each cell of the
//! numbers has a digest of its plans, so that a change of the numbers shows whether the plans changed or their results.

mod answers;
mod drawn;
mod frontiers;
mod measure;
mod renewals;
mod sets;
mod shards;

pub use drawn::{sweep, told};
pub use frontiers::drawn as frontiers;
pub use measure::{Measured, measure, parts};
pub use sets::{
    ADVICE, Axes, CHURN, Experiment, PAUSES, PlanSet, RENEWALS, TEMPLATE, TTL_SWEEP, With, committed, find,
};
