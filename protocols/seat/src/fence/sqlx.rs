//! PostgreSQL by `sqlx`: the token is sealed in the transaction of the write.

pub use super::sql::MIGRATION;

use super::{FenceError, begin, of_resource, refused, sql};
use crate::lead::{Fenced, Lead};
use sqlx::{Error, PgConnection, PgPool, Postgres, Transaction};
use std::future::Future;

/// Fenced transactions of a pool.
pub trait FencedPool {
    /// Runs `write` in a transaction that commits only if no newer leader has sealed `resource`: all or nothing of it
    /// happens, and never after a newer leader's write.
    ///
    /// What it does not promise: that a write happens once. A leader that is interrupted may have committed without
    /// learning it. [`FencedPool::fenced_once`] does.
    ///
    /// A leader that is paused in the middle holds the resource's row; so that it does not keep its successors
    /// waiting, the database closes the connection of a transaction that was idle for one lease. A statement that runs
    /// for long keeps them waiting: set `statement_timeout`.
    ///
    /// # Errors
    /// A leadership that is over, a refused token, and the errors of the database and of `write`. After an error of
    /// the connection the transaction may have been committed.
    fn fenced<T, E: From<Error>>(
        &self,
        lead: &Lead<Fenced>,
        resource: &str,
        write: impl AsyncFnOnce(&mut PgConnection) -> Result<T, E>,
    ) -> impl Future<Output = Result<T, FenceError<E>>>;

    /// The same, unless `request` is done: then `write` is not called, and there is `None`. Whoever leads, and however
    /// often it asks, the request of this name is committed once for this resource.
    ///
    /// # Errors
    /// As for [`FencedPool::fenced`]. After an error of the connection, ask again.
    fn fenced_once<T, E: From<Error>>(
        &self,
        lead: &Lead<Fenced>,
        resource: &str,
        request: &str,
        write: impl AsyncFnOnce(&mut PgConnection) -> Result<T, E>,
    ) -> impl Future<Output = Result<Option<T>, FenceError<E>>>;
}

impl FencedPool for PgPool {
    async fn fenced<T, E: From<Error>>(
        &self,
        lead: &Lead<Fenced>,
        resource: &str,
        write: impl AsyncFnOnce(&mut PgConnection) -> Result<T, E>,
    ) -> Result<T, FenceError<E>> {
        let mut transaction = sealed(self, lead, resource).await?;
        let written = write(&mut transaction).await.map_err(FenceError::Write)?;
        commit(transaction, lead).await?;
        Ok(written)
    }

    async fn fenced_once<T, E: From<Error>>(
        &self,
        lead: &Lead<Fenced>,
        resource: &str,
        request: &str,
        write: impl AsyncFnOnce(&mut PgConnection) -> Result<T, E>,
    ) -> Result<Option<T>, FenceError<E>> {
        let mut transaction = sealed(self, lead, resource).await?;
        let done = sqlx::query(sql::DONE).bind(of_resource(resource, request));
        let written = match done.execute(&mut *transaction).await.map_err(failed)?.rows_affected() {
            0 => None,
            _ => Some(write(&mut transaction).await.map_err(FenceError::Write)?),
        };
        commit(transaction, lead).await?;
        Ok(written)
    }
}

fn failed<E: From<Error>>(error: Error) -> FenceError<E> {
    FenceError::Write(E::from(error))
}

/// A transaction that holds the resource for this leader. It is rolled back if it is dropped.
async fn sealed<E: From<Error>>(
    pool: &PgPool,
    lead: &Lead<Fenced>,
    resource: &str,
) -> Result<Transaction<'static, Postgres>, FenceError<E>> {
    begin(lead)?;
    let begin = format!("BEGIN; {}", sql::idle(lead.ttl));
    let mut transaction = pool.begin_with(sqlx::AssertSqlSafe(begin)).await.map_err(failed)?;
    let seal = sqlx::query(sql::SEAL).bind(resource).bind(sql::token(lead.token())).bind(&*lead.holder);
    match seal.execute(&mut *transaction).await.map_err(failed)?.rows_affected() {
        0 => refused(lead),
        _ => Ok(transaction),
    }
}

async fn commit<E: From<Error>>(
    transaction: Transaction<'static, Postgres>,
    lead: &Lead<Fenced>,
) -> Result<(), FenceError<E>> {
    begin(lead)?;
    transaction.commit().await.map_err(failed)
}
