//! `consul-session-from-sending`: Consul's lock as `fencepost-seat` takes it, with a belief that ends before another can
//! have the lock.
//!
//! **Where it comes from.** The session, the key and the requests are those of `consul-session`, so both kinds of candidates
//! can stand for one lock. What differs: the leader believes for one TTL after it has *sent* the last renewal that
//! was confirmed. Its session's lock-delay is as long as the TTL (Consul allows no more than 60 s, so neither is
//! longer), so this holds however the session ended: Consul also ends one when gossip takes its agent for dead, which
//! needs no more than a few seconds. Every request has a timeout, and a watch that fails or falls silent is repeated; a
//! renewal that finds no session ends the leadership. A key whose flags somebody has overwritten is still the lock.
//!
//! **What it assumes about time.** For a unique *belief*: that a node's monotonic clock is not slower than the server's
//! by more than the margin that its user leaves. For safety nothing, as with `consul-session`.
//!
//! **What breaks it.** A pause longer than that, between a check of the belief and the write: the resource refuses the
//! write by its token. Whoever deletes the key lets the next one in at once, while the leader believes until its watch
//! has told it.
//!
//! `--protocol` takes it by name; sweeps of all protocols leave it out, as for `etcd-election-from-sending`.

pub use super::timing::counted_ttl as session_ttl;
use super::{
    lock::Lock,
    timing::{Counting, TTL_MULTIPLIER},
};
use crate::{
    election::{OwnTimer, OwnTimers, Promise, Protocol, Timer, hazard, promise},
    elector::boxed,
    types::{MILLISECOND, SECOND},
};

/// How long a candidate waits after a refusal because of a lock-delay.
const RETRY: u64 = SECOND;

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "consul-session-from-sending",
    about: "Consul's lock with a belief that counts from when a renewal was sent, and so ends before another has the lock",
    granted_ttl: |ttl| TTL_MULTIPLIER * session_ttl(ttl),
    read_lease: Some(|timings| (session_ttl(timings.lease_ttl), session_ttl(timings.lease_ttl))),
    takeover_max: |timings, _| session_ttl(timings.lease_ttl) + RETRY + 400 * MILLISECOND,
    timers: OwnTimers {
        list: &[
            OwnTimer { timer: Timer::RetryPeriod, default: Some(|_| RETRY) },
            OwnTimer { timer: Timer::LockDelay, default: None },
        ],
        ..super::PROTOCOL.timers
    },
    elector: |setup| boxed(Lock::new(setup, Counting::FromSending)),
    promise: |hazard, fencing| match hazard {
        hazard::FLAPPING | hazard::MISSING_LINK | hazard::CLOCK_DRIFT if !fencing => Promise::Holds,
        hazard::CUT_OFF_FROM_SERVICE | hazard::DELAYED_RENEWALS | hazard::SLOW_SERVICE if !fencing => Promise::Holds,
        hazard => (super::PROTOCOL.promise)(hazard, fencing),
    },
    belief_overlap: |timings, conditions| match conditions.drops {
        true => None,
        false => promise::from_sending(timings, conditions),
    },
    ..super::PROTOCOL
};
