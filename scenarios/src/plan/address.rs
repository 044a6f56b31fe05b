//! The address by which clients find the leader, in plans.

use super::{
    Plan,
    limits::{Checked, LONGEST_MS, range},
};
use protocols::address;
use serde::{Deserialize, Serialize};

/// The address by which clients find the leader; see [`protocols::address`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Address {
    pub kind: address::Kind,
    /// How long a client caches it.
    pub ttl_ms: u64,
}

/// Rejects invalid addresses.
pub(super) fn check(plan: &Plan) -> Checked {
    let Some(Address { ttl_ms, .. }) = plan.address else { return Ok(()) };
    range("address.ttl_ms", ttl_ms, 1, LONGEST_MS)?;
    match plan.groups {
        1 => Ok(()),
        groups => Err(format!("address is set, and groups is {groups}; only a plan of one group can have an address")),
    }
}
