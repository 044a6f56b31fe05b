//! PostgreSQL: what the elections ask of it, and the statements that it is asked in.
//!
//! It is used in three ways, and in a fourth that does not work:
//!
//! - [`SERVICE`]: a row with an expiry that the database's clock counts. One statement takes, extends or releases it.
//! - [`CHECK_INS`]: a row in which the holder writes when it was last seen, by its own clock. It is read and written in one
//!   transaction, under the row's lock.
//! - [`SESSIONS`]: an advisory lock that belongs to a session: it is the connection's, and goes with it.
//! - [`POOLED`]: the same lock through a connection pool in transaction mode, where a session belongs to nobody.
//!
//! They are services of their own to plans, since what can be dropped from them, and whose clock ends what, is different.

use super::Service;
use crate::{
    news::{Holder, News, Purpose},
    payload::{Nothing, Payload},
    types::SECOND,
};

/// Rows that end by the database's clock.
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

/// Rows that end by the clocks of those who look at them.
pub const CHECK_INS: Service = Service { name: "postgres-check-ins", expires_by_wall_clock: false, ..SERVICE };

/// Locks of sessions.
pub const SESSIONS: Service =
    Service { name: "postgres-sessions", counts_tokens: false, keeps_data: false, outlasts_pauses: true, ..CHECK_INS };

/// Locks of sessions that a pool hands to whoever comes.
pub const POOLED: Service = Service { name: "postgres-pooled", port: 6432, outlasts_pauses: false, ..SESSIONS };

/// What is said to PostgreSQL and by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = Nothing;
    type Item = Nothing;
}

/// The tables that the elections use. Whoever finds them missing makes them.
pub const SCHEMA: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS fencepost_lock (name text PRIMARY KEY, holder text NOT NULL, \
     locked_at timestamptz NOT NULL, lock_until timestamptz NOT NULL, token bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS fencepost_check_in (name text PRIMARY KEY, holder text NOT NULL, \
     last_check_in bigint NOT NULL, check_in_interval bigint NOT NULL, token bigint NOT NULL)",
];

/// Takes the lock `$1` for holder `$2` and `$3` milliseconds if it is nobody's any more, and draws the next token with it.
/// The token, or no row. `now()` is when the statement came to the server, however long it waits for the row.
pub const TAKE: &str = "\
INSERT INTO fencepost_lock (name, holder, locked_at, lock_until, token) \
VALUES ($1, $2, now(), now() + $3::bigint * interval '1 millisecond', 1) \
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, locked_at = excluded.locked_at, \
lock_until = excluded.lock_until, token = fencepost_lock.token + 1 \
WHERE fencepost_lock.lock_until <= now() \
RETURNING token";

/// Makes the lock `$1` of holder `$2` last `$3` milliseconds from now, unless its time was up.
pub const EXTEND: &str = "\
UPDATE fencepost_lock SET lock_until = now() + $3::bigint * interval '1 millisecond' \
WHERE name = $1 AND holder = $2 AND lock_until > now()";

/// Ends the lock `$1` of holder `$2`. Row and token stay.
pub const RELEASE: &str = "UPDATE fencepost_lock SET lock_until = now() WHERE name = $1 AND holder = $2";

/// Who has the lock `$1`, if it is not over.
pub const LOOK: &str = "SELECT holder FROM fencepost_lock WHERE name = $1 AND lock_until > now()";

/// The row of the check-ins of `$1`, locked until the transaction ends.
pub const LOCK_CHECK_IN: &str = "\
SELECT holder, last_check_in, check_in_interval, token FROM fencepost_check_in WHERE name = $1 FOR UPDATE";

/// The row that nobody's check-ins are in, if there is none: what is there can be locked.
pub const FIRST_CHECK_IN: &str = "\
INSERT INTO fencepost_check_in (name, holder, last_check_in, check_in_interval, token) VALUES ($1, '', 0, 0, 0) \
ON CONFLICT (name) DO NOTHING";

/// Writes that row.
pub const PUT_CHECK_IN: &str = "\
INSERT INTO fencepost_check_in (name, holder, last_check_in, check_in_interval, token) VALUES ($1, $2, $3, $4, $5) \
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, last_check_in = excluded.last_check_in, \
check_in_interval = excluded.check_in_interval, token = excluded.token";

/// Takes the session's advisory lock of key `$1` if no other session has it.
pub const TRY_LOCK: &str = "SELECT pg_try_advisory_lock($1)";

/// Gives it back.
pub const UNLOCK: &str = "SELECT pg_advisory_unlock($1)";

/// Does the connection still stand?
pub const PING: &str = "SELECT 1";

/// The row, or the lock, that a group's leader has.
pub fn name_of(group: u16) -> String {
    if group == 0 { "leader".to_owned() } else { format!("leader-{group}") }
}

