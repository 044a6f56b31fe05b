//! The timers of `etcd-election`, and what etcd's leases and its client's deadlines come to, in time.

use super::session::{DEADLINE_SCAN, ttl_seconds};
use crate::{
    core::TimerId,
    election::{Conditions, Timings},
    types::{MILLISECOND, SECOND},
};

/// Time for a keepalive to be due.
pub(super) const KEEPALIVE: TimerId = 0;
/// The session may have ended.
pub(super) const DEADLINE: TimerId = 1;
/// Ask again.
pub(super) const AGAIN: TimerId = 2;
/// Open the keepalive stream again.
pub(super) const REOPEN: TimerId = 3;
/// The observer asks again.
pub(super) const OBSERVE: TimerId = 4;

/// The server's minimum: 1.5 election timeouts of 1 s, rounded up to whole seconds.
const MIN_TTL_S: u64 = 2;

/// What the server makes of a time to live.
pub(in crate::election) fn granted(ttl: u64) -> u64 {
    ttl_seconds(ttl).max(MIN_TTL_S) * SECOND
}

/// The server's expiry scan, its resynchronisation of a watch (100 ms), and four messages' worth of slack.
pub(in crate::election) fn takeover_max(_: &Timings, _: u16) -> u64 {
    500 * MILLISECOND + 100 * MILLISECOND + 400 * MILLISECOND
}

/// The server counts a lease from when the keepalive arrived, the belief lasts as long from when its answer was read, and
/// on to the next look at the deadline. An answer that is read late was awaited with what was left of the belief before.
pub(in crate::election) fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let belief = c.slow(granted(timings.lease_ttl).saturating_add(DEADLINE_SCAN));
    let late = c.travel.saturating_add(c.unread).min(belief);
    // A step of the wall clock moves no lease of etcd's.
    let lease = Conditions { service_ahead: 0, ..*c }.service(granted(timings.lease_ttl));
    Some(belief.saturating_add(late).saturating_sub(lease))
}
