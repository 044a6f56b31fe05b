//! A connection, and what is known of it.

use crate::env::Env;
use tokio_postgres::Client;

/// A connection. Dropped, it is closed.
pub(super) struct Session<E: Env> {
    pub(super) client: Client,
    /// Which of them it is, from 1.
    pub(super) number: u64,
    /// A transaction is open on it.
    pub(super) in_transaction: bool,
    pub(super) _driver: E::Task,
}
