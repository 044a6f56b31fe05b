//! `consul-session`: the lock of Consul's own Go client, as `consul lock` takes it.
//!
//! **Where it comes from.** hashicorp/consul 1.8, `api/lock.go` (`Lock`, `Unlock`, `createSession`, `monitorLock`),
//! `api/session.go` (`RenewPeriodic`). A session with a TTL of 15 s is renewed at half of it. A candidate that finds
//! the key `fencepost/leader/.lock` free acquires it for its session. The others wait for a change in blocking queries,
//! which the server answers on a change or after 15 s. A refused candidate looks again; if nobody holds the key, a
//! lock-delay is running, and it retries after 5 s. The holder watches the key in the same way, and stops when it no
//! longer owns it, or when a *single* such query fails (`MonitorRetries` is 0).
//!
//! **What it assumes about time.** Nothing: no clock ends the belief. When renewals fail, the client stops renewing
//! without telling anybody. The server ends a session between once and twice its TTL after the last renewal it saw
//! (twice, as implemented: `agent/consul/session_ttl.go`). The *lock-delay* (15 s) then keeps the key from all others
//! for a while, so that the former holder can notice the loss, and its late messages can arrive.
//!
//! **What breaks it.** A pause or a partition longer than all that: then the holder still acts, and so does its
//! successor. In a silent partition nothing fails, and the watch's query hangs until TCP ends the connection: Go's
//! dialer probes a silent connection every 30 s and gives up after nine probes, so after 5 minutes. No lock-delay
//! follows a release or a deletion of the key; a running one restarts when a server starts and replays its log.
//! Lock-delay narrows the window but does not close it: `tests/all/client_timers.rs`.
//!
//! **The token.** Consul's documentation ("Sessions", on sequencers) has the resource compare LockIndex, which counts
//! acquisitions. But it restarts at 1 after the key is deleted, and a plain write of the key resets it to 0, even under
//! the lock (`agent/consul/state/kvs.go: kvsSetTxn` keeps only CreateIndex and the session). So the token here is the
//! key's *ModifyIndex*, which the holder gets by a consistent read right after its acquisition: an index of the Raft
//! log, no lower than the acquisition's own and lower than that of any later acquisition. `consul-lock-index` uses the
//! documented token.
//!
//! **What shows it.** `gc-pause`, `partition`; with the bug, `lost-lease`.

pub mod from_sending;
mod lock;
mod timing;

use super::{
    OwnTimer, OwnTimers, Preference, Promise, Protocol, Timer, Transport, hazard,
    promise::{self, UNCHECKED},
};
use crate::{
    elector::boxed,
    parameter::{Parameter, Place, Takes},
    service::consul,
    types::{MILLISECOND, SECOND},
};
use lock::Lock;
use timing::{Counting, LOCK_DELAY, RETRY, TTL_MULTIPLIER, lock_delay, refuses, retry, session_ttl};
pub use timing::{LOCK_INDEX, RENEWAL_NOT_RETRIED, UNVERIFIED_READS, key_of};

const DELAY: Parameter = Parameter {
    name: "lock-delay",
    takes: Takes::Duration { least_ms: 0 },
    usual: "15 s",
    about: "How long nobody may take a lock after its holder's session has ended",
    place: Place::Timer(Timer::LockDelay),
};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "consul-session",
    about: "Consul's lock: a key held by a session; lock-delay; a belief that no clock ends",
    service: &consul::SERVICE,
    tokened: true,
    transport: Transport::Datagram,
    default_lease_ttl: 15 * SECOND,
    election_timeout: None,
    // The requested TTL is the session's; the session lasts twice as long.
    granted_ttl: |ttl| TTL_MULTIPLIER * session_ttl(ttl),
    renew_interval: |granted| granted / (2 * TTL_MULTIPLIER),
    // A candidate refused because of the lock-delay retries every 5 s.
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
    parameters: &[DELAY],
    timers: OwnTimers {
        list: &[
            OwnTimer { timer: Timer::RetryPeriod, default: Some(|_| RETRY) },
            OwnTimer { timer: Timer::LockDelay, default: Some(|_| LOCK_DELAY) },
        ],
        renews_at_retry: false,
        refuses,
    },
    elector: |setup| boxed(Lock::new(setup, Counting::Nothing)),
    promise: |hazard, fencing| match hazard {
        hazard::SERVICE_DATA_LOSS | hazard::SERVICE_RESTORED => promise::granted_again(fencing),
        _ if fencing => Promise::Holds,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::SERVICE_RESTART => Promise::Holds,
        hazard::CLOCK_STEPS | hazard::STARVATION | hazard::PAUSE_WITHIN_LOCK_DELAY => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE | hazard::CUT_OFF_FROM_SERVICE => UNCHECKED,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::without_bound,
};
