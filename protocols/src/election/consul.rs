//! `consul-session`: the lock of Consul's own Go client, as `consul lock` takes it.
//!
//! **Where it comes from.** hashicorp/consul 1.8, `api/lock.go` (`Lock`, `Unlock`, `createSession`, `monitorLock`),
//! `api/session.go` (`RenewPeriodic`). A session with a time to live (15 s) is renewed every half of it; the key
//! `fencepost/leader/.lock` is acquired for the session by whoever finds it free; the others wait for its change in
//! requests that the server answers when there is one, or after 15 s; who was refused looks again, and after 5 s tries
//! again if nobody has it: then a lock-delay lasts. Who holds the lock watches it in the same way, and stops when it is no
//! longer its own, or when *one* such request fails (`MonitorRetries` is 0).
//!
//! **What it assumes about time.** Nothing: no clock ends the belief. Renewals that fail stop the renewing, and nobody is
//! told. The server ends a session between once and twice its time to live after the last renewal it saw (twice, as it is
//! written: `agent/consul/session_ttl.go`), and *lock-delay* (15 s) keeps the key from everybody for a while then, so that
//! whoever lost it may notice, and what it sent may arrive.
//!
//! **What breaks it.** A pause or a cut longer than all that: the holder acts on, the successor as well. In a cut without a
//! word nothing fails, and the watch's request hangs until TCP gives the connection up: Go's dialer probes a silent one
//! after 30 s, nine times, so 5 minutes. Lock-delay does not follow a release, or a deletion of the key; it
//! begins anew when a server starts and applies its log again. It makes the window smaller and closes nothing: `tests/all/client_timers.rs`.
//!
//! **The token.** Consul's documentation ("Sessions", on sequencers) has the resource compare LockIndex, which counts
//! acquisitions. But it starts again at 1 when the key was deleted, and a plain write of the key sets it to 0, under the lock
//! as well (`agent/consul/state/kvs.go: kvsSetTxn` keeps only CreateIndex and the session). So the token here is the key's
//! *ModifyIndex* as the holder reads it right after its acquisition, in a consistent read: an index of the Raft log, no
//! lower than the acquisition's own and lower than that of any later one. `consul-lock-index` is the token by the book.
//!
//! **What shows it.** `gc-pause`, `partition`; `lost-lease` with the bug.

mod lock;
mod timing;

use super::{
    Hazard, OwnTimer, OwnTimers, Preference, Promise, Protocol, Timer, Transport,
    promise::{self, UNCHECKED},
};
use crate::{
    elector::boxed,
    service::consul,
    types::{MILLISECOND, SECOND},
};
use lock::Lock;
use timing::{LOCK_DELAY, RETRY, TTL_MULTIPLIER, lock_delay, refuses, retry, session_ttl};
pub use timing::{LOCK_INDEX, RENEWAL_NOT_RETRIED, UNVERIFIED_READS, key_of};

/// The registry's entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "consul-session",
    about: "Consul's lock: a key held by a session; lock-delay; a belief that no clock ends",
    service: &consul::SERVICE,
    tokened: true,
    transport: Transport::Datagram,
    default_lease_ttl: 15 * SECOND,
    election_timeout: None,
    // What is asked for is the session's; it lasts twice as long.
    granted_ttl: |ttl| TTL_MULTIPLIER * session_ttl(ttl),
    renew_interval: |granted| granted / (2 * TTL_MULTIPLIER),
    // Who was refused because of the lock-delay tries again every 5 s.
    takeover_max: |timings, _| lock_delay(timings) + retry(timings) + 400 * MILLISECOND,
    claim: None,
    read_lease: None,
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    timers: OwnTimers {
        list: &[
            OwnTimer { timer: Timer::RetryPeriod, default: Some(|_| RETRY) },
            OwnTimer { timer: Timer::LockDelay, default: Some(|_| LOCK_DELAY) },
        ],
        renews_at_retry: false,
        refuses,
    },
    elector: |setup| boxed(Lock::new(setup)),
    promise: |hazard, fencing| match hazard {
        Hazard::ServiceDataLoss | Hazard::ServiceRestored => promise::granted_again(fencing),
        _ if fencing => Promise::Holds,
        Hazard::None | Hazard::Crash | Hazard::Resignation => Promise::Holds,
        Hazard::PowerOutage | Hazard::RollingRestart | Hazard::ServiceRestart => Promise::Holds,
        Hazard::ClockSteps | Hazard::Starvation | Hazard::PauseWithinLockDelay => Promise::Holds,
        Hazard::PauseBeyondLease | Hazard::CutOffFromService => UNCHECKED,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::without_bound,
};
