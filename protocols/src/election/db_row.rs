//! `db-row`: a row with an expiry by the database's clock, taken by compare-and-set; the token is in the row.
//!
//! **Where it comes from.** ShedLock (lukas-krecan/ShedLock at 2495b14): `PostgresSqlServerTimeStatementsSource` has
//! the statements of its `JdbcTemplateLockProvider` with `usingDbTime()`: `INSERT … ON CONFLICT (name) DO UPDATE …
//! WHERE lock_until <= now` takes the lock, `UPDATE … WHERE locked_by = … AND lock_until > now` extends it, and
//! releasing sets `lock_until` to now. A long-term holder extends in the middle of `lockAtMostFor`
//! (`KeepAliveLockProvider`), and may not use less than 30 s. Two things are added: the token, incremented in the same
//! statement, and a belief that ends by the local clock. ShedLock's keep-alive stops extending once the time is up, but
//! does not tell the task.
//!
//! **What it assumes about time.** For safety nothing: the resource orders writes by token. For a unique *belief*: one
//! TTL of the node's monotonic clock since the last confirmed statement was *sent* ends no later than one TTL of the
//! database's wall clock since it arrived. `now()` is the start of the transaction, so a statement that waits for the
//! row counts from before its wait, which errs on the safe side.
//!
//! **What breaks it.** Without fencing, a pause longer than the lease lets two leaders act. A database that loses the
//! row (restored from a backup, failed over to a lagging replica) restarts the tokens, and every new leader is refused
//! until they have caught up; candidates meanwhile back off for longer and longer. A foreign transaction that locks the
//! row blocks everybody for its duration, including the leader's extension.
//!
//! **What shows it.** `gc-pause`, with fencing and without; `clock-step`; a session of `psql` on the row.
//!
//! `lease_keeper.rs` says how the lease is kept, and whose row it is.
//!
//! If the work's data are rows of the same database, the transaction of the write can check the token itself, by
//! `SELECT FROM fencepost_lock WHERE name = $1 AND token = $2 FOR SHARE`. Here resource and lock are separate, as
//! usual, and the ledger compares.

use super::{
    OwnTimers, Preference, Promise, Protocol, Transport,
    asking::{Asking, RETRIED},
    hazard,
    lease_keeper::{Keeper, LeaseService, Meaning, Rare},
    promise::{self, UNCHECKED},
};
use crate::{
    elector::boxed,
    payload::Nothing,
    service::postgres::{self, Reply, Request, name_of},
    types::SECOND,
};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "db-row",
    about: "A row with an expiry by the database's clock, taken by compare-and-set; its token is counted in the row",
    service: &postgres::SERVICE,
    tokened: true,
    transport: Transport::Stream,
    default_lease_ttl: 30 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 2,
    takeover_max: |timings, _| timings.retry_period(),
    // The row lasts from the request's arrival, the belief from its sending.
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
    elector: |setup| boxed(Keeper::<DbRow>::new(setup)),
    promise: |hazard, fencing| match hazard {
        hazard::SERVICE_DATA_LOSS | hazard::SERVICE_RESTORED => promise::granted_again(fencing),
        _ if fencing => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE => UNCHECKED,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION | hazard::CLOCK_DRIFT => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::SERVICE_RESTART | hazard::STARVATION => Promise::Holds,
        hazard::FLAPPING | hazard::MISSING_LINK => Promise::Holds,
        hazard::CUT_OFF_FROM_SERVICE | hazard::DELAYED_RENEWALS | hazard::SLOW_SERVICE => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::from_sending,
};

fn name(asking: &Asking) -> String {
    asking.setup.seat.clone().unwrap_or_else(|| name_of(asking.setup.group))
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct DbRow;

impl LeaseService for DbRow {
    type Api = postgres::Api;
    type More = Nothing;

    fn mark(at: Rare) {
        match at {
            Rare::CleansUp => crate::mark!("db-row: cleans up before it tries again"),
            Rare::HeldOff => crate::mark!("db-row: lets others go first"),
            Rare::Leftover => crate::mark!("db-row: an attempt without an answer may have taken the row"),
            Rare::RenewalRefused => crate::mark!("db-row: an extension finds the row another's, or over"),
            Rare::TooLate => crate::mark!("db-row: taken so late that nothing is left to believe"),
            Rare::Expired => crate::mark!("db-row: the belief ends by the clock"),
        }
    }

    fn take(asking: &Asking, holder: String) -> Request {
        Request::Take { name: name(asking), holder, ttl_ms: asking.ttl_ms() }
    }

    fn extend(asking: &Asking, holder: String) -> Request {
        Request::Extend { name: name(asking), holder, ttl_ms: asking.ttl_ms() }
    }

    fn give_back(asking: &Asking, holder: String) -> Request {
        Request::Release { name: name(asking), holder }
    }

    fn look(asking: &Asking) -> Request {
        Request::Look { name: name(asking) }
    }

    fn understand(reply: Reply) -> Option<Meaning> {
        match reply {
            Reply::Token(Some(token)) => Some(Meaning::Taken(token)),
            Reply::Done(true) => Some(Meaning::Done),
            Reply::Token(None) | Reply::Done(false) => Some(Meaning::Refused),
            Reply::Holder(value) => Some(Meaning::Held(value.map(String::into_bytes))),
            _ => None,
        }
    }
}
