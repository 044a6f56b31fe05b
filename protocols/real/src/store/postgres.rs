//! The store on PostgreSQL. Every batch is one transaction that first locks its resources' rows, so several stores can
//! share a database and still decide one after the other.
//!
//! ```text
//! fenced_resource (name, max_token, owner_node, owner_term, version)      sequence (name, last_seq, owner_token)
//! fenced_request  (resource, client, number, seq)                         fenced_client (resource, client, forgotten)
//! fenced_record   (name, number, at_us)                                   fenced_audit  (id, line)
//! fenced_plan     (resource, number, place, node, generation, token)      fenced_live_plan (name, number)
//! ```
//! A `COMMIT` without an answer has an unknown outcome: its clients are not answered, and request ids make their
//! retries harmless. If a store stalls while it holds the lock, the server ends its transaction after [`sql::HELD`],
//! and its commit fails.

mod settings;
mod sql;

use self::sql::Statements;
use super::{
    audit::Export,
    backend::{Backend, StoreError, Trouble},
    loaded::{Applied, LoadedLedgers, Remembered, Row, Rules, requests_of},
    plans::concerned,
    wire::{self, Reply, Request},
};
use crate::log::true_time_us;
use protocols::types::{Payload, Resource};
pub use settings::{PostgresSettings, UrlError};
use sql::{explain, within};
use std::{io, sync::Arc};
use tokio_postgres::{Client, Error, IsolationLevel, Transaction};

/// Audit lines per page of an export.
const PAGE: i64 = 10_000;

/// A store's connection, replaced when it breaks.
pub struct Postgres {
    settings: PostgresSettings,
    rules: Rules,
    connected: Option<Connected>,
}

struct Connected {
    client: Client,
    statements: Statements,
}

impl Postgres {
    /// Connects, and creates missing tables.
    ///
    /// # Errors
    /// The server cannot be reached, or its tables are not a store's; as one sentence.
    pub async fn open(settings: PostgresSettings, rules: Rules) -> Result<Self, StoreError> {
        let opening = async {
            let client = within(settings.connect()).await?;
            within(async { sql::create(&client).await.map_err(|e| explain(&e)) }).await?;
            prepare(client).await
        };
        let connected = Some(opening.await.map_err(StoreError::Failed)?);
        Ok(Postgres { settings, rules, connected })
    }

    /// The connection, or a new one if it is broken.
    async fn take(&mut self) -> Result<Connected, String> {
        match self.connected.take().filter(|c| !c.client.is_closed()) {
            Some(connected) => Ok(connected),
            None => prepare(within(self.settings.connect()).await?).await,
        }
    }
}

async fn prepare(client: Client) -> Result<Connected, String> {
    let statements = within(async { Statements::prepare(&client).await.map_err(|e| explain(&e)) }).await?;
    Ok(Connected { client, statements })
}

impl Backend for Postgres {
    async fn decide(&mut self, batch: &Arc<Vec<Request>>) -> Result<Vec<Reply>, Trouble> {
        let mut connected = self.take().await.map_err(Trouble::Rejected)?;
        let replies = transact(&mut connected, self.rules, batch).await?;
        // Only a sound connection is reused: an unfinished transaction ends with its connection.
        self.connected = Some(connected);
        Ok(replies)
    }
}

async fn transact(connected: &mut Connected, rules: Rules, batch: &[Request]) -> Result<Vec<Reply>, Trouble> {
    let Connected { client, statements } = connected;
    let deciding = within(async {
        let transaction = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start();
        let transaction = transaction.await.map_err(|e| explain(&e))?;
        let replies = decide(&transaction, statements, rules, batch).await.map_err(|e| explain(&e))?;
        Ok((transaction, replies))
    });
    let (transaction, replies) = deciding.await.map_err(Trouble::Rejected)?;
    // From here on the server may have committed, whatever happens next.
    let committing = within(async { transaction.commit().await.map_err(|e| explain(&e)) });
    committing.await.map_err(Trouble::Unknown)?;
    Ok(replies)
}

