//! Requests as statements, and their answers.

use super::session::Session;
use crate::env::Env;
use protocols::service::postgres::{
    CheckIn, EXTEND, FIRST_CHECK_IN, LOCK_CHECK_IN, LOOK, PING, PUT_CHECK_IN, RELEASE, Reply, Request, TAKE, TRY_LOCK,
    UNLOCK,
};
use tokio_postgres::{
    Client, Error, Row, SimpleQueryMessage,
    types::{ToSql, Type},
};

/// A statement's typed parameters.
type Params<'a> = [(&'a (dyn ToSql + Sync), Type)];

/// Carries out a request, without a timeout.
pub(super) async fn ask<E: Env>(session: &mut Session<E>, number: u64, request: &Request) -> Result<Reply, Error> {
    let client = &session.client;
    match request {
        Request::Take { name, holder, ttl_ms } => {
            let row = query(client, TAKE, &[text(name), text(holder), (&milliseconds(*ttl_ms), Type::INT8)]).await?;
            Ok(Reply::Token(row.map(|row| row.try_get::<_, i64>(0)).transpose()?.and_then(|t| u64::try_from(t).ok())))
        }
        Request::Extend { name, holder, ttl_ms } => {
            let params = [text(name), text(holder), (&milliseconds(*ttl_ms) as &(dyn ToSql + Sync), Type::INT8)];
            Ok(Reply::Done(client.execute_typed(EXTEND, &params).await? > 0))
        }
        Request::Release { name, holder } => {
            Ok(Reply::Done(client.execute_typed(RELEASE, &[text(name), text(holder)]).await? > 0))
        }
        Request::Look { name } => {
            let row = query(client, LOOK, &[text(name)]).await?;
            Ok(Reply::Holder(row.map(|row| row.try_get(0)).transpose()?))
        }
        Request::Begin { name, .. } => {
            session.client.batch_execute("BEGIN").await?;
            session.in_transaction = true;
            let mut row = query(&session.client, LOCK_CHECK_IN, &[text(name)]).await?;
            if row.is_none() {
                // A missing row cannot be locked, so two clients could both take a lease that nobody has held yet.
                session.client.execute_typed(FIRST_CHECK_IN, &[text(name)]).await?;
                row = query(&session.client, LOCK_CHECK_IN, &[text(name)]).await?;
            }
            let row = row.map(|row| check_in(&row)).transpose()?;
            // Before the first leader the row exists but has no token.
            Ok(Reply::CheckIn(row.filter(|row| row.token > 0)))
        }
        Request::End { put } => end(session, put.as_ref()).await,
        Request::TryLock { key, .. } => {
            let row = query(client, TRY_LOCK, &[(key, Type::INT8)]).await?;
            let taken = row.map(|row| row.try_get(0)).transpose()?;
            Ok(Reply::Session((taken == Some(true)).then_some(number)))
        }
        Request::Ping { .. } => {
            query(client, PING, &[]).await?;
            Ok(Reply::Done(true))
        }
        Request::Unlock { key, .. } => {
            let row = query(client, UNLOCK, &[(key, Type::INT8)]).await?;
            Ok(Reply::Done(row.map(|row| row.try_get(0)).transpose()? == Some(true)))
        }
    }
}

/// The same in the simple protocol, as needed for a pool in transaction mode. Requests that need several statements or
/// a table are not sent through it.
pub(super) async fn ask_simply(client: &Client, number: u64, request: &Request) -> Result<Reply, Error> {
    let with_key = |statement: &str, key: i64| statement.replace("$1", &key.to_string());
    match request {
        Request::TryLock { key, .. } => {
            Ok(Reply::Session(says_yes(client, &with_key(TRY_LOCK, *key)).await?.then_some(number)))
        }
        Request::Unlock { key, .. } => Ok(Reply::Done(says_yes(client, &with_key(UNLOCK, *key)).await?)),
        _ => {
            client.simple_query(PING).await?;
            Ok(Reply::Done(matches!(request, Request::Ping { .. })))
        }
    }
}

async fn says_yes(client: &Client, statement: &str) -> Result<bool, Error> {
    let messages = client.simple_query(statement).await?;
    Ok(messages.iter().any(|message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("t"))))
}

async fn end<E: Env>(session: &mut Session<E>, put: Option<&(String, CheckIn)>) -> Result<Reply, Error> {
    if let Some((name, row)) = put {
        let token = i64::try_from(row.token).unwrap_or(i64::MAX);
        let params = [
            text(name),
            text(&row.holder),
            (&row.last_ms as &(dyn ToSql + Sync), Type::INT8),
            (&row.interval_ms, Type::INT8),
            (&token, Type::INT8),
        ];
        session.client.execute_typed(PUT_CHECK_IN, &params).await?;
        session.client.batch_execute("COMMIT").await?;
    } else {
        session.client.batch_execute("ROLLBACK").await?;
    }
    session.in_transaction = false;
    Ok(Reply::Done(true))
}

fn text(value: &String) -> (&(dyn ToSql + Sync), Type) {
    (value, Type::TEXT)
}

fn milliseconds(length: u64) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

async fn query(client: &Client, statement: &str, params: &Params<'_>) -> Result<Option<Row>, Error> {
    Ok(client.query_typed(statement, params).await?.into_iter().next())
}

fn check_in(row: &Row) -> Result<CheckIn, Error> {
    Ok(CheckIn {
        holder: row.try_get(0)?,
        last_ms: row.try_get(1)?,
        interval_ms: row.try_get(2)?,
        token: u64::try_from(row.try_get::<_, i64>(3)?).unwrap_or(0),
    })
}
