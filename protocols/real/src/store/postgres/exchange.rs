//! One bounded exchange with PostgreSQL, and its error as text.

use std::{error::Error as _, future::Future, time::Duration};
use tokio::time::timeout;
use tokio_postgres::Error;

/// The timeout of an exchange; after it the connection is dropped.
const ANSWER: Duration = Duration::from_secs(5);

pub(super) async fn within<T>(exchange: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    timeout(ANSWER, exchange).await.unwrap_or_else(|_| Err("PostgreSQL does not answer".to_owned()))
}

/// The server's own message, or what is wrong with the connection.
pub(super) fn explain(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(db), _) => format!("PostgreSQL says: {} ({})", db.message(), db.code().code()),
        (None, Some(source)) => format!("PostgreSQL cannot be used: {error}: {source}"),
        (None, None) => format!("PostgreSQL cannot be used: {error}"),
    }
}
