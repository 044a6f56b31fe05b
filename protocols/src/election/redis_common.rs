//! Shared by the Redis elections: the keys, and bugs that several of them can have.

use super::{
    Setup,
    asking::Asking,
    lease_keeper::{Meaning, Rare},
};
use crate::{
    bug::{Bug, Shown},
    elector,
    payload::Nothing,
    service::redis::{Api, Reply},
};
use std::borrow::Cow;

pub(super) type Input = elector::Input<Nothing, Api>;
pub(super) type Output = elector::Output<Nothing, Api>;

/// The leader's key.
pub const KEY: &str = "leader:fencepost";
/// The counter for fencing tokens. It has no TTL: it must outlast every lease.
pub const TOKEN_KEY: &str = "leader:fencepost:token";

/// The key of a group's leader.
pub fn key_of(group: u16) -> Cow<'static, str> {
    of_group(KEY, group)
}

/// The counter for a group's tokens.
pub fn token_key_of(group: u16) -> Cow<'static, str> {
    of_group(TOKEN_KEY, group)
}

fn of_group(key: &'static str, group: u16) -> Cow<'static, str> {
    if group == 0 { key.into() } else { format!("{key}-{group}").into() }
}

/// A Redis server with its default settings.
pub const FORGOTTEN_ON_RESTART: Bug = Bug {
    id: "redis-forgotten-on-restart",
    protocols: &["redis-lease", "redis-fenced", "redlock"],
    what: "The server keeps nothing on disk: when it comes back, keys and the counter of tokens are gone.",
    source: "redis.conf of Redis 7.0: `appendonly no` is the default",
    violation: "dual_belief",
    shown: Shown::by("service-restart", "redis-lease", 12),
};

/// A half-done migration.
pub const MIXED_LOCKS: Bug = Bug {
    id: "mixed-locks",
    protocols: &["redis-lease", "redis-fenced"],
    what: "Candidates of even numbers take the lock by a new name, and those of odd numbers by the old one, as during an upgrade.",
    source: "cockroachdb/cockroach issue 101836, of leases of two kinds; fixed in pull request 101942",
    violation: "leaders_acting_by_effect",
    shown: Shown::by("steady", "redis-lease", 1),
};

/// A lock whose value only names its holder's host.
pub const VALUE_BY_NAME: Bug = Bug {
    id: "redis-value-by-name",
    protocols: &["redis-lease", "redis-fenced"],
    what: "The key's value is the host's name, which all instances share, as containers of one image may: a script that compares it \
           renews and deletes another instance's key as if it were its own.",
    source: "postalserver/postal issue 3627; lukas-krecan/ShedLock issue 317; thebigredgeek/microlock issue 7",
    violation: "dual_belief",
    shown: Shown::by("partition", "redis-lease", 4),
};

/// The key that this candidate competes for.
pub(super) fn key(setup: &Setup) -> String {
    let key = match &setup.seat {
        Some(seat) => seat_key(seat).into(),
        None => key_of(setup.group),
    };
    // Counted from 1, these are the even numbers.
    let migrated = setup.node.0 % 2 == 1 && setup.bugs.has(&MIXED_LOCKS);
    if migrated { format!("{key}:new") } else { key.into_owned() }
}

/// The counter of the tokens of what this candidate competes for.
pub(super) fn token_key(setup: &Setup) -> String {
    match &setup.seat {
        Some(seat) => format!("{}:token", seat_key(seat)),
        None => token_key_of(setup.group).into_owned(),
    }
}

/// In a cluster, the braces keep both keys in one slot, as scripts need it.
fn seat_key(seat: &str) -> String {
    format!("fencepost:{{{seat}}}")
}

/// The value for a new attempt.
pub(super) fn attempt_value(asking: &mut Asking) -> String {
    if asking.setup.bugs.has(&VALUE_BY_NAME) {
        // Readers expect the separator, even without a unique part.
        return format!("{}/", asking.setup.names.first().map_or("", String::as_str));
    }
    asking.attempt_value()
}

/// An answer's meaning to a keeper.
pub(super) fn understand(reply: Reply) -> Meaning {
    match reply {
        Reply::Token(Some(token)) => Meaning::Taken(token),
        Reply::Done(true) => Meaning::Done,
        Reply::Token(None) | Reply::Done(false) => Meaning::Refused,
        Reply::Value(value) => Meaning::Held(value),
    }
}

/// The coverage marks of a keeper at Redis.
pub(super) fn mark(at: Rare) {
    match at {
        Rare::CleansUp => crate::mark!("redis: cleans up before it tries again"),
        Rare::HeldOff => crate::mark!("redis: lets others go first"),
        Rare::Leftover => crate::mark!("redis: an acquisition without an answer may have left a key"),
        Rare::RenewalRefused => crate::mark!("redis: a renewal finds another's key, or none"),
        Rare::TooLate => crate::mark!("redis: acquired so late that nothing is left to believe"),
        Rare::Expired => crate::mark!("redis: the belief ends by the clock"),
    }
}
