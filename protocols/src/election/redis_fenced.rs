//! `redis-fenced`: the lease of `redis-lease` with a fencing token, so that the resource can refuse former leaders.
//!
//! **Where it comes from.** The article "Leader Election Gone Wrong", Fix 2. The article's script calls `INCR` before
//! `SET NX`, and so wastes a token on every failed attempt; here the same script draws the token only if it took the
//! key. Tokens are allocated atomically with the acquisition (fencing rule 6), and losing attempts leave no gaps.
//!
//! **What it assumes about time.** For safety nothing: the resource orders writes by token, whatever nodes believe. For
//! a unique *belief* it assumes what `redis-lease` does: one TTL of the node's monotonic clock since the last confirmed
//! request was *sent* ends no later than Redis's TTL on its wall clock (redis/redis, `src/db.c: keyIsExpired`).
//!
//! **What breaks it.** Without fencing, it is `redis-lease`. If Redis forgets the counter (a lost disk, a replica
//! promoted too early, `FLUSHALL`), tokens restart below what the resource has seen, and every new leader is refused
//! until the counter has caught up, one election at a time; candidates meanwhile back off for longer and longer. A
//! pause longer than the lease makes two nodes believe, and the ledger refuses the older one.
//!
//! **What shows it.** `gc-pause`, with and without fencing.
//!
//! **A named successor** gets the key by one script: if the key still has the leader's value, the value becomes
//! `<successor>/handed/<token>`, with the next token, for a whole TTL. A candidate that finds its own name there takes
//! the key over by the same script, with a value and a token of its own attempt, so a process restarted meanwhile has
//! no token of its predecessor. The leader stops believing before it asks. Without an answer, it deletes the key unless
//! it was handed over; if the successor never looks, the key stays unowned for one TTL.
//!
//! `lease_keeper.rs` says how the key is kept, and whose it is.

use super::{
    OwnTimers, Preference, Promise, Protocol, Transport,
    asking::{Asking, RETRIED},
    hazard,
    lease_keeper::{Answer, Asked, Keeper, LeaseService, Meaning, Out, Rare},
    promise::{self, UNCHECKED},
    redis_common,
};
use crate::{
    clock::Now,
    elector::{Deposed, Output, boxed},
    point::Point,
    service::redis::{self, Reply, Request},
    types::{NodeId, SECOND},
};

pub use super::redis_common::TOKEN_KEY;

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "redis-fenced",
    about: "redis-lease with a fencing token that is drawn in the script that takes the key",
    service: &redis::SERVICE,
    tokened: true,
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
    transfers: true,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::of(&[RETRIED]),
    claim: None,
    elector: |setup| boxed(Keeper::<RedisFenced>::new(setup)),
    promise: |hazard, fencing| match hazard {
        hazard::SERVICE_DATA_LOSS | hazard::SERVICE_RESTORED | hazard::SERVICE_FORGETS => {
            promise::granted_again(fencing)
        }
        // The server knows one lock, and candidates of the other lock believe without a grant from it.
        hazard::MIXED_LOCKS if fencing => Promise::Breaks(&["phantom_leader"]),
        hazard::MIXED_LOCKS => UNCHECKED,
        _ if fencing => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE => UNCHECKED,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION | hazard::CLOCK_DRIFT => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::SERVICE_RESTART | hazard::STARVATION => Promise::Holds,
        hazard::FLAPPING | hazard::MISSING_LINK | hazard::TRANSFER => Promise::Holds,
        hazard::CUT_OFF_FROM_SERVICE | hazard::DELAYED_RENEWALS | hazard::SLOW_SERVICE => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::from_sending,
};

/// Requests beyond those of every keeper.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Passing {
    /// Hands over the key, which has this value.
    On { value: String },
    /// Takes over a handed key, with a value that begins with this.
    Over { value: String, sent: u64 },
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct RedisFenced;

impl RedisFenced {
    fn hand_over(asking: &Asking, value: String, to: String) -> Request {
        let (key, token_key) = (redis_common::key(&asking.setup), redis_common::token_key(&asking.setup));
        Request::HandOver { key, token_key, value, to, ttl_ms: asking.ttl_ms() }
    }
}

impl LeaseService for RedisFenced {
    type Api = redis::Api;
    type More = Passing;

    fn mark(at: Rare) {
        redis_common::mark(at);
    }

    fn attempt(asking: &mut Asking) -> String {
        redis_common::attempt_value(asking)
    }

    fn take(asking: &Asking, value: String) -> Request {
        let (key, token_key) = (redis_common::key(&asking.setup), redis_common::token_key(&asking.setup));
        Request::AcquireFenced { key, token_key, value, ttl_ms: asking.ttl_ms() }
    }

    fn extend(asking: &Asking, value: String) -> Request {
        Request::CompareAndPexpire { key: redis_common::key(&asking.setup), value, ttl_ms: asking.ttl_ms() }
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

    /// Takes the key over if it was handed to this node. An unanswered attempt expires.
    fn looked(keeper: &mut Keeper<Self>, now: Now, value: Option<Vec<u8>>, out: &mut Out<Self>) {
        let handed = handed_to(keeper.asking.name());
        let held = value.and_then(|held| String::from_utf8(held).ok()).filter(|held| held.starts_with(&handed));
        let Some(held) = held else { return };
        let value = format!("{}/", redis_common::attempt_value(&mut keeper.asking));
        let request = RedisFenced::hand_over(&keeper.asking, held, value.clone());
        keeper.ask(request, Asked::More(Passing::Over { value, sent: now.mono }), out);
    }

    /// Stops believing, and then hands the key to a named successor.
    fn transfer(keeper: &mut Keeper<Self>, now: Now, to: NodeId, out: &mut Out<Self>) {
        let setup = &keeper.asking.setup;
        let Some(heir) = setup.names.get(to.index()).filter(|_| to != setup.node) else { return };
        let handed = handed_to(heir);
        out.push(Output::Point(Point::BeforeRelease));
        let Some(value) = keeper.stop_believing(now, Deposed::Resigned, out) else { return };
        let request = RedisFenced::hand_over(&keeper.asking, value.clone(), handed);
        keeper.ask(request, Asked::More(Passing::On { value }), out);
    }

    fn answered(keeper: &mut Keeper<Self>, now: Now, asked: Passing, reply: Answer<Self>, out: &mut Out<Self>) {
        match (asked, reply) {
            (Passing::Over { value, sent }, Ok(Reply::Token(Some(token)))) => {
                keeper.lead(now, format!("{value}{token}"), token, sent, out);
            }
            (Passing::Over { .. }, _) | (Passing::On { .. }, Ok(Reply::Token(_))) => {}
            // The key may still be this node's, or handed over.
            (Passing::On { value }, _) => keeper.give_back(value, out),
        }
    }
}

/// The beginning of the value of a key handed to the candidate called `name`.
fn handed_to(name: &str) -> String {
    format!("{name}/handed/")
}
