//! What is known of the recipe: the timers of `etcd-election`, the durations of etcd's leases, its client's deadlines, and
//! the bugs of recipes on etcd.

use super::session::{DEADLINE_SCAN, ttl_seconds};
use crate::{
    bug::{Bug, Shown},
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

/// A former bug of the library's lock, and a present one of its election.
pub const WAITER_NOT_READ_AGAIN: Bug = Bug {
    id: "etcd-waiter-not-read-again",
    protocols: &["etcd-election"],
    what: "A candidate whose predecessor is gone leads without checking that its own key still exists: its lease may \
           have ended while it waited.",
    source: "Jepsen: etcd 3.4.3, locks; fixed for `Mutex.Lock` by etcd-io/etcd commit b14c7cd44",
    violation: "phantom_leader",
    shown: Shown::by("expired-waiter", "etcd-election", 4),
};

/// The library's own behaviour in `Campaign`.
pub const CAMPAIGN_LEAVES_KEY: Bug = Bug {
    id: "etcd-campaign-leaves-key",
    protocols: &["etcd-election"],
    what: "A campaign that ends with an error leaves its key in the queue, on a session that is kept alive, and a new \
           campaign begins: nobody gets past that key.",
    source: "etcd-io/etcd issue 21128; sorintlab/stolon pull request 659",
    violation: "liveness",
    shown: Shown::by("service-restart", "etcd-election", 12),
};

/// The library's own behaviour in `Mutex.Unlock`, applied to a common key.
pub const RELEASE_BY_NAME: Bug = Bug {
    id: "etcd-release-by-name",
    protocols: &["etcd-key"],
    what: "Resigning deletes the key by name, whoever created it: if the answer is lost and the request is retried, \
           the key is the successor's.",
    source: "etcd-io/etcd issue 22082 (`Mutex.Unlock` after an answer that was lost)",
    violation: "metrics.false_failovers",
    shown: Shown::by("lost-answer", "etcd-key", 8),
};
