//! `lowest-id-phi`: the rule of `lowest-id` with an adaptive failure detector.
//!
//! **Where it comes from.** [`lowest_id`], whose backups declare a leader dead after a fixed time. Here a φ accrual
//! detector ([`super::phi`]) sets that time from the history of the leader's advertisements: the TTL on a link without
//! losses, as there, and longer on a lossy one.
//!
//! **What it assumes about time.** Silences resemble earlier ones. It promises nothing that `lowest-id` does not.
//!
//! **What breaks it.** All that breaks `lowest-id`: a partition, a one-way loss of advertisements, a pause of the
//! leader. Even with a better detector both sides of a partition lead; it only deposes fewer live leaders. And after a
//! bad link it is slow to detect a death.
//!
//! **What shows it.** `detector-comparison`, beside `lowest-id` and `swim`.

use super::{
    Protocol,
    lowest_id::{self, LowestId},
};
use crate::{elector::boxed, types::MILLISECOND};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "lowest-id-phi",
    about: "lowest-id with a φ accrual failure detector: the more advertisements a link loses, the longer others wait",
    // At 30 % loss the detector waits two and a half times as long as without, and occasionally longer.
    takeover_max: |timings, _| 3 * timings.lease_ttl + timings.renew_interval + 10 * MILLISECOND,
    elector: |setup| boxed(LowestId::adaptive(setup)),
    ..lowest_id::PROTOCOL
};
