//! One invoice, charged in one transaction that only the newest leader can commit.

use crate::{Database, Error};
use std::time::Duration;
use tokio::time::timeout;

/// A leader that cannot charge within this time shall not lead.
const PATIENCE: Duration = Duration::from_secs(3);

/// If this process stops in the middle, it keeps nobody else from charging for longer than this.
const END_IF_IDLE: &str = "SET LOCAL idle_in_transaction_session_timeout = '3s'";
/// Only a token that is not outdated passes. The row stays locked until the transaction ends.
const FENCE: &str = "UPDATE fence SET token = $1 WHERE name = 'charges' AND token <= $1";
const OPEN: &str = "SELECT id, amount FROM invoices WHERE NOT charged ORDER BY id LIMIT 1";
const CHARGE: &str = "INSERT INTO charges (invoice, amount, token) VALUES ($1, $2, $3)";
const CLOSE: &str = "UPDATE invoices SET charged = true WHERE id = $1";

/// Charges the next open invoice, if there is one, and returns its number.
pub async fn next(database: &mut Database, token: i64) -> Result<Option<i64>, Error> {
    timeout(PATIENCE, charge(database, token)).await?
}

async fn charge(database: &mut Database, token: i64) -> Result<Option<i64>, Error> {
    let transaction = database.transaction().await?;
    transaction.batch_execute(END_IF_IDLE).await?;
    if transaction.execute(FENCE, &[&token]).await? == 0 {
        return Err("another process leads".into());
    }
    let Some(row) = transaction.query_opt(OPEN, &[]).await? else { return Ok(None) };
    let (invoice, amount): (i64, i64) = (row.get(0), row.get(1));
    transaction.execute(CHARGE, &[&invoice, &amount, &token]).await?;
    transaction.execute(CLOSE, &[&invoice]).await?;
    transaction.commit().await?;
    Ok(Some(invoice))
}
