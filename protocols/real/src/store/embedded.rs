//! The store's own database: one file, one process, redb.
//!
//! A batch is one transaction, committed in two phases and synced before anything is answered. Its free space is written
//! with it (quick repair), so that a store that was killed opens at once, however long its audit has grown.

mod tables;

use self::tables::{ABOUT, AUDIT, BYTES, FORGET_MORE, LINES, Tables, UNTIL};
use super::{
    audit::{Dropped, Export, Retention, time_us},
    backend::{Backend, StoreError, Trouble},
    loaded::{LoadedLedgers, Rules},
    wire::{self, Reply, Request},
};
use crate::clock::true_time_us;
use redb::{Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageBackend, WriteTransaction};
use std::{fs::File, io, path::Path, sync::Arc};

/// Memory for cached pages, bytes.
const CACHE: usize = 64 << 20;

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
    pub fn open(path: &Path, rules: Rules) -> Result<Self, StoreError> {
        let fresh = !path.exists();
        let database = Builder::new().set_cache_size(CACHE).create(path).map_err(|e| why(path, &e))?;
        if fresh {
            // The file's name is data as well: it lies in the folder.
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let synced = File::open(folder).and_then(|f| f.sync_all());
            synced.map_err(|e| StoreError::Failed(format!("the folder {} cannot be synced: {e}", folder.display())))?;
        }
        let wrong = |e| StoreError::Failed(format!("the store {} cannot be used: {e}", path.display()));
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
    pub fn on_medium(medium: impl StorageBackend, rules: Rules) -> Result<Self, StoreError> {
        let database = Builder::new()
            .set_cache_size(CACHE)
            .create_with_backend(medium)
            .map_err(|e| StoreError::Failed(e.to_string()))?;
        Self::on(database, rules).map_err(|e| StoreError::Failed(e.to_string()))
    }

    fn on(database: Database, rules: Rules) -> Result<Self, redb::Error> {
        // Tables are made once, so that readers find them.
        let transaction = begin(&database)?;
        drop(Tables::open(&transaction)?);
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
            let mut loaded = LoadedLedgers::restore(self.rules.fencing, rows);
            let replies = batch.iter().map(|request| loaded.decide(request, self.now_us())).collect();
            if loaded.lines().is_empty() {
                drop(tables);
                transaction.abort()?;
                return Ok(replies);
            }
            tables.write(&loaded, self.rules.remembered)?;
            tables.drop_lines(self.rules.audit, self.now_us(), loaded.lines().len() + FORGET_MORE)?;
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
pub fn export(path: &Path, out: impl io::Write) -> Result<u64, StoreError> {
    // For writing, because a store that was killed left a file that must be repaired.
    let database = Builder::new().set_cache_size(CACHE).open(path).map_err(|e| why(path, &e))?;
    export_from(&database, out)
        .map_err(|e| StoreError::Failed(format!("the audit of {} cannot be written out: {e}", path.display())))
}

/// What is no longer in the audit of the store at `path`. No store may have it open.
///
/// # Errors
/// A store runs on it, or it is not a store's; in one sentence.
pub fn dropped(path: &Path) -> Result<Option<Dropped>, StoreError> {
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
    read().map_err(|e| StoreError::Failed(format!("the audit of {} cannot be read: {e}", path.display())))
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

fn why(path: &Path, error: &DatabaseError) -> StoreError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::InUse(path.to_owned()),
        error => StoreError::Failed(format!("the store {} cannot be opened: {error}", path.display())),
    }
}

fn begin(database: &Database) -> Result<WriteTransaction, redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    Ok(transaction)
}
