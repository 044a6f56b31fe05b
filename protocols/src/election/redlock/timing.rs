//! How long a lock is worth something, and for how long two may believe.

use super::super::{Conditions, Timings};
use crate::types::MILLISECOND;

/// What a ttl is shortened by for clocks that differ, milliseconds.
pub(super) const fn drift_ms(ttl_ms: u64) -> u64 {
    ttl_ms / 100 + 2
}

/// How long a belief lasts from when the first server was asked, nanoseconds: the two readings of a clock in whole
/// milliseconds may make one too few of what has passed.
pub(super) fn longest_belief(timings: &Timings) -> u64 {
    let ttl_ms = (timings.lease_ttl / MILLISECOND).max(1);
    (ttl_ms + 1).saturating_sub(drift_ms(ttl_ms)) * MILLISECOND
}

/// A wall clock that is set back during a lock makes it worth as much more. A failed extension is unlocked while its holder
/// still believes, and so may be whatever makes one fail: silence, or a server without its key.
pub(super) fn belief_overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let belief = c.slow(longest_belief(timings).saturating_add(c.candidate_back));
    Some(belief.saturating_sub(if c.silent { 0 } else { c.service(timings.lease_ttl) }))
}
