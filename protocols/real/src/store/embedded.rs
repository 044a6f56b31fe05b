//! The store's own database: one file, one process, redb.
//!
//! A batch is one transaction, committed in two phases and synced before anything is answered. Its free space is written
//! with it (quick repair), so that a store that was killed opens at once, however long its audit has grown.

use super::{
    audit::{Dropped, Export, Retention, time_us},
    backend::{Backend, Trouble},
    books::{Books, Remembered, Row, Rules, requests_of},
    wire::{self, Reply, Request},
};
use crate::clock::true_time_us;
use protocols::types::{Payload, Resource};
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageBackend, Table, TableDefinition,
    WriteTransaction,
};
use std::{fs::File, io, path::Path, sync::Arc};

/// Memory for cached pages, bytes.
const CACHE: usize = 64 << 20;
/// Requests that are forgotten with a batch, beyond as many as it added.
const FORGET_MORE: usize = 64;

/// By resource: highest token, owner's node ("" is nobody) and generation, version, last sequence number.
const RESOURCES: TableDefinition<&str, (u64, &str, u32, u64, u64)> = TableDefinition::new("fenced_resource");
/// By resource: what was recorded last, which and when.
const RECORDS: TableDefinition<&str, (u64, u64)> = TableDefinition::new("fenced_record");
/// By resource, client and number: the sequence number of an applied request.
const REQUESTS: TableDefinition<(&str, &str, u64), u64> = TableDefinition::new("fenced_request");
/// The same by sequence number, to forget the oldest.
const BY_SEQ: TableDefinition<(&str, u64), (&str, u64)> = TableDefinition::new("fenced_request_seq");
/// By resource and client: the highest number of a forgotten request.
const FORGOTTEN: TableDefinition<(&str, &str), u64> = TableDefinition::new("fenced_client");
/// The audit.
const AUDIT: TableDefinition<u64, &str> = TableDefinition::new("fenced_audit");
/// What is known about the audit: [`BYTES`], and [`LINES`] and [`UNTIL`] once something was dropped.
const ABOUT: TableDefinition<&str, u64> = TableDefinition::new("fenced_audit_about");
/// Bytes of the lines that are kept.
const BYTES: &str = "bytes";
/// How many lines were dropped, and the time of the last.
const LINES: &str = "dropped_lines";
const UNTIL: &str = "dropped_until_us";
/// Lines that are dropped in one transaction when a store opens.
const DROP_AT_ONCE: usize = 20_000;
/// A file below this is not worth compacting, bytes.
const COMPACT_MIN: u64 = 16 << 20;

/// The database file. Clones share it.
#[derive(Clone)]
pub struct Embedded {
    database: Arc<Database>,
    rules: Rules,
    /// The machine's clock starts anew with the machine; the audit's times go on.
    offset_us: u64,
}

impl Embedded {
    /// Opens the file at `path`, and makes it when it is missing.
    ///
    /// # Errors
    /// Another process has it open, it is not a store's, or it cannot be written; in one sentence.
    pub fn open(path: &Path, rules: Rules) -> Result<Self, String> {
        let fresh = !path.exists();
        let database = Builder::new().set_cache_size(CACHE).create(path).map_err(|e| why(path, &e))?;
        if fresh {
            // The file's name is data as well: it lies in the folder.
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let synced = File::open(folder).and_then(|f| f.sync_all());
            synced.map_err(|e| format!("the folder {} cannot be synced: {e}", folder.display()))?;
        }
        let wrong = |e| format!("the store {} cannot be used: {e}", path.display());
        let mut store = Self::on(database, rules).map_err(wrong)?;
        store.tidy(path).map_err(wrong)?;
        Ok(store)
    }

