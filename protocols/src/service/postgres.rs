//! PostgreSQL: the elections' requests, and their SQL statements.
//!
//! There are three ways to use it, and a fourth that does not work:
//!
//! - [`SERVICE`]: a row with an expiry by the database's clock. One statement takes, extends or releases it.
//! - [`CHECK_INS`]: a row in which the holder records its last check-in by its own clock. It is read and written in one
//!   transaction, under the row's lock.
//! - [`SESSIONS`]: an advisory lock, which belongs to a session: it ends with the connection.
//! - [`POOLED`]: the same lock through a connection pool in transaction mode, where sessions are shared.
//!
//! For plans they are separate services, since they differ in what can be dropped from them, and in whose clock expires
//! it.

use super::Service;
use crate::{
    news::{Holder, News, Purpose},
    payload::{Nothing, Payload},
    types::SECOND,
};
use xxhash_rust::xxh3::xxh3_64;

/// Rows that expire by the database's clock.
pub const SERVICE: Service = Service {
    name: "postgres",
    process: Some("postgres"),
    port: 5432,
    elects: true,
    keeps_data: true,
    has_keys: true,
    counts_tokens: true,
    expires_by_wall_clock: true,
    is_asked: true,
    has_groups: true,
    ..Service::NONE
};

/// Rows that expire by their readers' clocks.
pub const CHECK_INS: Service = Service { name: "postgres-check-ins", expires_by_wall_clock: false, ..SERVICE };

/// Session locks.
pub const SESSIONS: Service =
    Service { name: "postgres-sessions", counts_tokens: false, keeps_data: false, outlasts_pauses: true, ..CHECK_INS };

/// Session locks through a pool that shares its sessions.
pub const POOLED: Service = Service { name: "postgres-pooled", port: 6432, outlasts_pauses: false, ..SESSIONS };

/// The types of PostgreSQL's requests and answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = Watch;
    type Item = Nothing;
}

/// Watches a session: the stream has no items, and ends with the session.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Watch {
    /// The session, by the number that the client gave it.
    pub session: u64,
}

impl Payload for Watch {}

/// The elections' tables. A client that finds them missing creates them.
pub const SCHEMA: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS fencepost_lock (name text PRIMARY KEY, holder text NOT NULL, \
     locked_at timestamptz NOT NULL, lock_until timestamptz NOT NULL, token bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS fencepost_check_in (name text PRIMARY KEY, holder text NOT NULL, \
     last_check_in bigint NOT NULL, check_in_interval bigint NOT NULL, token bigint NOT NULL)",
];

/// Takes the lock `$1` for holder `$2` and `$3` milliseconds if it is free, and draws the next token with it. Returns
/// the token, or no row. `now()` is when the statement reached the server, however long it waits for the row.
pub const TAKE: &str = "\
INSERT INTO fencepost_lock (name, holder, locked_at, lock_until, token) \
VALUES ($1, $2, now(), now() + $3::bigint * interval '1 millisecond', 1) \
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, locked_at = excluded.locked_at, \
lock_until = excluded.lock_until, token = fencepost_lock.token + 1 \
WHERE fencepost_lock.lock_until <= now() \
RETURNING token";

/// Extends the lock `$1` of holder `$2` to `$3` milliseconds from now, unless it has expired.
pub const EXTEND: &str = "\
UPDATE fencepost_lock SET lock_until = now() + $3::bigint * interval '1 millisecond' \
WHERE name = $1 AND holder = $2 AND lock_until > now()";

/// Ends the lock `$1` of holder `$2`. The row and the token stay.
pub const RELEASE: &str = "UPDATE fencepost_lock SET lock_until = now() WHERE name = $1 AND holder = $2";

/// The holder of the lock `$1`, unless it has expired.
pub const LOOK: &str = "SELECT holder FROM fencepost_lock WHERE name = $1 AND lock_until > now()";

/// The check-in row of `$1`, locked until the transaction ends.
pub const LOCK_CHECK_IN: &str = "\
SELECT holder, last_check_in, check_in_interval, token FROM fencepost_check_in WHERE name = $1 FOR UPDATE";