async fn decide(
    transaction: &Transaction<'_>,
    statements: &Statements,
    rules: Rules,
    batch: &[Request],
) -> Result<Vec<Reply>, Error> {
    // Lock first: data read before may be stale once the lock is held.
    let mut locked: Vec<_> = wire::resources().filter(|r| batch.iter().any(|b| b.resource() == *r)).collect();
    locked.sort_by_key(|resource| wire::name(*resource));
    let names: Vec<_> = locked.iter().map(|resource| wire::name(*resource)).collect();
    let rows = transaction.query(&statements.lock, &[&names]).await?;
    let mut read: [(Row, Remembered); wire::RESOURCES.len()] = Default::default();
    for row in rows {
        let Some(resource) = wire::find(row.get(0)) else { continue };
        let owner: Option<String> = row.get(2);
        let generation = row.get::<_, Option<i64>>(3).unwrap_or(0) as u32;
        let (max_token, version) = (row.get::<_, i64>(1) as u64, row.get::<_, i64>(4) as u64);
        let owner = owner.map(|node| (node, generation));
        read[resource.index()].0 = Row { max_token, owner, version, last_seq: 0, payload: None };
    }
    let asked: Vec<_> = wire::resources()
        .flat_map(|resource| requests_of(batch, resource).map(move |(c, n)| (wire::name(resource), c, n as i64)))
        .collect();
    let resources: Vec<_> = asked.iter().map(|(resource, ..)| *resource).collect();
    let clients: Vec<_> = asked.iter().map(|(_, client, _)| *client).collect();
    let numbers: Vec<_> = asked.iter().map(|(.., number)| *number).collect();
    let (records, last, applied, forgotten) = tokio::try_join!(
        async { transaction.query(&statements.records, &[&names]).await },
        async { transaction.query(&statements.last_seq, &[&names]).await },
        async { transaction.query(&statements.applied, &[&resources, &clients, &numbers]).await },
        async { transaction.query(&statements.forgotten, &[&resources, &clients]).await },
    )?;
    let place = |name: &str| wire::find(name).map_or(0, Resource::index);
    for row in records {
        let number = (row.get::<_, i64>(1) as u64).try_into().ok();
        let at_us = row.get::<_, i64>(2) as u64;
        read[place(row.get(0))].0.payload = number.map(|number| Payload { number, at_us });
    }
    for row in last {
        read[place(row.get(0))].0.last_seq = row.get::<_, i64>(1) as u64;
    }
    for row in applied {
        let entry = (row.get(1), row.get::<_, i64>(2) as u64, row.get::<_, i64>(3) as u64);
        read[place(row.get(0))].1.applied.push(entry);
    }
    for row in forgotten {
        read[place(row.get(0))].1.forgotten.push((row.get(1), row.get::<_, i64>(2) as u64));
    }
    let planned: Vec<_> = locked.iter().filter(|resource| concerned(batch, **resource)).collect();
    for resource in planned {
        read[resource.index()].1.plans = sql::read(transaction, &statements.plans, wire::name(*resource)).await?;
    }
    let mut loaded = LoadedLedgers::restore(rules.fencing, read);
    let replies = batch.iter().map(|request| loaded.decide(request, true_time_us())).collect();
    if !loaded.lines().is_empty() {
        keep(transaction, statements, &loaded, &locked, rules.remembered).await?;
    }
    Ok(replies)
}

/// Writes the batch's changes back.
async fn keep(
    transaction: &Transaction<'_>,
    statements: &Statements,
    loaded: &LoadedLedgers,
    locked: &[Resource],
    remembered: u64,
) -> Result<(), Error> {
    for resource in locked {
        let (name, row) = (wire::name(*resource), loaded.row(*resource));
        let Row { max_token, owner, version, last_seq, payload } = row;
        let recorded = payload.map(|Payload { number, at_us }| (number.get() as i64, at_us as i64));
        let (node, generation) = owner.map(|(node, generation)| (node, i64::from(generation))).unzip();
        let (max_token, version, last_seq) = (max_token as i64, version as i64, last_seq as i64);
        let oldest = last_seq.saturating_sub_unsigned(remembered);
        tokio::try_join!(
            async {
                transaction.execute(&statements.resource, &[&name, &max_token, &node, &generation, &version]).await
            },
            async { transaction.execute(&statements.sequence, &[&name, &last_seq, &max_token]).await },
            async { transaction.execute(&statements.forget, &[&name, &oldest]).await },
            async {
                match recorded {
                    Some((number, at_us)) => transaction.execute(&statements.record, &[&name, &number, &at_us]).await,
                    None => Ok(0),
                }
            },
        )?;
    }
    for resource in locked {
        sql::write(transaction, &statements.plans, wire::name(*resource), loaded.plans(*resource)).await?;
    }
    let applied: Vec<Applied> = loaded.applied().collect();
    let resources: Vec<_> = applied.iter().map(|a| wire::name(a.resource)).collect();
    let clients: Vec<_> = applied.iter().map(|a| a.client).collect();
    let numbers: Vec<_> = applied.iter().map(|a| a.number as i64).collect();
    let seqs: Vec<_> = applied.iter().map(|a| a.seq as i64).collect();
    let lines = loaded.lines();
    tokio::try_join!(
        async { transaction.execute(&statements.remember, &[&resources, &clients, &numbers, &seqs]).await },
        async { transaction.execute(&statements.audit, &[&lines]).await },
    )?;
    Ok(())
}

/// Writes the audit as JSON lines, and returns their number. Stores may keep running.
///
/// # Errors
/// The server cannot be reached, or `out` cannot be written; as one sentence.
pub async fn export(settings: &PostgresSettings, out: impl io::Write, own_zero: bool) -> Result<u64, StoreError> {
    let failed = |e| StoreError::Failed(explain(&e));
    let unwritten = |e| StoreError::Failed(format!("the audit cannot be written out: {e}"));
    let mut client = within(settings.connect()).await.map_err(StoreError::Failed)?;
    // One snapshot: stores keep running, and later commits may have lower ids.
    let transaction = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let transaction = transaction.start().await.map_err(failed)?;
    let (mut export, mut last) = (Export::new(out, own_zero), i64::MIN);
    loop {
        let page = transaction.query(sql::PAGE, &[&last, &PAGE]).await.map_err(failed)?;
        let Some(end) = page.last() else { break };
        last = end.get(0);
        for row in &page {
            export.line(row.get(1)).map_err(unwritten)?;
        }
    }
    export.finish().map_err(unwritten)
}
