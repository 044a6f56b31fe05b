//! `lowest-id-phi`: the rule of `lowest-id` with an adaptive failure detector.
//!
//! **Where it comes from.** [`lowest_id`], whose backups take a leader for dead after a fixed time. Here the time is that of a
//! φ accrual detector ([`super::phi`]): what advertisements of this leader have been like decides how long a silence may be. On
//! a link that loses nothing it is the time to live, as there; on one that loses many it is longer.
//!
//! **What it assumes about time.** That silences are like those before. Nothing is promised that `lowest-id` does not promise.
//!
//! **What breaks it.** All that breaks `lowest-id`: a cut, a one-way loss of advertisements, a pause of the leader. A better
//! detector makes both sides of a cut lead all the same; it only deposes fewer leaders that live. And a link that was bad
//! makes it slow to see a death.
//!
//! **What shows it.** `detector-comparison`, beside `lowest-id` and `swim`.

use super::{
    Protocol,
    lowest_id::{self, LowestId},
};
use crate::{elector::boxed, types::MILLISECOND};

/// The protocol as the registry knows it.
pub const PROTOCOL: Protocol = Protocol {
    name: "lowest-id-phi",
    about: "lowest-id with a φ accrual failure detector: the more advertisements a link loses, the longer others wait",
    // At 30 % loss the patience is two and a half times what it is without any, and may be more by chance.
    takeover_max: |timings, _| 3 * timings.lease_ttl + timings.renew_interval + 10 * MILLISECOND,
    elector: |setup| boxed(LowestId::adaptive(setup)),
    ..lowest_id::PROTOCOL
};
