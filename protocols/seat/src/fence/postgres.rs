//! PostgreSQL by `tokio-postgres`: the token is sealed in the transaction of the write.

use super::FenceError;
use crate::{
    ended::Ended,
    lead::{Fenced, Lead},
};
use std::future::Future;
use tokio_postgres::{
    Client, Error, Transaction,
    types::{ToSql, Type},
};

/// The table of the highest tokens, for your migrations.
pub const MIGRATION: &str = include_str!("../../migrations/fencepost_fence.sql");

/// Passes if no higher token has sealed the resource, nor another leader with the same one, which a service that has
/// lost its last writes may give out twice. It keeps the row locked until the transaction ends, so that a
/// newer leader waits for a write that is under way.
const SEAL: &str = "INSERT INTO fencepost_fence (resource, token, holder) VALUES ($1, $2, $3) \
                    ON CONFLICT (resource) DO UPDATE SET token = excluded.token, holder = excluded.holder \
                    WHERE fencepost_fence.token < excluded.token \
                    OR fencepost_fence.token = excluded.token AND fencepost_fence.holder = excluded.holder";

/// Fenced transactions.
pub trait FencedSql {
    /// Runs `write` in a transaction that commits only if no newer leader has sealed `resource`: all or nothing of it
    /// happens, and never after a newer leader's write.
    ///
    /// What it does not promise: that a write happens once. A leader that is interrupted may have committed without
    /// learning it.
    ///
    /// A leader that is paused in the middle holds the row; so that it does not keep its successors waiting, the
    /// database closes the connection of a transaction that was idle for one lease. So take a new client for each
    /// leadership, in the closure. A statement that runs for long keeps them waiting: set `statement_timeout`.
    ///
    /// # Errors
    /// A leadership that is over, a refused token, and the errors of the database and of `write`. After an error of
    /// the connection the transaction may have been committed.
    fn fenced<T, E: From<Error>>(
        &mut self,
        lead: &Lead<Fenced>,
        resource: &str,
        write: impl AsyncFnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> impl Future<Output = Result<T, FenceError<E>>>;
}

impl FencedSql for Client {
    async fn fenced<T, E: From<Error>>(
        &mut self,
        lead: &Lead<Fenced>,
        resource: &str,
        write: impl AsyncFnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, FenceError<E>> {
        lead.check().map_err(FenceError::Over)?;
        let sql = |error: Error| FenceError::Write(E::from(error));
        let transaction = self.transaction().await.map_err(sql)?;
        let idle = format!("SET LOCAL idle_in_transaction_session_timeout = {}", lead.ttl.as_millis());
        let token = i64::try_from(lead.token()).unwrap_or(i64::MAX);
        let holder: &str = &lead.holder;
        let parameters: [(&(dyn ToSql + Sync), Type); 3] =
            [(&resource, Type::TEXT), (&token, Type::INT8), (&holder, Type::TEXT)];
        // Both are sent at once.
        let (idle, sealed) =
            tokio::join!(transaction.batch_execute(&idle), transaction.execute_typed(SEAL, &parameters));
        idle.map_err(sql)?;
        if sealed.map_err(sql)? == 0 {
            lead.refused();
            return Err(FenceError::Over(Ended::Refused));
        }
        let written = write(&transaction).await.map_err(FenceError::Write)?;
        lead.check().map_err(FenceError::Over)?;
        transaction.commit().await.map_err(sql)?;
        Ok(written)
    }
}