    /// Drops what the audit is not to keep, and gives the file's free space back when more than half of it is free.
    fn tidy(&mut self, path: &Path) -> Result<(), redb::Error> {
        if self.rules.audit == Retention::ALL {
            return Ok(());
        }
        loop {
            let transaction = begin(&self.database)?;
            let dropped = Tables::open(&transaction)?.drop_lines(self.rules.audit, self.now_us(), DROP_AT_ONCE)?;
            transaction.commit()?;
            if dropped < DROP_AT_ONCE {
                break;
            }
        }
        let length = std::fs::metadata(path)?.len();
        let transaction = self.database.begin_write()?;
        let stats = transaction.stats()?;
        let used = stats.allocated_pages() * stats.page_size() as u64;
        transaction.abort()?;
        if length < COMPACT_MIN || used > length / 2 {
            return Ok(());
        }
        // Nobody else has it yet.
        let Some(database) = Arc::get_mut(&mut self.database) else { return Ok(()) };
        match database.compact() {
            Ok(_) => {
                let after = std::fs::metadata(path)?.len();
                tracing::info!(before = length, after, "the store's file was compacted");
            }
            // It serves as well as before.
            Err(error) => tracing::warn!("the store's file cannot be compacted: {error}"),
        }
        Ok(())
    }

    /// A store on any medium that redb can use.
    ///
    /// # Errors
    /// What the medium or redb says.
    pub fn on_medium(medium: impl StorageBackend, rules: Rules) -> Result<Self, String> {
        let database = Builder::new().set_cache_size(CACHE).create_with_backend(medium).map_err(|e| e.to_string())?;
        Self::on(database, rules).map_err(|e| e.to_string())
    }

    fn on(database: Database, rules: Rules) -> Result<Self, redb::Error> {
        // Tables are made once, so that readers find them.
        let transaction = begin(&database)?;
        transaction.open_table(RESOURCES)?;
        transaction.open_table(REQUESTS)?;
        transaction.open_table(BY_SEQ)?;
        transaction.open_table(FORGOTTEN)?;
        let last_us = {
            let (audit, mut about) = (transaction.open_table(AUDIT)?, transaction.open_table(ABOUT)?);
            if about.get(BYTES)?.is_none() {
                // A file from before there was this table.
                let mut bytes = 0;
                for entry in audit.iter()? {
                    bytes += entry?.1.value().len() as u64;
                }
                about.insert(BYTES, bytes)?;
            }
            audit.last()?.and_then(|(_, line)| time_us(line.value())).unwrap_or(0)
        };
        transaction.commit()?;
        let offset_us = last_us.saturating_sub(true_time_us());
        Ok(Embedded { database: Arc::new(database), rules, offset_us })
    }

    /// Writes the audit as JSON lines; how many there were. Sees all that was answered before the call.
    ///
    /// # Errors
    /// The database cannot be read, or `out` not written.
    pub fn export(&self, out: impl io::Write) -> io::Result<u64> {
        export_from(self.database.as_ref(), out)
    }

    /// Now, as the audit counts time.
    fn now_us(&self) -> u64 {
        true_time_us() + self.offset_us
    }

    fn decide_now(&self, batch: &[Request]) -> Result<Vec<Reply>, redb::Error> {
        let transaction = begin(&self.database)?;
        let replies = {
            let mut tables = Tables::open(&transaction)?;
            let rows = wire::resources().map(|resource| tables.read(resource, batch)).collect::<Result<Vec<_>, _>>()?;
            let mut books = Books::restore(self.rules.fencing, rows);
            let replies = batch.iter().map(|request| books.decide(request, self.now_us())).collect();
            if books.lines().is_empty() {
                drop(tables);
                transaction.abort()?;
                return Ok(replies);
            }
            tables.write(&books, self.rules.remembered)?;
            tables.drop_lines(self.rules.audit, self.now_us(), books.lines().len() + FORGET_MORE)?;
            replies
        };
        transaction.commit()?;
        Ok(replies)
    }
}

impl Backend for Embedded {
    async fn decide(&mut self, batch: &Arc<Vec<Request>>) -> Result<Vec<Reply>, Trouble> {
        let (store, batch) = (self.clone(), batch.clone());
        let decided = tokio::task::spawn_blocking(move || store.decide_now(&batch)).await;
        match decided {
            Ok(Ok(replies)) => Ok(replies),
            // After an error of the medium, redb takes no more; what it kept shows when it is opened again.
            Ok(Err(e)) => Err(Trouble::Broken(format!("the store's database failed: {e}"))),
            Err(e) => Err(Trouble::Broken(format!("the store's database task failed: {e}"))),
        }
    }
}

