//! `redis-lease`: a lease that expires, and a leader that knows when.
//!
//! **Where it comes from.** The article *Leader Election Gone Wrong*, Fix 1: `SET NX PX` with a ttl of 15 s; every
//! ttl/3 a script renews the key *if it is still ours*; a node that cannot renew stops, "even if it feels healthy".
//! Release compares too. Two things are added that the text's code leaves out although it asks for them: the belief
//! ends by the local clock, so that an unreachable Redis is a lost lease, and a lost answer is not taken for a refusal.
//!
//! **What it assumes about time.** The belief lasts one TTL of the node's monotonic clock since the last confirmed
//! request was *sent*; Redis counts the same TTL on its wall clock since the request arrived (redis/redis, `src/db.c:
//! keyIsExpired`, `src/t_string.c: getExpireMillisecondsOrReply`). So both clocks must run at the same rate, Redis's
//! must not step forward, and no write may take longer to arrive than a successor takes to be elected.
//!
//! **What breaks it.** A pause between checking the belief and writing: the write goes out under a lease that expired
//! during the pause. There is no token, so the resource cannot know. Also, a Redis that loses acknowledged data, and a
//! server clock that is fast or stepped.
//!
//! **What shows it.** `gc-pause`. In `partition` the leader stops by its own clock before the key can expire.
//!
//! `lease_keeper.rs` says how the key is kept, and whose it is; `redis_fenced.rs` adds the token.

use super::{
    OwnTimers, Preference, Promise, Protocol, Transport,
    asking::{Asking, RETRIED},
    hazard,
    lease_keeper::{Keeper, LeaseService, Meaning, Rare},
    promise::{self, UNFENCED},
    redis_common,
};
use crate::{
    bug::{Bug, Shown},
    clock::Now,
    elector::boxed,
    payload::Nothing,
    service::redis::{self, Reply, Request},
    types::SECOND,
};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "redis-lease",
    about: "SET NX PX with compare-and-renew, compare-and-delete and a belief that ends by the local clock; no token",
    service: &redis::SERVICE,
    tokened: false,
    transport: Transport::Datagram,
    default_lease_ttl: 15 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 3,
    takeover_max: |timings, _| timings.retry_period(),
    // The key lasts from the request's arrival, the belief from its sending.
    read_lease: Some(|timings| (timings.lease_ttl, timings.lease_ttl)),
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::of(&[RETRIED]),
    claim: None,
    elector: |setup| boxed(Keeper::<RedisLease>::new(setup)),
    promise: |hazard, _| match hazard {
        hazard::PAUSE_BEYOND_LEASE | hazard::MIXED_LOCKS => UNFENCED,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION | hazard::CLOCK_DRIFT => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::SERVICE_RESTART | hazard::STARVATION => Promise::Holds,
        hazard::FLAPPING | hazard::MISSING_LINK => Promise::Holds,
        // With correct clocks, the belief ends before the key does.
        hazard::CUT_OFF_FROM_SERVICE | hazard::DELAYED_RENEWALS | hazard::SLOW_SERVICE => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::from_sending,
};

/// Known from leases over slow links: the holder counts a lease from when it hears of the grant.
pub const BELIEF_FROM_ANSWER: Bug = Bug {
    id: "redis-lease-belief-from-answer",
    protocols: &["redis-lease"],
    what: "The leader counts its lease from the answer, so it believes for longer than the key lives, by the time that \
           the answer took.",
    source: "derived; in Raft's leases: etcd-io/raft issue 166, sofa-jraft issue 34",
    violation: "dual_belief",
    shown: Shown::by("late-answer", "redis-lease", 4),
};

/// *Leader Election Gone Wrong*, "Fix 1", as printed.
pub const RENEWAL_THROWS: Bug = Bug {
    id: "redis-lease-renewal-throws",
    protocols: &["redis-lease"],
    what: "A renewal that cannot reach Redis throws before it comes to `isLeader = false`: the leader stops only when it is \
           told that the key is not its own.",
    source: "derived from lease code as tutorials have it: `renew()` has no `catch`, and no clock ends `isLeader`",
    violation: "leaders_acting_by_effect",
    shown: Shown::by("partition", "redis-lease", 4),
};

/// A lock without expiry.
pub const NO_TTL: Bug = Bug {
    id: "redis-lease-without-ttl",
    protocols: &["redis-lease"],
    what: "The key is set without a time to live: when its holder dies, it is held for ever.",
    source: "derived: `SET key id NX` without `PX`; a lock without an end is a deadlock once its holder dies",
    violation: "liveness",
    shown: Shown::by("clean-kill", "redis-lease", 4),
};

/// Effectively no expiry: a century, in ms.
const FOR_EVER_MS: u64 = 100 * 365 * 24 * 3_600_000;

#[derive(Clone, PartialEq, Eq, Hash)]
struct RedisLease;

impl RedisLease {
    /// The key's TTL, milliseconds.
    fn key_ms(asking: &Asking) -> u64 {
        if asking.setup.bugs.has(&NO_TTL) { FOR_EVER_MS } else { asking.ttl_ms() }
    }
}

impl LeaseService for RedisLease {
    type Api = redis::Api;
    type More = Nothing;

    const BACKS_OFF: bool = false;

    fn mark(at: Rare) {
        redis_common::mark(at);
    }

    fn attempt(asking: &mut Asking) -> String {
        redis_common::attempt_value(asking)
    }

    fn take(asking: &Asking, value: String) -> Request {
        Request::SetNxPx { key: redis_common::key(&asking.setup), value, ttl_ms: RedisLease::key_ms(asking) }
    }

    fn extend(asking: &Asking, value: String) -> Request {
        Request::CompareAndPexpire { key: redis_common::key(&asking.setup), value, ttl_ms: RedisLease::key_ms(asking) }
    }

    fn give_back(asking: &Asking, value: String) -> Request {
        Request::CompareAndDelete { key: redis_common::key(&asking.setup), value }
    }

    fn look(asking: &Asking) -> Request {
        Request::Get { key: redis_common::key(&asking.setup) }
    }

    fn understand(reply: Reply) -> Option<Meaning> {
        Some(redis_common::understand(reply))
    }

    fn valid_until(asking: &Asking, now: Now, sent: u64) -> u64 {
        if asking.setup.bugs.has(&RENEWAL_THROWS) {
            return u64::MAX;
        }
        let from = if asking.setup.bugs.has(&BELIEF_FROM_ANSWER) { now.mono } else { sent };
        from + asking.ttl()
    }
}
