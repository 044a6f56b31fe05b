//! Leaders' warm-up and mistaken resignations, and the address by which clients find the leader, in plans.

use super::{
    Plan,
    limits::{Checked, LONGEST_MS, range},
};
use protocols::{address, node, random::Random, types::MILLISECOND};
use serde::{Deserialize, Serialize};

/// Warm-up of new leaders, and resignations by mistake; see [`protocols::node::Tenure`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tenure {
    /// A leader serves nobody for this long after its election.
    #[serde(skip_serializing_if = "is_zero")]
    pub warm_up_ms: u64,
    /// A leader ignores failed health checks for this long after its election.
    #[serde(skip_serializing_if = "is_zero")]
    pub hold_down_ms: u64,
    /// How many of a million health checks, one per second, report a healthy leader as failed, so that it resigns.
    #[serde(skip_serializing_if = "is_none")]
    pub check_errors_ppm: u32,
    /// A leader resigns if the store has owed it an answer for this long; 0 for never.
    #[serde(skip_serializing_if = "is_zero")]
    pub step_down_after_ms: u64,
}

impl Tenure {
    /// True if leaders need no warm-up and never resign by mistake.
    pub fn is_nothing(&self) -> bool {
        *self == Tenure::default()
    }

    /// In nanoseconds, as nodes take it; `seed` decides which health checks err.
    pub fn resolved(&self, seed: u64) -> node::Tenure {
        node::Tenure {
            warm_up: self.warm_up_ms.saturating_mul(MILLISECOND),
            hold_down: self.hold_down_ms.saturating_mul(MILLISECOND),
            check_errors_ppm: self.check_errors_ppm,
            random: Random::new(seed),
            step_down_after: self.step_down_after_ms.saturating_mul(MILLISECOND),
            address: None,
        }
    }
}

/// Rejects values out of range or without effect.
pub(super) fn check(tenure: Tenure) -> Checked {
    let Tenure { warm_up_ms, hold_down_ms, check_errors_ppm, step_down_after_ms } = tenure;
    range("tenure.warm_up_ms", warm_up_ms, 0, LONGEST_MS)?;
    range("tenure.hold_down_ms", hold_down_ms, 0, LONGEST_MS)?;
    range("tenure.step_down_after_ms", step_down_after_ms, 0, LONGEST_MS)?;
    range("tenure.check_errors_ppm", check_errors_ppm.into(), 0, 1_000_000)?;
    match hold_down_ms > 0 && check_errors_ppm == 0 {
        true => {
            Err("tenure.hold_down_ms means nothing where no health check errs; set tenure.check_errors_ppm".to_owned())
        }
        false => Ok(()),
    }
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_none(ppm: &u32) -> bool {
    *ppm == 0
}

/// The address by which clients find the leader; see [`protocols::address`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Address {
    pub kind: address::Kind,
    /// How long a client caches it.
    pub ttl_ms: u64,
}

/// Rejects invalid addresses.
pub(super) fn check_address(plan: &Plan) -> Checked {
    let Some(Address { ttl_ms, .. }) = plan.address else { return Ok(()) };
    range("address.ttl_ms", ttl_ms, 1, LONGEST_MS)?;
    match plan.groups {
        1 => Ok(()),
        groups => Err(format!("address is set, and groups is {groups}; only a plan of one group can have an address")),
    }
}