/// Writes the audit of the store at `path` as JSON lines; how many there were. No store may have it open.
///
/// # Errors
/// A store runs on it, it is not a store's, or `out` cannot be written; in one sentence.
pub fn export(path: &Path, out: impl io::Write) -> Result<u64, String> {
    // For writing, because a store that was killed left a file that must be repaired.
    let database = Builder::new().set_cache_size(CACHE).open(path).map_err(|e| why(path, &e))?;
    export_from(&database, out).map_err(|e| format!("the audit of {} cannot be written out: {e}", path.display()))
}

/// What is no longer in the audit of the store at `path`. No store may have it open.
///
/// # Errors
/// A store runs on it, or it is not a store's; in one sentence.
pub fn dropped(path: &Path) -> Result<Option<Dropped>, String> {
    let database = Builder::new().set_cache_size(CACHE).open(path).map_err(|e| why(path, &e))?;
    let read = || -> Result<Option<Dropped>, redb::Error> {
        let table = match database.begin_read()?.open_table(ABOUT) {
            // From before there was anything that could be dropped.
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            table => table?,
        };
        let (lines, until) = (table.get(LINES)?, table.get(UNTIL)?);
        Ok(lines.zip(until).map(|(lines, until)| Dropped { lines: lines.value(), until_us: until.value() }))
    };
    read().map_err(|e| format!("the audit of {} cannot be read: {e}", path.display()))
}

fn export_from(database: &impl ReadableDatabase, out: impl io::Write) -> io::Result<u64> {
    let mut export = Export::new(out);
    let table = database.begin_read().map_err(other)?.open_table(AUDIT).map_err(other)?;
    for entry in table.iter().map_err(other)? {
        let (_, line) = entry.map_err(other)?;
        export.line(line.value())?;
    }
    export.finish()
}

fn other(error: impl Into<redb::Error>) -> io::Error {
    io::Error::other(error.into())
}

fn why(path: &Path, error: &DatabaseError) -> String {
    let path = path.display();
    match error {
        DatabaseError::DatabaseAlreadyOpen => format!("the store {path} is in use by another process; stop that first"),
        error => format!("the store {path} cannot be opened: {error}"),
    }
}

fn begin(database: &Database) -> Result<WriteTransaction, redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    Ok(transaction)
}

struct Tables<'t> {
    resources: Table<'t, &'static str, (u64, &'static str, u32, u64, u64)>,
    records: Table<'t, &'static str, (u64, u64)>,
    requests: Table<'t, (&'static str, &'static str, u64), u64>,
    by_seq: Table<'t, (&'static str, u64), (&'static str, u64)>,
    forgotten: Table<'t, (&'static str, &'static str), u64>,
    audit: Table<'t, u64, &'static str>,
    about: Table<'t, &'static str, u64>,
}

