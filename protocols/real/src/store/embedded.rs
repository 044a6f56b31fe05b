//! The store's own database: one file, one process, redb.
//!
//! A batch is one transaction, committed in two phases and synced before any answer. It saves the free-space map too
//! (quick repair), so that a killed store reopens at once, however long its audit is.

mod tables;

use self::tables::{ABOUT, AUDIT, BYTES, FORGET_MORE, LINES, TRIAL, Tables, UNTIL};
use super::{
    audit::{Dropped, Export, Retention, time_us},
    backend::{Backend, StoreError, Trouble},
    loaded::{LoadedLedgers, Rules},
    wire::{self, Reply, Request},
};
use crate::log::true_time_us;
use redb::{Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageBackend, WriteTransaction};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The page cache, bytes.
const CACHE: usize = 64 << 20;

/// A store that cannot write as much as this does not open, bytes: it would fail at one of its first requests.
const ROOM: usize = 256 << 10;
/// How many lines a store drops per transaction when it opens.
const DROP_AT_ONCE: usize = 20_000;
/// Smaller files are not worth compacting, bytes.
const COMPACT_MIN: u64 = 16 << 20;

/// The database file. Clones share it.
#[derive(Clone)]
pub struct Embedded {
    database: Arc<Database>,
    /// The file, if that is the medium.
    file: Option<Arc<PathBuf>>,
    rules: Rules,
    /// Added to the machine's monotonic clock, which restarts with the machine, so that the audit's times keep rising.
    offset_us: u64,
}

impl Embedded {
    /// Opens the file at `path`, creating it if it is missing.
    ///
    /// # Errors
    /// Another process has the file open, it is not a store's, or it cannot be written; as one sentence.
    pub fn open(path: &Path, rules: Rules) -> Result<Self, StoreError> {
        let fresh = !path.exists();
        let database = Builder::new().set_cache_size(CACHE).create(path).map_err(|e| why(path, &e))?;
        if fresh {
            // The file's name lies in the folder, which must be durable as well.
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let synced = File::open(folder).and_then(|f| f.sync_all());
            synced.map_err(|e| StoreError::Failed(format!("the folder {} cannot be synced: {e}", folder.display())))?;
        }
        let wrong = |e| StoreError::Failed(format!("the store {} cannot be used: {e}", path.display()));
        let mut store = Self::on(database, rules).map_err(wrong)?;
        store.try_to_write().map_err(wrong)?;
        store.tidy(path).map_err(wrong)?;
        Ok(Embedded { file: Some(Arc::new(path.to_owned())), ..store })
    }

    /// Writes [`ROOM`] bytes and frees them again. A full disk shows here, before anybody counts on the store.
    fn try_to_write(&self) -> Result<(), redb::Error> {
        let transaction = begin(&self.database)?;
        transaction.open_table(TRIAL)?.insert((), vec![0; ROOM].as_slice())?;
        transaction.commit()?;
        let transaction = begin(&self.database)?;
        transaction.delete_table(TRIAL)?;
        transaction.commit()?;
        Ok(())
    }

    /// Drops audit lines that need not be kept, and compacts the file when more than half of it is free.
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
        // Nobody else has a handle yet.
        let Some(database) = Arc::get_mut(&mut self.database) else { return Ok(()) };
        match database.compact() {
            Ok(_) => {
                let after = std::fs::metadata(path)?.len();
                tracing::info!(before = length, after, "the store's file was compacted");
            }
            // The file serves as well as before.
            Err(error) => tracing::warn!("the store's file cannot be compacted: {error}"),
        }
        Ok(())
    }

    /// A store on any medium that redb can use.
    ///
    /// # Errors
    /// Those of the medium or redb.
    pub fn on_medium(medium: impl StorageBackend, rules: Rules) -> Result<Self, StoreError> {
        let database = Builder::new()
            .set_cache_size(CACHE)
            .create_with_backend(medium)
            .map_err(|e| StoreError::Failed(e.to_string()))?;
        Self::on(database, rules).map_err(|e| StoreError::Failed(e.to_string()))
    }

    fn on(database: Database, rules: Rules) -> Result<Self, redb::Error> {
        // Creates the tables at once, so that readers find them.
        let transaction = begin(&database)?;
        drop(Tables::open(&transaction)?);
        let last_us = {
            let (audit, mut about) = (transaction.open_table(AUDIT)?, transaction.open_table(ABOUT)?);
            if about.get(BYTES)?.is_none() {
                // A file from before this table existed.
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
        Ok(Embedded { database: Arc::new(database), file: None, rules, offset_us })
    }

    /// Writes the audit as JSON lines, including everything answered before the call; returns the number of lines.
    ///
    /// # Errors
    /// The database cannot be read, or `out` cannot be written.
    pub fn export(&self, out: impl io::Write) -> io::Result<u64> {
        export_from(self.database.as_ref(), out, false)
    }

    fn name(&self) -> String {
        self.file.as_ref().map_or("the store's database".to_owned(), |file| format!("the store {}", file.display()))
    }

    /// The current time on the audit's clock.
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
        let broken = |why: String| Trouble::Broken(format!("{} failed: {why}", self.name()));
        let decided = tokio::task::spawn_blocking(move || store.decide_now(&batch)).await;
        match decided {
            Ok(Ok(replies)) => Ok(replies),
            // After an error of the medium redb accepts no more; what it has stored shows at the next opening.
            Ok(Err(e)) => Err(broken(e.to_string())),
            Err(e) => Err(broken(e.to_string())),
        }
    }
}

/// Writes the audit of the store at `path` as JSON lines, and returns their number. No store may have the file open.
///
/// # Errors
/// A store is running on the file, it is not a store's, or `out` cannot be written; as one sentence.
pub fn export(path: &Path, out: impl io::Write, own_zero: bool) -> Result<u64, StoreError> {
    // Opened for writing, because a killed store leaves a file that needs repair.
    let database = Builder::new().set_cache_size(CACHE).open(path).map_err(|e| why(path, &e))?;
    export_from(&database, out, own_zero)
        .map_err(|e| StoreError::Failed(format!("the audit of {} cannot be written out: {e}", path.display())))
}

/// What has been dropped from the audit of the store at `path`. No store may have the file open.
///
/// # Errors
/// A store is running on the file, or it is not a store's; as one sentence.
pub fn dropped(path: &Path) -> Result<Option<Dropped>, StoreError> {
    let database = Builder::new().set_cache_size(CACHE).open(path).map_err(|e| why(path, &e))?;
    let read = || -> Result<Option<Dropped>, redb::Error> {
        let table = match database.begin_read()?.open_table(ABOUT) {
            // A file from before lines could be dropped.
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            table => table?,
        };
        let (lines, until) = (table.get(LINES)?, table.get(UNTIL)?);
        Ok(lines.zip(until).map(|(lines, until)| Dropped { lines: lines.value(), until_us: until.value() }))
    };
    read().map_err(|e| StoreError::Failed(format!("the audit of {} cannot be read: {e}", path.display())))
}

fn export_from(database: &impl ReadableDatabase, out: impl io::Write, own_zero: bool) -> io::Result<u64> {
    let mut export = Export::new(out, own_zero);
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
