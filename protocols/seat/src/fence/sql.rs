//! The statements that fence a transaction in PostgreSQL.

/// The table of the highest tokens, and the one of requests that are done, for your migrations.
pub const MIGRATION: &str =
    concat!(include_str!("../../migrations/fencepost_fence.sql"), include_str!("../../migrations/fencepost_done.sql"));

/// Passes if no higher token has sealed the resource, nor another leader with the same one, which a service that has
/// lost its last writes may give out twice. It keeps the row locked until the transaction ends, so that a
/// newer leader waits for a write that is under way.
pub const SEAL: &str = "INSERT INTO fencepost_fence (resource, token, holder) VALUES ($1, $2, $3) \
                        ON CONFLICT (resource) DO UPDATE SET token = excluded.token, holder = excluded.holder \
                        WHERE fencepost_fence.token < excluded.token \
                        OR fencepost_fence.token = excluded.token AND fencepost_fence.holder = excluded.holder";

/// An error in a transaction that an error has aborted: a commit of it would answer without one, and write nothing.
pub const LIVES: &str = "SELECT 1";

/// Changes no row if the request is done.
pub const DONE: &str = "INSERT INTO fencepost_done (request) VALUES ($1) ON CONFLICT (request) DO NOTHING";

/// Closes the connection of a transaction in which nothing happens for this long: a leader that is paused in the middle
/// holds the resource's row.
pub fn idle(ttl: std::time::Duration) -> String {
    format!("SET LOCAL idle_in_transaction_session_timeout = {}", ttl.as_millis())
}

/// Tokens are positive, and below what a `bigint` holds.
pub fn token(token: u64) -> i64 {
    i64::try_from(token).unwrap_or(i64::MAX)
}
