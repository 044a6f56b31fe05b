//! A process's part of the history, in its own file, and true time for it.

use super::directory::Directory;
use protocols::{
    history::{Event, Kind, Sink, json::Writer},
    types::MICROSECOND,
};
use rustix::time::{ClockId, clock_gettime};
use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

type ToFile = Writer<File, Arc<Directory>>;

/// A process's history; clones write to the same file. Times are [`true_time_us`].
#[derive(Clone)]
pub struct Log {
    to: Arc<Mutex<Option<ToFile>>>,
}

impl Log {
    pub fn off() -> Self {
        Log { to: Arc::default() }
    }

    /// Appends to the file at `path`.
    ///
    /// # Errors
    /// It cannot be opened for appending.
    pub fn append(path: &Path, directory: Arc<Directory>) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let writer = Writer::with_naming(file, directory);
        Ok(Log { to: Arc::new(Mutex::new(Some(writer))) })
    }

    /// Records an event, now.
    pub fn record(&self, kind: Kind) {
        self.record_all([kind]);
    }

    /// Records several events at the same time, now.
    pub fn record_all(&self, kinds: impl IntoIterator<Item = Kind>) {
        if let Some(writer) = &mut *self.to.lock().unwrap_or_else(PoisonError::into_inner) {
            let t_us = true_time_us();
            kinds.into_iter().for_each(|kind| writer.record(&Event { t_us, group: 0, kind }));
        }
    }
}

// True time for histories of processes on one machine.

/// Microseconds of the machine's monotonic clock: the same for every process, never stepped. Not comparable between
/// machines; a history across several machines needs their clocks' offsets (clock_gettime(2), `CLOCK_MONOTONIC`).
pub fn true_time_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let nanoseconds = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    nanoseconds / MICROSECOND
}
