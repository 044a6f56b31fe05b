//! The key, the documented token, and the durations of sessions and lock-delays.

use crate::{
    bug::{Bug, Shown},
    election::Timings,
    types::SECOND,
};

/// The key that a group's leader holds. `consul lock fencepost/leader …` takes the first group's.
pub fn key_of(group: u16) -> String {
    match group {
        0 => "fencepost/leader/.lock".to_owned(),
        group => format!("fencepost/leader-{group}/.lock"),
    }
}

/// The token that Consul's documentation names.
pub const LOCK_INDEX: Bug = Bug {
    id: "consul-lock-index",
    protocols: &["consul-session"],
    what: "The token is the key's LockIndex, which counts its acquisitions and starts again at 1 when the key was deleted.",
    source: "hashicorp/consul, website/content/docs/dynamic-app-config/sessions: the sequencer; agent/consul/state/kvs.go: \
             kvsLockTxn, kvsSetTxn",
    violation: "elections",
    shown: Shown::by("lost-lease", "consul-session", 12),
};

/// Candidates trust reads that any server may answer from stale state.
pub const UNVERIFIED_READS: Bug = Bug {
    id: "consul-unverified-reads",
    protocols: &["consul-session"],
    what: "The lock and its token are read from a server whose leadership is not confirmed: one that was stopped, and \
           replaced, tells a candidate that it holds a lock that another now has.",
    source: "hashicorp/consul issue 54; fixed for requests with `?consistent`, pull request 68",
    violation: "tokens_monotone",
    shown: Shown::by("service-leader-wakes", "consul-session", 20).with("--rate 200 --fencing off"),
};

/// The former behaviour of `RenewPeriodic`, before it retried.
pub const RENEWAL_NOT_RETRIED: Bug = Bug {
    id: "consul-renewal-not-retried",
    protocols: &["consul-session"],
    what: "One failed renewal, for example while the servers elect a leader, ends all renewing: the session expires, \
           and with it the lock of a healthy holder, which may not even learn of it.",
    source: "hashicorp/consul pull request 912",
    violation: "no_stale_write",
    shown: Shown::by("service-leader-isolated", "consul-session", 20).with("--lease-ttl 20s --rate 50 --fencing off"),
};

/// The shortest TTL of a session (`session_ttl_min`).
pub(super) const TTL_MIN: u64 = 10 * SECOND;
/// The longest TTL of a session.
pub(super) const TTL_MAX: u64 = 24 * 3_600 * SECOND;
/// The server ends a session after this multiple of its TTL (`structs.SessionTTLMultiplier`).
pub(super) const TTL_MULTIPLIER: u64 = 2;
/// The default lock-delay.
pub(super) const LOCK_DELAY: u64 = 15 * SECOND;
/// The longest lock-delay (`structs.MaxLockDelay`).
pub(super) const LOCK_DELAY_MAX: u64 = 60 * SECOND;
/// `api.DefaultLockRetryTime`.
pub(super) const RETRY: u64 = 5 * SECOND;

/// A session's TTL when `ttl` is requested.
pub(super) fn session_ttl(ttl: u64) -> u64 {
    ttl.clamp(TTL_MIN, TTL_MAX)
}

/// How long a key stays unavailable after its holder's session ended; by default the server's.
pub(super) fn lock_delay(timings: &Timings) -> u64 {
    timings.own.lock_delay.unwrap_or(LOCK_DELAY)
}

/// The TTL of a session by which a belief counts: no longer than a lock-delay can be.
pub fn counted_ttl(ttl: u64) -> u64 {
    ttl.clamp(TTL_MIN, LOCK_DELAY_MAX)
}

/// What ends a belief besides the service's word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Counting {
    /// No clock, as in the library.
    Nothing,
    /// A session's TTL after the last confirmed request was sent.
    FromSending,
}

impl Counting {
    /// Who counts lets nobody have the lock of a session that was ended early before it has stopped believing.
    pub(super) fn lock_delay(self, timings: &Timings) -> u64 {
        match self {
            Counting::Nothing => lock_delay(timings),
            Counting::FromSending => timings.own.lock_delay.unwrap_or_else(|| counted_ttl(timings.lease_ttl)),
        }
    }

    /// The TTL that a session is created with.
    pub(super) fn session_ttl(self, timings: &Timings) -> u64 {
        match self {
            Counting::Nothing => session_ttl(timings.lease_ttl),
            Counting::FromSending => counted_ttl(timings.lease_ttl),
        }
    }
}

/// How long a candidate waits after a refusal because of a lock-delay.
pub(super) fn retry(timings: &Timings) -> u64 {
    timings.own.retry_period.unwrap_or(RETRY)
}

/// The server silently caps a longer lock-delay.
pub(super) fn refuses(timings: &Timings) -> Option<String> {
    let long = lock_delay(timings) > LOCK_DELAY_MAX;
    long.then(|| "the lock delay is above 60s, to which Consul limits it".to_owned())
}
