//! How to connect and as which role, and a connection with its state.

use crate::env::Env;
use protocols::service::{Service, postgres::Keepalive};
use tokio_postgres::Client;

/// A connection, closed when dropped.
pub(super) struct Session<E: Env> {
    pub(super) client: Client,
    /// Its ordinal among this client's connections, from 1.
    pub(super) number: u64,
    /// Whether a transaction is open on it.
    pub(super) in_transaction: bool,
    pub(super) _driver: E::Task,
}

/// The role of candidates.
pub const USER: &str = "fencepost";
pub const DATABASE: &str = "postgres";

/// The candidates' login in the simulation and in real mode.
pub fn usual_login() -> tokio_postgres::Config {
    let mut config = tokio_postgres::Config::new();
    config.user(USER).dbname(DATABASE);
    config
}

#[derive(Clone, Debug)]
pub struct Options {
    /// Whose role, database and password it takes; hosts come from the site.
    pub login: tokio_postgres::Config,
    pub service: &'static Service,
    /// Keepalive of silent connections; `None` leaves it to the server's settings.
    pub keepalive: Option<Keepalive>,
    /// Whether a pool in transaction mode is in between.
    pub pooled: bool,
    /// [`KEPT_IN_POOL`](protocols::election::pg_advisory::KEPT_IN_POOL)
    pub keeps_dropped: bool,
}
