//! Bugs of recipes on etcd.

use crate::bug::{Bug, Shown};

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
