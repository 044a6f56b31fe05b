//! PostgreSQL by `tokio-postgres`: the token is sealed in the transaction of the write.
//!
//! ```no_run
//! # use fencepost_seat::{FencedSql, Lead};
//! # use tokio_postgres::{Client, Error, Transaction};
//! # fn example(lead: &Lead, mut client: Client) {
//! let leading = lead.clone();
//! lead.spawn(async move {
//!     let charge = "UPDATE invoices SET charged = true WHERE id = 7";
//!     let write = async |sql: &Transaction<'_>| sql.execute(charge, &[]).await;
//!     match client.fenced_once::<_, Error>(&leading, "charges", "invoice-7", write).await {
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
use std::future::Future;
use tokio_postgres::{
    Client, Error, IsolationLevel, Transaction,
    types::{ToSql, Type},
};

/// Fenced transactions.
pub trait FencedSql {
    /// Runs `write` in a transaction that commits only if no newer leader has sealed `resource`: all or nothing of it
    /// happens, and never after a newer leader's write.
    ///
    /// What it does not promise: that a write happens once. A leader that is interrupted may have committed without
    /// learning it. [`FencedSql::fenced_once`] does.
    ///
    /// `E` is the error of `write`, which takes the database's own: with more than one statement, say which it is, as in
    /// `Ok::<_, tokio_postgres::Error>(None)`. A boxed error does not pass through `?` outside, since [`FenceError`] has to
    /// be an error itself; an enum with `#[from]` does. The fence's row is written each time, so look outside
    /// whether there is anything to do.
    ///
    /// Transactions of one resource wait for each other. One that is in an error is not committed, whatever `write`
    /// returns. Its level is `READ COMMITTED`.
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

    /// The same, unless `request` is done: then `write` is not called, and there is `None`. Whoever leads, and however
    /// often it asks, the request of this name is committed once for this resource.
    ///
    /// # Errors
    /// As for [`FencedSql::fenced`]. After an error of the connection, ask again.
    fn fenced_once<T, E: From<Error>>(
        &mut self,
        lead: &Lead<Fenced>,
        resource: &str,
        request: &str,
        write: impl AsyncFnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> impl Future<Output = Result<Option<T>, FenceError<E>>>;
}

impl FencedSql for Client {
    async fn fenced<T, E: From<Error>>(
        &mut self,
        lead: &Lead<Fenced>,
        resource: &str,
        write: impl AsyncFnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, FenceError<E>> {
        let transaction = sealed(self, lead, resource).await?;
        let written = write(&transaction).await.map_err(FenceError::Write)?;
        commit(transaction, lead).await?;
        Ok(written)
    }

    async fn fenced_once<T, E: From<Error>>(
        &mut self,
        lead: &Lead<Fenced>,
        resource: &str,
        request: &str,
        write: impl AsyncFnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<Option<T>, FenceError<E>> {
        let transaction = sealed(self, lead, resource).await?;
        let request = of_resource(resource, request);
        let noted = transaction.execute_typed(sql::DONE, &[(&request, Type::TEXT)]).await.map_err(failed)?;
        let written = match noted {
            0 => None,
            _ => Some(write(&transaction).await.map_err(FenceError::Write)?),
        };
        commit(transaction, lead).await?;
        Ok(written)
    }
}

fn failed<E: From<Error>>(error: Error) -> FenceError<E> {
    FenceError::Write(E::from(error))
}

/// A transaction that holds the resource for this leader.
async fn sealed<'a, E: From<Error>>(
    client: &'a mut Client,
    lead: &Lead<Fenced>,
    resource: &str,
) -> Result<Transaction<'a>, FenceError<E>> {
    begin(lead)?;
    // At a higher level, whoever has waited for the row is refused by an error of the database.
    let builder = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted);
    let transaction = builder.start().await.map_err(failed)?;
    let (idle, token) = (sql::idle(lead.ttl), sql::token(lead.token()));
    let holder: &str = &lead.holder;
    let parameters: [(&(dyn ToSql + Sync), Type); 3] =
        [(&resource, Type::TEXT), (&token, Type::INT8), (&holder, Type::TEXT)];
    // Both are sent at once.
    let (idle, sealed) =
        tokio::join!(transaction.batch_execute(&idle), transaction.execute_typed(sql::SEAL, &parameters));
    idle.map_err(failed)?;
    match sealed.map_err(failed)? {
        0 => refused(lead),
        _ => Ok(transaction),
    }
}

async fn commit<E: From<Error>>(transaction: Transaction<'_>, lead: &Lead<Fenced>) -> Result<(), FenceError<E>> {
    transaction.batch_execute(sql::LIVES).await.map_err(failed)?;
    begin(lead)?;
    transaction.commit().await.map_err(failed)
}