/// The key of the advisory lock of a group's leader.
pub const fn key_of(group: u16) -> i64 {
    0x666e_6370 << 32 | group as i64
}

/// The group that an advisory lock's key is of.
pub fn group_of(key: i64) -> Option<u16> {
    u16::try_from(key & 0xffff_ffff).ok().filter(|group| key_of(*group) == key)
}

/// When a silent connection is given up, by the server's `tcp_keepalives_*` and `tcp_user_timeout`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keepalive {
    /// Seconds without a sign of life until the first probe.
    pub idle_s: u64,
    /// Seconds from one probe to the next.
    pub interval_s: u64,
    /// Probes without an answer.
    pub count: u64,
}

impl Keepalive {
    /// The settings under which a connection is given up after so many nanoseconds of silence; whole seconds, and at least 2:
    /// the server's settings have no finer grain.
    pub fn within(length: u64) -> Keepalive {
        let total_s = length.div_ceil(SECOND).max(2);
        let (interval_s, count) = if total_s < 6 { (1, 1) } else { (total_s / 6, 3) };
        Keepalive { idle_s: total_s - interval_s * count, interval_s, count }
    }

    /// After how much silence the connection is given up, nanoseconds.
    pub const fn length(self) -> u64 {
        (self.idle_s + self.interval_s * self.count) * SECOND
    }

    /// As a client asks for it when it connects.
    pub fn options(self) -> String {
        let Keepalive { idle_s, interval_s, count } = self;
        let user_timeout_ms = (idle_s + interval_s * count) * 1_000;
        format!(
            "-c tcp_keepalives_idle={idle_s} -c tcp_keepalives_interval={interval_s} \
             -c tcp_keepalives_count={count} -c tcp_user_timeout={user_timeout_ms}"
        )
    }
}

/// What a row of check-ins holds. Times are milliseconds of the holder's own wall clock.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CheckIn {
    /// Who; empty when it is nobody's.
    pub holder: String,
    /// When it was last seen.
    pub last_ms: i64,
    /// How often it means to be.
    pub interval_ms: i64,
    /// Its fencing token.
    pub token: u64,
}

/// A request to PostgreSQL. Who asks is its session's `application_name`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// [`TAKE`]. Answered by [`Reply::Token`].
    Take {
        /// The lock.
        name: String,
        /// Who takes it.
        holder: String,
        /// Milliseconds that it lasts.
        ttl_ms: u64,
    },
    /// [`EXTEND`]. Answered by [`Reply::Done`].
    Extend {
        /// The lock.
        name: String,
        /// Who has it.
        holder: String,
        /// Milliseconds that it lasts from now.
        ttl_ms: u64,
    },
    /// [`RELEASE`]. Answered by [`Reply::Done`].
    Release {
        /// The lock.
        name: String,
        /// Who has it.
        holder: String,
    },
    /// [`LOOK`]. Answered by [`Reply::Holder`].
    Look {
        /// The lock.
        name: String,
    },
    /// Begins a transaction, with [`LOCK_CHECK_IN`]. Answered by [`Reply::CheckIn`]; the row stays locked until
    /// [`Request::End`].
    Begin {
        /// The row.
        name: String,
        /// Who asks.
        who: String,
        /// Is it for keeping what one has?
        renews: bool,
    },
    /// Ends the transaction: with [`PUT_CHECK_IN`] and `COMMIT`, or with `ROLLBACK`. Answered by [`Reply::Done`]. Refused when
    /// the transaction is gone with its connection.
    End {
        /// The row, and what it is to hold.
        put: Option<(String, CheckIn)>,
    },
    /// [`TRY_LOCK`]. Answered by [`Reply::Session`].
    TryLock {
        /// The key.
        key: i64,
        /// Who asks.
        who: String,
    },
    /// [`PING`] on that session. Answered by [`Reply::Done`]; refused when the session is gone.
    Ping {
        /// The session that has the lock.
        session: u64,
    },
    /// [`UNLOCK`] on that session. Answered by [`Reply::Done`]; refused when the session is gone, and the lock with it.
    Unlock {
        /// The key.
        key: i64,
        /// The session that has the lock.
        session: u64,
    },
}

/// The answer to a [`Request`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// Was it done? `false` when the condition did not hold.
    Done(bool),
    /// The fencing token, at least 1, if the lock was taken.
    Token(Option<u64>),
    /// Who has the lock.
    Holder(Option<String>),
    /// What the row holds, if there is one.
    CheckIn(Option<CheckIn>),
    /// The session that has the lock now, counted by the client; `None` when another has it.
    Session(Option<u64>),
}

impl Request {
    /// The candidate that asks, where the request says so.
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
        assert_eq!(group_of(key_of(0) + 0x1_0000), None);
    }
}
