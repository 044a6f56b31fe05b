//! Branches: from a moment on, a run is drawn anew.

use super::{
    Plan,
    limits::{BRANCHES_MAX, Checked, range},
};
use serde::{Deserialize, Serialize};

/// From a moment on, the network, disks, schedulers and environments draw from another seed. Everything before is the
/// run without the branch, and the faults are the same. A core's own stream, which is seeded when it starts, is part of
/// its state and goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// True time, microseconds.
    pub at_us: u64,
    pub seed: u64,
}

/// Branches are in order, and within the run.
pub(super) fn check(plan: &Plan) -> Checked {
    if plan.branches.len() > BRANCHES_MAX {
        return Err(format!("the plan has {} branches; at most {BRANCHES_MAX}", plan.branches.len()));
    }
    let mut earliest = 0;
    for (index, branch) in plan.branches.iter().enumerate() {
        range(&format!("branches[{index}].at_us"), branch.at_us, earliest, plan.duration_ms.saturating_mul(1_000))?;
        earliest = branch.at_us + 1;
    }
    Ok(())
}
