//! The store's SQL statements, each a bounded exchange, those on plans among them.

use crate::store::{
    plans::{Changed, StoredPlan, StoredPlans},
    wire::RESOURCES,
};
use std::{error::Error as _, future::Future, time::Duration};
use tokio::time::timeout;
use tokio_postgres::{Client, Error, Statement, Transaction};

/// The server ends a transaction that is idle for this long.
pub(super) const HELD: &str = "5s";

/// Audit lines after an id, in order.
pub(super) const PAGE: &str = "select id, line from fenced_audit where id > $1 order by id limit $2";

/// Sets a connection up for a store: durable commits, bounded waits, and a fixed schema for all names.
pub(super) async fn set_up(client: &Client) -> Result<(), String> {
    let in_words = |e: Error| explain(&e);
    let row = client.query_one("select quote_ident(current_schema())", &[]).await.map_err(in_words)?;
    let schema: Option<String> = row.get(0);
    let schema = schema.ok_or("none of the schemas in PostgreSQL's search_path exists; create one for the store")?;
    let set = format!(
        "set search_path = {schema}, pg_temp;
         set idle_in_transaction_session_timeout = '{HELD}';
         set lock_timeout = '2s';
         set statement_timeout = '{HELD}';
         select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off';"
    );
    client.batch_execute(&set).await.map_err(in_words)
}

/// Creates what is missing. Stores that start concurrently take turns.
pub(super) async fn create(client: &Client) -> Result<(), Error> {
    client
        .batch_execute(
            "begin;
             select pg_advisory_xact_lock(7310868715934);
             create table if not exists fenced_resource (
                 name text primary key,
                 max_token bigint not null default 0,
                 owner_node text,
                 owner_term bigint,
                 version bigint not null default 0);
             create table if not exists sequence (
                 name text primary key,
                 last_seq bigint not null default 0,
                 owner_token bigint not null default 0);
             create table if not exists fenced_request (
                 resource text not null, client text not null, number bigint not null, seq bigint not null,
                 primary key (resource, client, number));
             create index if not exists fenced_request_seq on fenced_request (resource, seq);
             create table if not exists fenced_client (
                 resource text not null, client text not null, forgotten bigint not null,
                 primary key (resource, client));
             create table if not exists fenced_record (
                 name text primary key, number bigint not null, at_us bigint not null);
             create table if not exists fenced_plan (
                 resource text not null, number bigint not null, place bigint not null,
                 node text not null, generation bigint not null, token bigint not null,
                 primary key (resource, number));
             create table if not exists fenced_live_plan (name text primary key, number bigint not null);
             create table if not exists fenced_audit (id bigserial primary key, line text not null);
             commit;",
        )
        .await?;
    // One statement per table, which also adds the resources of works that a later build introduces.
    for table in ["fenced_resource", "sequence"] {
        let insert = format!("insert into {table} (name) select unnest($1::text[]) on conflict do nothing");
        client.execute(&insert, &[&RESOURCES.as_slice()]).await?;
    }
    Ok(())
}

pub(super) struct Statements {
    pub(super) lock: Statement,
    pub(super) records: Statement,
    pub(super) record: Statement,
    pub(super) last_seq: Statement,
    pub(super) applied: Statement,
    pub(super) forgotten: Statement,
    pub(super) resource: Statement,
    pub(super) sequence: Statement,
    pub(super) remember: Statement,
    pub(super) forget: Statement,
    pub(super) plans: PlanStatements,
    pub(super) audit: Statement,
}

