//! The experiments: what is asked, and which runs answer it, as committed data.
//!
//! A plan set says of which scenario plans are compiled, with which parameters, for which protocols and seeds. It is that, and
//! not the compiled plans, that is committed: a person can read and change it, and a thousand plans would say the same in
//! megabytes. Each cell of the numbers has a digest of the plans that it was measured with, so that a change of the numbers
//! tells whether other plans were run, or the same plans came to something else.

mod drawn;
mod frontiers;
mod measure;
mod pauses;
mod renewals;
mod sets;
mod shards;
mod strips;

pub use drawn::{sweep, told};
pub use frontiers::drawn as frontiers;
pub use measure::{Measured, measure};
pub use sets::{
    ADVICE, Axes, CHURN, Experiment, PAUSES, PlanSet, RENEWALS, TEMPLATE, TTL_SWEEP, With, committed, find,
};