/// Creates an empty check-in row, if there is none, so that it can be locked.
pub const FIRST_CHECK_IN: &str = "\
INSERT INTO fencepost_check_in (name, holder, last_check_in, check_in_interval, token) VALUES ($1, '', 0, 0, 0) \
ON CONFLICT (name) DO NOTHING";

/// Writes the check-in row.
pub const PUT_CHECK_IN: &str = "\
INSERT INTO fencepost_check_in (name, holder, last_check_in, check_in_interval, token) VALUES ($1, $2, $3, $4, $5) \
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, last_check_in = excluded.last_check_in, \
check_in_interval = excluded.check_in_interval, token = excluded.token";

/// Takes the session's advisory lock with key `$1` if no other session has it.
pub const TRY_LOCK: &str = "SELECT pg_try_advisory_lock($1)";

/// Releases it.
pub const UNLOCK: &str = "SELECT pg_advisory_unlock($1)";

/// Checks that the connection still works.
pub const PING: &str = "SELECT 1";

/// The row or lock of a group's leader.
pub fn name_of(group: u16) -> String {
    if group == 0 { "leader".to_owned() } else { format!("leader-{group}") }
}

/// The key of the advisory lock of a group's leader.
pub const fn key_of(group: u16) -> i64 {
    0x666e_6370 << 32 | group as i64
}

/// The key of the advisory lock of a seat with this name. Advisory locks have numbers and no names; two names that
/// share a number would keep each other from leading, and never let two lead.
pub fn seat_key(seat: &str) -> i64 {
    i64::from_ne_bytes(xxh3_64(format!("fencepost/{seat}").as_bytes()).to_ne_bytes())
}

/// The group of an advisory lock's key.
pub fn group_of(key: i64) -> Option<u16> {
    u16::try_from(key & 0xffff_ffff).ok().filter(|group| key_of(*group) == key)
}

/// When the server gives up a silent connection, by its `tcp_keepalives_*` and `tcp_user_timeout`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keepalive {
    /// Seconds of silence before the first probe.
    pub idle_s: u64,
    /// Seconds between probes.
    pub interval_s: u64,
    /// The number of unanswered probes.
    pub count: u64,
}

impl Keepalive {
    /// Settings that give up a connection after `length` nanoseconds of silence; rounded up to whole seconds, and at
    /// least 2, since the server's settings have no finer resolution.
    pub fn within(length: u64) -> Keepalive {
        let total_s = length.div_ceil(SECOND).max(2);
        let (interval_s, count) = if total_s < 6 { (1, 1) } else { (total_s / 6, 3) };
        Keepalive { idle_s: total_s - interval_s * count, interval_s, count }
    }

    /// The silence after which the connection is given up, nanoseconds.
    pub const fn length(self) -> u64 {
        (self.idle_s + self.interval_s * self.count) * SECOND
    }

    /// The settings as connection options.
    pub fn options(self) -> String {
        let Keepalive { idle_s, interval_s, count } = self;
        let user_timeout_ms = (idle_s + interval_s * count) * 1_000;
        format!(
            "-c tcp_keepalives_idle={idle_s} -c tcp_keepalives_interval={interval_s} \
             -c tcp_keepalives_count={count} -c tcp_user_timeout={user_timeout_ms}"
        )
    }
}

/// A check-in row. Times are milliseconds of the holder's own wall clock.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CheckIn {
    /// The holder; empty if there is none.
    pub holder: String,
    /// The holder's last check-in.
    pub last_ms: i64,
    /// The holder's check-in interval.
    pub interval_ms: i64,
    pub token: u64,
}

