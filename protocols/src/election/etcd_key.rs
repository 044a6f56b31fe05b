//! `etcd-key`: a single key that all compete for, most people's first attempt on etcd.
//!
//! **Where it comes from.** The article "Leader Election in Distributed Systems" (`client.put_if_not_exists(key, value,
//! lease)`, then `watch_for_leader_failure`); kragniz/python-etcd3, `etcd3/client.py` (`put_if_not_exists`: a
//! transaction conditional on the key's create revision being 0; `watch`), `etcd3/locks.py` (`acquire`). The candidate
//! that creates `fencepost/sole/leader` on its lease leads; the others watch the key and retry when it is deleted.
//! Lease, keepalives and the end of the belief are those of etcd's own library, as in `etcd-election`. The token is the
//! key's create revision.
//!
//! **What it assumes about time.** The same as `etcd-election`: nothing for the grant, and a belief that outlives the
//! lease by the answer's travel time and up to a second.
//!
//! **What breaks it.** The same pauses and partitions: only the resource can refuse the old leader. Also, it does not
//! scale: every vacancy wakes all N - 1 waiting candidates, each sends a request, and one wins, where the queue wakes
//! only one. Nor can a leader name its successor: a waiting candidate has nothing in the store that a transaction could
//! hand the key to, and a key that is only overwritten keeps its create revision, and so its token. A leader that
//! resigns must stay away for a lease, or it would be the first to ask again.
//!
//! **What shows it.** `gc-pause` for the belief; `vacancies_wake_everybody_or_one` counts the herd.

use super::{
    OwnTimers, Preference, Promise, Protocol, Transport,
    etcd::{
        Recipe,
        candidate::EtcdElection,
        recipe::{granted, overlap, takeover_max},
        session::DEADLINE_SCAN,
    },
    hazard,
    promise::{self, UNCHECKED},
};
use crate::{elector::boxed, service::etcd, types::SECOND};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "etcd-key",
    about: "One key on etcd that all compete for: put if it does not exist, watch its deletion; its create revision is the token",
    service: &etcd::SERVICE,
    tokened: true,
    transport: Transport::Datagram,
    default_lease_ttl: 60 * SECOND,
    election_timeout: None,
    granted_ttl: granted,
    renew_interval: |ttl| ttl / 3,
    takeover_max,
    // As for `etcd-election`.
    read_lease: Some(|timings| (granted(timings.lease_ttl) + DEADLINE_SCAN, granted(timings.lease_ttl))),
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(EtcdElection::new(setup, Recipe::OneKey)),
    promise: |hazard, fencing| match hazard {
        hazard::SERVICE_DATA_LOSS => promise::granted_again(fencing),
        // The leader's lease is in the backup too, and nobody may write beside it.
        hazard::SERVICE_RESTORED => promise::GRANTED_AGAIN,
        _ if fencing => Promise::Holds,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::SERVICE_RESTART => Promise::Holds,
        hazard::CLOCK_STEPS | hazard::STARVATION => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE => UNCHECKED,
        // As for `etcd-election`.
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};
