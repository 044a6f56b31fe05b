//! What a plan may say of the address by which clients find the leader.

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
    /// What kind of address it is.
    pub kind: address::Kind,
    /// How long a client keeps what it was told, milliseconds.
    pub ttl_ms: u64,
}

/// Refuses an address that there cannot be.
pub(super) fn check(plan: &Plan) -> Checked {
    let Some(Address { ttl_ms, .. }) = plan.address else { return Ok(()) };
    range("address.ttl_ms", ttl_ms, 1, LONGEST_MS)?;
    match plan.groups {
        1 => Ok(()),
        groups => Err(format!("address is set, and groups is {groups}; only a plan of one group can have an address")),
    }
}