/// A request to PostgreSQL. The requester's name is its session's `application_name`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// [`TAKE`]. Answered by [`Reply::Token`].
    Take {
        name: String,
        holder: String,
        /// The duration, milliseconds.
        ttl_ms: u64,
    },
    /// [`EXTEND`]. Answered by [`Reply::Done`].
    Extend {
        name: String,
        holder: String,
        /// The duration from now, milliseconds.
        ttl_ms: u64,
    },
    /// [`RELEASE`]. Answered by [`Reply::Done`].
    Release { name: String, holder: String },
    /// [`LOOK`]. Answered by [`Reply::Holder`].
    Look { name: String },
    /// Begins a transaction with [`LOCK_CHECK_IN`]. Answered by [`Reply::CheckIn`]; the row stays locked until
    /// [`Request::End`].
    Begin {
        name: String,
        who: String,
        /// Whether this is the holder's renewal.
        renews: bool,
    },
    /// Ends the transaction: with [`PUT_CHECK_IN`] and `COMMIT`, or with `ROLLBACK`. Answered by [`Reply::Done`].
    /// Refused if the transaction has ended with its connection. the transaction is gone with its connection.
    End {
        /// The row and its new content.
        put: Option<(String, CheckIn)>,
    },
    /// [`TRY_LOCK`]. Answered by [`Reply::Session`].
    TryLock { key: i64, who: String },
    /// [`PING`] on that session. Answered by [`Reply::Done`]; refused if the session has ended.
    Ping {
        /// The session that holds the lock.
        session: u64,
    },
    /// [`UNLOCK`] on that session. Answered by [`Reply::Done`]; refused if the session, and so the lock, has ended.
    Unlock {
        key: i64,
        /// The session that holds the lock.
        session: u64,
    },
}

/// The answer to a [`Request`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// Whether it was done; `false` if the condition did not hold.
    Done(bool),
    /// The fencing token, at least 1, if the lock was taken.
    Token(Option<u64>),
    /// The lock's holder.
    Holder(Option<String>),
    /// The row's content, if it exists.
    CheckIn(Option<CheckIn>),
    /// The session that now holds the lock, numbered by the client; `None` if another has it.
    Session(Option<u64>),
}

impl Request {
    /// The requesting candidate, if the request names it.
    pub fn who(&self) -> Option<&str> {
        match self {
            Request::Take { holder, .. } | Request::Extend { holder, .. } | Request::Release { holder, .. } => {
                holder.split('/').next()
            }
            Request::Begin { who, .. } | Request::TryLock { who, .. } => Some(who),
            Request::Look { .. } | Request::End { .. } | Request::Ping { .. } | Request::Unlock { .. } => None,
        }
    }
}

impl Payload for Request {
    fn purpose(&self) -> Purpose {
        match self {
            Request::Take { .. } | Request::Begin { renews: false, .. } | Request::TryLock { .. } => Purpose::Candidacy,
            Request::Extend { .. } | Request::Begin { renews: true, .. } | Request::Ping { .. } => Purpose::Renewal,
            Request::Look { .. } => Purpose::Holder,
            Request::Release { .. } | Request::End { .. } | Request::Unlock { .. } => Purpose::Other,
        }
    }
}

impl Payload for Reply {
    fn news(&self) -> News {
        let holder = |value: &String| Holder { place: "the leader's row".to_owned(), value: value.clone() };
        match self {
            Reply::Holder(value) => News { held: value.is_some(), holder: Some(value.as_ref().map(holder)) },
            Reply::CheckIn(row) => {
                let held = row.as_ref().map(|row| &row.holder).filter(|value| !value.is_empty());
                News { held: held.is_some(), holder: Some(held.map(holder)) }
            }
            Reply::Done(done) => News { held: !done, holder: None },
            Reply::Token(token) => News { held: token.is_none(), holder: None },
            Reply::Session(session) => News { held: session.is_none(), holder: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_given_up_after_as_many_whole_seconds() {
        for total_s in [2, 3, 5, 6, 15, 30, 31, 7_875] {
            let keepalive = Keepalive::within(total_s * SECOND);
            assert!(keepalive.idle_s >= 1 && keepalive.interval_s >= 1 && keepalive.count >= 1, "{keepalive:?}");
            assert_eq!(keepalive.length(), total_s * SECOND, "{keepalive:?}");
        }
        assert_eq!(Keepalive::within(1).length(), 2 * SECOND);
    }

    #[test]
    fn keys_and_groups_belong_together() {
        for group in [0, 1, 255, u16::MAX] {
            assert_eq!(group_of(key_of(group)), Some(group));
        }
        assert_eq!(group_of(7), None);
        // It stays as it is: members of two versions stand for one lock.
        assert_eq!(seat_key("invoices"), -6_812_034_842_120_672_139);
        assert_eq!(group_of(key_of(0) + 0x1_0000), None);
    }
}
