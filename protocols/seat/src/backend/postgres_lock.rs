use super::{AddressError, Backend, Deliver, Running, Service, postgres::Server};
use crate::lead::Unfenced;
use protocols::{
    election::{Protocol, pg_advisory::from_sending},
    elector::ServiceOutput,
    service::postgres::{Keepalive, SESSIONS, seat_key},
    types::SECOND,
};
use protocols_clients::{
    env::tokio::TokioEnv,
    postgres::{Options, Postgres},
};
use std::fmt;
use tokio::sync::mpsc::UnboundedReceiver;

/// PostgreSQL's session-level advisory lock: no table, and **no token**, so nothing that the leader writes can be
/// fenced. Where its work writes to a database, take [`Postgres`](crate::Postgres) instead, which needs a table and has
/// tokens. A waiting member polls (`pg_try_advisory_lock`), and does not know who leads.
///
/// Each campaign has a connection of its own, also while it waits: of a seat with shards, each member has one for each
/// shard, and PostgreSQL's `max_connections` (100 by default) limits them.
///
/// **What PostgreSQL promises.** The lock lasts until it is unlocked or its session ends (documentation, *Advisory
/// Locks*; `src/backend/storage/lmgr/lock.c: LockReleaseAll`). PostgreSQL ends a session when its client has closed the
/// connection, and when its own kernel has given the connection up. The seat tells it to do the latter after one
/// [TTL](crate::Settings::ttl) of silence, by the session's `tcp_keepalives_*` and `tcp_user_timeout` (by default,
/// Linux and PostgreSQL take more than two hours), and believes for one TTL, less the margin, after it has sent the
/// last question that was answered. The backend waits for the next question, so it notices at once;
/// `client_connection_check_interval` matters to statements that take long, and there is none. If the session is ended
/// otherwise, and the client is told, the belief ends at once.
///
/// The lock is kept until the work has stopped, even if the belief is over by then. After an unclean stop the
/// connection is closed one TTL later, as a lease would run out; a process that ends is followed at once. A process
/// that is paused keeps the lock for as long as the pause takes, since its kernel answers the server's probes: nobody
/// follows it, and nobody leads beside it.
///
/// **When two can believe**, for one TTL at most unless it says otherwise:
/// - PostgreSQL is restarted, or an operator ends the session (`pg_terminate_backend`), and the leader is cut off or
///   paused, so that nobody tells it. If PostgreSQL's machine loses power, nobody tells anybody: when it is back, the
///   leader learns it by its next question, and another may have the lock by then. With an `idle_session_timeout` below
///   a third of the TTL, PostgreSQL ends every leadership by itself.
/// - A standby is promoted: it knows nothing of advisory locks, which are not replicated. If the old primary goes on,
///   its leader does, too, **without an end**. Name one server, and not a name that may lead to another or to a
///   standby.
/// - A connection pooler in transaction mode: statements of all clients share sessions, and **everybody leads**.
///   PgBouncer refuses the seat's settings (`options` in the startup message), unless `ignore_startup_parameters` has
///   `options`. Go past the pooler.
#[derive(Clone)]
pub struct PostgresLock {
    server: Server,
    keepalive: Keepalive,
}

impl PostgresLock {
    /// PostgreSQL at `postgres://USER[:PASSWORD]@HOST[:PORT]/DATABASE`. Dials when there is something to ask. Advisory
    /// locks are a database's own: all members need the same one.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub fn connect(address: &str) -> Result<Self, AddressError> {
        Server::plain(address).map(PostgresLock::on)
    }

    /// The same by TLS, as for [`Postgres::connect_tls`](crate::Postgres::connect_tls).
    ///
    /// # Errors
    /// An address that cannot be used.
    #[cfg(feature = "tls")]
    pub fn connect_tls(address: &str, tls: &tokio_rustls::rustls::ClientConfig) -> Result<Self, AddressError> {
        Server::encrypted(address, tls).map(PostgresLock::on)
    }

    /// The number by which PostgreSQL knows the seat's lock: a hash of `fencepost/SEAT` (XXH3, 64 bits). `pg_locks`
    /// shows its upper half as `classid` and its lower half as `objid`.
    pub fn key(seat: &str) -> i64 {
        seat_key(seat)
    }

    fn on(server: Server) -> Self {
        PostgresLock { server, keepalive: Keepalive::within(15 * SECOND) }
    }
}

impl Backend for PostgresLock {
    type Fencing = Unfenced;
}

impl Service for PostgresLock {
    fn protocol(&self) -> &'static Protocol {
        &from_sending::PROTOCOL
    }

    fn env(&self) -> &TokioEnv {
        &self.server.env
    }

    fn lasting(self, lease: u64) -> Self {
        PostgresLock { keepalive: Keepalive::within(lease), ..self }
    }

    fn ends_with_its_client(&self) -> bool {
        true
    }

    fn run(&self, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running {
        let Server { env, login, at } = self.server.clone();
        let keepalive = Some(self.keepalive);
        let options = Options { login, service: &SESSIONS, keepalive, pooled: false, keeps_dropped: false };
        // In a session that campaigns shared, the next one would have the lock of the one before.
        let connection = Postgres::new(env, at, options);
        Box::pin(async move { connection.run(outputs, move |input| deliver(input)).await })
    }
}

impl fmt::Debug for PostgresLock {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("PostgresLock").field(&self.server.at).finish()
    }
}
