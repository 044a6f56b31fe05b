//! `etcd-election`: the election recipe of etcd's own client library.
//!
//! **Where it comes from.** etcd-io/etcd, `client/v3/concurrency/election.go` (`Campaign`, `Proclaim`, `Resign`,
//! `observe`), `key.go` (`waitDeletes`), `session.go` (`NewSession`, `Done`, `Close`), `client/v3/lease.go`
//! (`sendKeepAliveLoop`, `recvKeepAlive`, `deadlineLoop`, `recvKeepAliveLoop`). Each candidate holds a lease and one key on
//! it, `fencepost/leader/<lease id in hex>`; the queue is the order of the keys' create revisions; each waits for the
//! deletion of the key in front of its own. Its fencing token is its own key's create revision, which the consensus log
//! hands out in the same transaction (not the transaction's header: that is newer when the key was there already).
//!
//! **What it assumes about time.** Nothing for the grant: consensus makes it unique. The *belief* ends on the node's
//! monotonic clock when a Go program would see `Session.Done`: at the first tick of `deadlineLoop` (every second, not
//! every 500 ms; counted from the process's first keepalive) after the last keepalive *answer* plus the time to live.
//! The server counts from the keepalive's arrival and looks every 500 ms. So the belief outlives the lease by the answer's
//! way back and up to a second, and longer if an answer lay unread during a pause. Before the first answer the deadline is
//! the library's dial timeout plus a second. Two details differ from the library: the process's pauses do not shift the
//! ticks, and every new keepalive stream starts with a keepalive, due or not.
//!
//! **What breaks it.** A pause or a cut longer than the lease: the old leader acts on its belief while the next one was
//! elected. Only the resource can refuse it, by the token. `gc-pause` shows it.
//!
//! **A named successor** is not the library's, but fits its queue: one transaction, guarded by the create revisions of all
//! keys that it names, deletes the leader's key and those between it and the successor's. From that revision on the
//! successor's key is the oldest one, and its create revision the new token, above the leader's. Who was passed over finds
//! its key gone and queues again; so does the old leader. If anything has changed since the leader read the queue, or the
//! successor is not in it, the leader resigns.
//!
//! Beyond the library, as its users should do: the own key is read again before it counts if anything has changed in the
//! store since it was created (the lease may have ended meanwhile), and every session that is given up is revoked, which
//! deletes its key with it.

mod bugs;
pub(super) mod candidate;
mod observer;
pub(super) mod session;
pub(super) mod timing;

use super::{
    Hazard, OwnTimers, Preference, Promise, Protocol, Transport,
    promise::{self, UNCHECKED},
};
use crate::{elector::boxed, service::etcd, types::SECOND};
pub use bugs::{CAMPAIGN_LEAVES_KEY, RELEASE_BY_NAME, WAITER_NOT_READ_AGAIN};
use candidate::EtcdElection;
use session::DEADLINE_SCAN;
pub use session::{PREFIX, Recipe, SOLE_PREFIX, prefix_of};
use timing::{granted, overlap, takeover_max};

/// The registry's entry.
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
    // The deadline counts from the answer and is looked at once a second: the belief outlives the lease on any clock.
    read_lease: Some(|timings| (granted(timings.lease_ttl) + DEADLINE_SCAN, granted(timings.lease_ttl))),
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: true,
    changes_members: false,
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(EtcdElection::new(setup, Recipe::Queue)),
    promise: |hazard, fencing| match hazard {
        Hazard::ServiceDataLoss => promise::granted_again(fencing),
        // The backup says that a former leader leads, who has let go of that and keeps its session: nobody else is next.
        Hazard::ServiceRestored => promise::GRANTED_AGAIN,
        _ if fencing => Promise::Holds,
        Hazard::None | Hazard::Crash | Hazard::Resignation => Promise::Holds,
        Hazard::PowerOutage | Hazard::RollingRestart | Hazard::ServiceRestart => Promise::Holds,
        Hazard::ClockSteps | Hazard::Starvation => Promise::Holds,
        Hazard::PauseBeyondLease => UNCHECKED,
        // A successor that is elected late in the scan of both clocks may find nobody.
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};
