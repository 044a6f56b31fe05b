//! How long a lock is valid, and for how long two may believe.

use super::super::{Conditions, Timings};
use crate::types::MILLISECOND;

/// The reduction of a TTL for differing clocks, milliseconds.
pub(super) const fn drift_ms(ttl_ms: u64) -> u64 {
    ttl_ms / 100 + 2
}

/// The length of a belief from when the first server was asked, nanoseconds: two readings in whole milliseconds may
/// underestimate the elapsed time by one.
pub(super) fn longest_belief(timings: &Timings) -> u64 {
    let ttl_ms = (timings.lease_ttl / MILLISECOND).max(1);
    (ttl_ms + 1).saturating_sub(drift_ms(ttl_ms)) * MILLISECOND
}

/// If a wall clock is set back during a lock, the validity grows by as much. A failed extension unlocks the servers
/// while its holder still believes, and a silent server, or one without the key, may make one fail.
pub(super) fn belief_overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let belief = c.slow(longest_belief(timings).saturating_add(c.candidate_back));
    Some(belief.saturating_sub(if c.silent { 0 } else { c.service(timings.lease_ttl) }))
}
