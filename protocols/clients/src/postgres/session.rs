//! A connection and its state.

use crate::env::Env;
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