impl<'t> Tables<'t> {
    fn open(transaction: &'t WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Tables {
            resources: transaction.open_table(RESOURCES)?,
            records: transaction.open_table(RECORDS)?,
            requests: transaction.open_table(REQUESTS)?,
            by_seq: transaction.open_table(BY_SEQ)?,
            forgotten: transaction.open_table(FORGOTTEN)?,
            audit: transaction.open_table(AUDIT)?,
            about: transaction.open_table(ABOUT)?,
        })
    }

    /// The resource, and all that is known about the requests of the batch.
    fn read(&self, resource: Resource, batch: &[Request]) -> Result<(Row, Remembered), redb::Error> {
        let name = wire::name(resource);
        let record = self.records.get(name)?.map(|record| record.value());
        let payload = record.and_then(|(number, at_us)| Some(Payload { number: number.try_into().ok()?, at_us }));
        let row = match self.resources.get(name)? {
            None => Row { payload, ..Row::default() },
            Some(value) => {
                let (max_token, node, generation, version, last_seq) = value.value();
                let owner = (!node.is_empty()).then(|| (node.to_owned(), generation));
                Row { max_token, owner, version, last_seq, payload }
            }
        };
        let mut remembered = Remembered::default();
        for (client, number) in requests_of(batch, resource) {
            if let Some(seq) = self.requests.get((name, client, number))? {
                remembered.applied.push((client.to_owned(), number, seq.value()));
            }
            if let Some(highest) = self.forgotten.get((name, client))? {
                remembered.forgotten.push((client.to_owned(), highest.value()));
            }
        }
        Ok((row, remembered))
    }

    fn write(&mut self, books: &Books, remembered: u64) -> Result<(), redb::Error> {
        for resource in wire::resources() {
            let Row { max_token, owner, version, last_seq, payload } = books.row(resource);
            let (node, generation) = owner.unwrap_or_default();
            self.resources.insert(wire::name(resource), (max_token, node.as_str(), generation, version, last_seq))?;
            if let Some(Payload { number, at_us }) = payload {
                self.records.insert(wire::name(resource), (number.get(), at_us))?;
            }
        }
        let mut added = 0;
        for applied in books.applied() {
            let resource = wire::name(applied.resource);
            self.requests.insert((resource, applied.client, applied.number), applied.seq)?;
            self.by_seq.insert((resource, applied.seq), (applied.client, applied.number))?;
            added += 1;
        }
        for resource in wire::resources() {
            let Some(oldest) = books.row(resource).last_seq.checked_sub(remembered) else { continue };
            self.forget(wire::name(resource), oldest, added + FORGET_MORE)?;
        }
        let mut id = self.audit.last()?.map_or(0, |(id, _)| id.value());
        let mut bytes = self.about(BYTES)?;
        for line in books.lines() {
            id += 1;
            bytes += line.len() as u64;
            self.audit.insert(id, line.as_str())?;
        }
        self.about.insert(BYTES, bytes)?;
        Ok(())
    }

    fn about(&self, what: &str) -> Result<u64, redb::Error> {
        Ok(self.about.get(what)?.map_or(0, |value| value.value()))
    }

    /// Drops the audit's oldest lines that need not be kept, at most so many, and says so in the database: how many it did.
    /// The last line stays: ids and times go on from it.
    fn drop_lines(&mut self, keep: Retention, now_us: u64, most: usize) -> Result<usize, redb::Error> {
        if keep == Retention::ALL {
            return Ok(0);
        }
        let last = self.audit.last()?.map_or(0, |(id, _)| id.value());
        let (mut bytes, mut until, mut gone) = (self.about(BYTES)?, self.about(UNTIL)?, Vec::new());
        for entry in self.audit.range(..last)?.take(most) {
            let (id, line) = entry?;
            let t_us = time_us(line.value()).unwrap_or(0);
            if !keep.drops(t_us, now_us, bytes) {
                break;
            }
            bytes = bytes.saturating_sub(line.value().len() as u64);
            until = until.max(t_us);
            gone.push(id.value());
        }
        if gone.is_empty() {
            return Ok(0);
        }
        for id in &gone {
            self.audit.remove(id)?;
        }
        let lines = self.about(LINES)? + gone.len() as u64;
        for (what, value) in [(BYTES, bytes), (LINES, lines), (UNTIL, until)] {
            self.about.insert(what, value)?;
        }
        Ok(gone.len())
    }

    /// Forgets requests up to the sequence number `oldest`, at most so many.
    fn forget(&mut self, resource: &str, oldest: u64, most: usize) -> Result<(), redb::Error> {
        let mut gone = Vec::new();
        for entry in self.by_seq.range((resource, 0)..=(resource, oldest))?.take(most) {
            let (key, value) = entry?;
            let (client, number) = value.value();
            gone.push((key.value().1, client.to_owned(), number));
        }
        for (seq, client, number) in gone {
            self.by_seq.remove((resource, seq))?;
            self.requests.remove((resource, client.as_str(), number))?;
            let highest = self.forgotten.get((resource, client.as_str()))?.map_or(0, |h| h.value());
            self.forgotten.insert((resource, client.as_str()), highest.max(number))?;
        }
        Ok(())
    }
}
