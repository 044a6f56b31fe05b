//! `etcd-election`: the election recipe of etcd's own client library.
//!
//! **Where it comes from.** etcd-io/etcd, `client/v3/concurrency/election.go` (`Campaign`, `Proclaim`, `Resign`,
//! `observe`), `key.go` (`waitDeletes`), `session.go` (`NewSession`, `Done`, `Close`), `client/v3/lease.go`
//! (`sendKeepAliveLoop`, `recvKeepAlive`, `deadlineLoop`, `recvKeepAliveLoop`). Each candidate holds a lease and one
//! key on it, `fencepost/leader/<lease id in hex>`. The queue is the order of the keys' create revisions, and each
//! candidate waits for the deletion of the key before its own. Its fencing token is its own key's create revision,
//! which the consensus log assigns in the same transaction (not the transaction's header revision, which is newer if
//! the key existed already).
//!
//! **What it assumes about time.** Nothing for the grant: consensus makes it unique. The *belief* ends on the node's
//! monotonic clock when a Go program would see `Session.Done`: at the first tick of `deadlineLoop` (every second rather
//! than every 500 ms, counted from the process's first keepalive) after the last keepalive *answer* plus the TTL. The
//! server counts from the keepalive's arrival and scans every 500 ms. So the belief outlives the lease by the answer's
//! travel time and up to a second, and by more if an answer lay unread during a pause. Before the first answer, the
//! deadline is the library's dial timeout plus a second. Two details differ from the library: pauses of the process do
//! not shift the ticks, and every new keepalive stream starts with a keepalive, due or not.
//!
//! **What breaks it.** A pause or a partition longer than the lease: the old leader acts on its belief although another
//! one has been elected. Only the resource can refuse it, by the token. `gc-pause` shows it.
//!
//! **A named successor** is not in the library, but fits its queue: one transaction, guarded by the create revisions of
//! all keys involved, deletes the leader's key and those between it and the successor's. From that revision on the
//! successor's key is the oldest, and its create revision is the new token, above the leader's. Candidates that were
//! passed over find their keys gone and queue again, as does the old leader. If anything has changed since the leader
//! read the queue, or the successor is not in it, the leader resigns.
//!
//! Beyond the library, as its users should do: if the store has changed since a candidate's key was created, the
//! candidate reads the key again before relying on it (the lease may have ended meanwhile). Every abandoned session is
//! revoked, which deletes its key.

pub(super) mod candidate;
pub mod from_sending;
mod observer;
pub(super) mod recipe;
pub(super) mod session;

use super::{
    OwnTimers, Preference, Promise, Protocol, Transport, hazard,
    promise::{self, UNCHECKED},
};
use crate::{elector::boxed, service::etcd, types::SECOND};
use candidate::EtcdElection;
pub use recipe::{CAMPAIGN_LEAVES_KEY, RELEASE_BY_NAME, WAITER_NOT_READ_AGAIN};
use recipe::{granted, overlap, takeover_max};
use session::DEADLINE_SCAN;
pub use session::{PREFIX, Recipe, SOLE_PREFIX, prefix_of};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "etcd-election",
    about: "etcd's own recipe: a queue of leased keys by create revision, which is the fencing token",
    service: &etcd::SERVICE,
    tokened: true,
    transport: Transport::Datagram,
    default_lease_ttl: 60 * SECOND,
    election_timeout: None,
    granted_ttl: granted,
    renew_interval: |ttl| ttl / 3,
    takeover_max,
    // The deadline counts from the answer and is checked once a second, so the belief outlives the lease on any clock.
    read_lease: Some(|timings| (granted(timings.lease_ttl) + DEADLINE_SCAN, granted(timings.lease_ttl))),
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: true,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(EtcdElection::new(setup, Recipe::Queue)),
    promise: |hazard, fencing| match hazard {
        hazard::SERVICE_DATA_LOSS => promise::granted_again(fencing),
        // The restored queue starts with the key of a former leader, which has given it up although its session lives
        // on, so nobody else is next.
        hazard::SERVICE_RESTORED => promise::GRANTED_AGAIN,
        _ if fencing => Promise::Holds,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::SERVICE_RESTART => Promise::Holds,
        hazard::CLOCK_STEPS | hazard::STARVATION => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE => UNCHECKED,
        // Depending on the phases of both scans, the old belief may have ended before the successor is elected.
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};