impl Statements {
    pub(super) async fn prepare(client: &Client) -> Result<Self, Error> {
        Ok(Statements {
            // Always in the same order, to prevent deadlocks between stores.
            lock: client
                .prepare(
                    "select name, max_token, owner_node, owner_term, version from fenced_resource
                     where name = any($1) order by name for update",
                )
                .await?,
            records: client.prepare("select name, number, at_us from fenced_record where name = any($1)").await?,
            record: client
                .prepare(
                    "insert into fenced_record (name, number, at_us) values ($1, $2, $3)
                     on conflict (name) do update set number = excluded.number, at_us = excluded.at_us",
                )
                .await?,
            last_seq: client.prepare("select name, last_seq from sequence where name = any($1) for update").await?,
            applied: client
                .prepare(
                    "select resource, client, number, seq from fenced_request
                     join unnest($1::text[], $2::text[], $3::bigint[]) as asked (resource, client, number)
                     using (resource, client, number)",
                )
                .await?,
            forgotten: client
                .prepare(
                    "select resource, client, forgotten from fenced_client
                     where (resource, client) in (select * from unnest($1::text[], $2::text[]))",
                )
                .await?,
            resource: client
                .prepare(
                    "update fenced_resource set max_token = $2, owner_node = $3, owner_term = $4, version = $5
                     where name = $1",
                )
                .await?,
            sequence: client.prepare("update sequence set last_seq = $2, owner_token = $3 where name = $1").await?,
            remember: client
                .prepare(
                    "insert into fenced_request (resource, client, number, seq)
                     select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])",
                )
                .await?,
            forget: client
                .prepare(
                    "with gone as (delete from fenced_request where resource = $1 and seq <= $2
                                   returning client, number)
                     insert into fenced_client (resource, client, forgotten)
                     select $1, client, max(number) from gone group by client
                     on conflict (resource, client)
                     do update set forgotten = greatest(fenced_client.forgotten, excluded.forgotten)",
                )
                .await?,
            plans: PlanStatements::prepare(client).await?,
            audit: client
                .prepare(
                    "insert into fenced_audit (line)
                     select line from unnest($1::text[]) with ordinality as audit (line, place) order by place",
                )
                .await?,
        })
    }
}

/// The statements about plans.
pub(super) struct PlanStatements {
    pub(super) plans: Statement,
    pub(super) live: Statement,
    pub(super) unmake: Statement,
    pub(super) make: Statement,
    pub(super) enact: Statement,
}

impl PlanStatements {
    async fn prepare(client: &Client) -> Result<Self, Error> {
        Ok(PlanStatements {
            plans: client
                .prepare(
                    "select number, place, node, generation, token from fenced_plan where resource = $1
                     order by place",
                )
                .await?,
            live: client.prepare("select number from fenced_live_plan where name = $1").await?,
            unmake: client.prepare("delete from fenced_plan where resource = $1 and number = any($2)").await?,
            make: client
                .prepare(
                    "insert into fenced_plan (resource, number, place, node, generation, token)
                     values ($1, $2, $3, $4, $5, $6)",
                )
                .await?,
            enact: client
                .prepare(
                    "insert into fenced_live_plan (name, number) values ($1, $2)
                     on conflict (name) do update set number = excluded.number",
                )
                .await?,
        })
    }
}

// One bounded exchange with PostgreSQL, and its error as text.

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

// Plans in PostgreSQL. Callers hold the lock on the resource's row.

pub(super) async fn read(
    transaction: &Transaction<'_>,
    statements: &PlanStatements,
    resource: &str,
) -> Result<StoredPlans, Error> {
    let live = transaction.query_opt(&statements.live, &[&resource]).await?.map(|row| row.get::<_, i64>(0) as u64);
    let rows = transaction.query(&statements.plans, &[&resource]).await?;
    let plan = |row: &tokio_postgres::Row| StoredPlan {
        number: row.get::<_, i64>(0) as u64,
        place: row.get::<_, i64>(1) as u64,
        node: row.get(2),
        generation: row.get::<_, i64>(3) as u32,
        token: row.get::<_, i64>(4) as u64,
    };
    Ok(StoredPlans { made: rows.iter().map(plan).collect(), live })
}

pub(super) async fn write(
    transaction: &Transaction<'_>,
    statements: &PlanStatements,
    resource: &str,
    changed: Changed,
) -> Result<(), Error> {
    if !changed.gone.is_empty() {
        let gone: Vec<_> = changed.gone.into_iter().map(|number| number as i64).collect();
        transaction.execute(&statements.unmake, &[&resource, &gone]).await?;
    }
    for StoredPlan { number, place, node, generation, token } in changed.made {
        let (number, place, generation, token) = (number as i64, place as i64, i64::from(generation), token as i64);
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
            [&resource, &number, &place, &node, &generation, &token];
        transaction.execute(&statements.make, &values).await?;
    }
    if let Some(live) = changed.live {
        transaction.execute(&statements.enact, &[&resource, &(live as i64)]).await?;
    }
    Ok(())
}
