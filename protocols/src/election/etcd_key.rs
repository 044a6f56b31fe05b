//! `etcd-key`: one key that all compete for, the first thing that most people write against etcd.
//!
//! **Where it comes from.** Reference text "Leader Election in Distributed Systems" (`client.put_if_not_exists(key, value,
//! lease)`, then `watch_for_leader_failure`); kragniz/python-etcd3, `etcd3/client.py` (`put_if_not_exists`: a transaction on
//! the key's create revision being 0; `watch`), `etcd3/locks.py` (`acquire`). Whoever creates `fencepost/sole/leader` on its
//! lease leads; the others watch the key and try again when it is deleted. Lease, keepalives and the end of the belief are
//! those of etcd's own library, as in `etcd-election`. The token is the key's create revision.
//!
//! **What it assumes about time.** What `etcd-election` assumes: nothing for the grant, and a belief that outlives the
//! lease by the answer's way back and up to a second.
//!
//! **What breaks it.** The same pauses and cuts as there: only the resource can refuse the old leader. And it does not
//! scale: every vacancy wakes all N - 1 who wait, each asks, and one is granted, where the queue wakes one. Nothing says
//! who is next, so nobody can be named either: a waiting candidate has nothing in the store that a transaction could give
//! the key to, and a key that is only written again keeps its create revision, and so its token. Who resigns has to stay
//! away for a lease's time, or it would be the first to ask again.
//!
//! **What shows it.** `gc-pause` for the belief; `vacancies_wake_everybody_or_one` counts the herd.

use super::{
    Hazard, OwnTimers, Preference, Promise, Protocol, Transport,
    etcd::{
        Recipe,
        candidate::EtcdElection,
        session::DEADLINE_SCAN,
        timing::{granted, overlap, takeover_max},
    },
    promise::{self, UNCHECKED},
};
use crate::{elector::boxed, service::etcd, types::SECOND};

/// The registry's entry.
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
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(EtcdElection::new(setup, Recipe::OneKey)),
    promise: |hazard, fencing| match hazard {
        Hazard::ServiceDataLoss => promise::granted_again(fencing),
        // Whoever leads has its lease in the backup too, and nobody may come to write beside it.
        Hazard::ServiceRestored => promise::GRANTED_AGAIN,
        _ if fencing => Promise::Holds,
        Hazard::None | Hazard::Crash | Hazard::Resignation => Promise::Holds,
        Hazard::PowerOutage | Hazard::RollingRestart | Hazard::ServiceRestart => Promise::Holds,
        Hazard::ClockSteps | Hazard::Starvation => Promise::Holds,
        Hazard::PauseBeyondLease => UNCHECKED,
        // As for `etcd-election`.
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};
