//! The timers of `etcd-election`, and the durations of etcd's leases and its client's deadlines.

use super::session::{DEADLINE_SCAN, ttl_seconds};
use crate::{
    core::TimerId,
    election::{Conditions, Timings},
    types::{MILLISECOND, SECOND},
};

/// The next keepalive.
pub(super) const KEEPALIVE: TimerId = 0;
/// The deadline of the session.
pub(super) const DEADLINE: TimerId = 1;
/// The next attempt.
pub(super) const AGAIN: TimerId = 2;
/// The next opening of the keepalive stream.
pub(super) const REOPEN: TimerId = 3;
/// The observer's next attempt.
pub(super) const OBSERVE: TimerId = 4;

/// The server's minimum: 1.5 times the election timeout of 1 s, rounded up to whole seconds.
const MIN_TTL_S: u64 = 2;

/// The TTL that the server grants.
pub(in crate::election) fn granted(ttl: u64) -> u64 {
    ttl_seconds(ttl).max(MIN_TTL_S) * SECOND
}

/// The server's expiry scan, its resynchronisation of a watch (100 ms), and four messages' worth of slack.
pub(in crate::election) fn takeover_max(_: &Timings, _: u16) -> u64 {
    500 * MILLISECOND + 100 * MILLISECOND + 400 * MILLISECOND
}

/// The server counts a lease from the keepalive's arrival; the belief counts the same time from when its answer was
/// read, plus the time to the next check of the deadline. Before a late answer was read, the previous belief may still
/// have lasted.
pub(in crate::election) fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let belief = c.slow(granted(timings.lease_ttl).saturating_add(DEADLINE_SCAN));
    let late = c.travel.saturating_add(c.unread).min(belief);
    // A step of the wall clock does not affect etcd's leases.
    let lease = Conditions { service_ahead: 0, ..*c }.service(granted(timings.lease_ttl));
    Some(belief.saturating_add(late).saturating_sub(lease))
}
