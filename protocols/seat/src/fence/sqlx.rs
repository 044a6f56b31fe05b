//! PostgreSQL by `sqlx`: the token is sealed in the transaction of the write.
//!
//! ```no_run
//! # use fencepost_seat::{FencedPool, Lead};
//! # fn example(lead: &Lead, pool: sqlx::PgPool) {
//! let (leading, pool) = (lead.clone(), pool.clone());
//! lead.spawn(async move {
//!     let charge = sqlx::query("UPDATE invoices SET charged = true WHERE id = $1").bind(7);
//!     let write = async |sql: &mut sqlx::PgConnection| charge.execute(sql).await;
//!     match pool.fenced_once(&leading, "charges", "invoice-7", write).await {
//!         Ok(Some(_)) => println!("charged"),
//!         Ok(None) => println!("was charged before"),
//!         Err(error) => println!("{error}"),
//!     }
//! });
//! # }
//! ```

pub use super::sql::MIGRATION;

use super::{
    FenceError,
    common::{begin, of_resource, refused},
    sql,
};
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
    /// Transactions of one resource wait for each other, and keep their connections meanwhile: make one at a time, and
    /// take no other connection of the pool in `write`. One that is in an error is not committed, whatever `write`
    /// returns. Its level is `READ COMMITTED`.
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
        let done = sqlx::query(sql::DONE).persistent(false).bind(of_resource(resource, request));
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
    // At a higher level, whoever has waited for the row is refused by an error of the database.
    let start = format!("BEGIN ISOLATION LEVEL READ COMMITTED; {}", sql::idle(lead.ttl));
    // To its end even if this is dropped: sqlx does not roll back what was dropped before it had begun, and the pool
    // would give the connection, in a transaction, to the next.
    let pool = pool.clone();
    let begun = tokio::spawn(async move { pool.begin_with(sqlx::AssertSqlSafe(start)).await });
    let mut transaction = begun.await.unwrap_or(Err(Error::WorkerCrashed)).map_err(failed)?;
    // Not prepared by name: a pooler in front of the database may not know the name.
    let seal =
        sqlx::query(sql::SEAL).persistent(false).bind(resource).bind(sql::token(lead.token())).bind(&*lead.holder);
    match seal.execute(&mut *transaction).await.map_err(failed)?.rows_affected() {
        0 => refused(lead),
        _ => Ok(transaction),
    }
}

async fn commit<E: From<Error>>(
    mut transaction: Transaction<'static, Postgres>,
    lead: &Lead<Fenced>,
) -> Result<(), FenceError<E>> {
    sqlx::raw_sql(sql::LIVES).execute(&mut *transaction).await.map_err(failed)?;
    begin(lead)?;
    transaction.commit().await.map_err(failed)
}
