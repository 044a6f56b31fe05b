//! The durable state of a Raft node: an append-only file of checksummed records on [`Disk`].
//!
//! A record is its length, its CRC-32 (both four bytes, little-endian) and its JSON. The file's records, applied in
//! order, are the state. After a loss of power the file is cut at the first incomplete record: a successful sync covers
//! everything before it, so only records that nobody was told of can be lost. The file is rewritten once most of it is
//! obsolete.

use super::wire::{Entry, LogId, SnapshotMeta, Vote};
use crate::env::Disk;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

pub const FILE: &str = "raft.log";
/// A longer record counts as damage, bytes.
const RECORD_MAX: usize = 1 << 20;
/// The file is rewritten once it has grown by this many bytes, and to at least [`GROWTH`] times its size when last
/// rewritten.
const GARBAGE_MIN: usize = 32 << 10;
const GROWTH: usize = 4;
/// Length and checksum, bytes.
const HEADER: usize = 8;

/// One change of the state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Record {
    Vote(Vote),
    /// The last entry known to be committed.
    Committed(Option<LogId>),
    /// An entry, replacing the one at its index and everything after it.
    Entry(Entry),
    /// The log now ends with this entry.
    TruncateAfter(Option<LogId>),
    /// The log now begins after this entry.
    Purge(LogId),
    Snapshot(SnapshotMeta),
}

/// The journal's contents.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct State {
    pub vote: Option<Vote>,
    /// The last entry known to be committed.
    pub committed: Option<LogId>,
    /// The log begins after this entry.
    pub purged: Option<LogId>,
    pub log: BTreeMap<u64, Entry>,
    pub snapshot: Option<SnapshotMeta>,
}

impl State {
    /// The last entry, or the last purged one if the log is empty.
    pub fn last(&self) -> Option<LogId> {
        self.log.last_key_value().map(|(_, entry)| entry.log_id).or(self.purged)
    }

    pub fn apply(&mut self, record: Record) {
        match record {
            Record::Vote(vote) => self.vote = Some(vote),
            Record::Committed(committed) => self.committed = committed,
            Record::Entry(entry) => {
                drop(self.log.split_off(&entry.log_id.index));
                self.log.insert(entry.log_id.index, entry);
            }
            Record::TruncateAfter(last) => {
                protocols::mark!("raft: the log is cut back");
                drop(self.log.split_off(&last.map_or(0, |last| last.index.saturating_add(1))));
            }
            Record::Purge(upto) => {
                self.log = self.log.split_off(&upto.index.saturating_add(1));
                self.purged = self.purged.max(Some(upto));
            }
            Record::Snapshot(meta) => self.snapshot = Some(meta),
        }
    }

    /// The records that rebuild this state from nothing.
    pub fn records(&self) -> Vec<Record> {
        let mut records: Vec<Record> = self.vote.map(Record::Vote).into_iter().collect();
        records.extend(self.snapshot.clone().map(Record::Snapshot));
        records.extend(self.purged.map(Record::Purge));
        records.extend(self.log.values().cloned().map(Record::Entry));
        records.extend(self.committed.map(|committed| Record::Committed(Some(committed))));
        records
    }
}

/// CRC-32 as in IEEE 802.3.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

/// Encodes records for the file.
///
/// # Errors
/// A record is too long.
pub fn encode(records: &[Record]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for record in records {
        let body = serde_json::to_vec(record)?;
        if body.len() > RECORD_MAX {
            return Err(io::Error::other(format!("a record of {} bytes is too long", body.len())));
        }
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend(crc32(&body).to_le_bytes());
        bytes.extend(body);
    }
    Ok(bytes)
}

/// The first record of `bytes` and its length including the header; `None` if it is incomplete.
fn first(bytes: &[u8]) -> Option<(Record, usize)> {
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let end = HEADER + usize::try_from(number(0)?).ok().filter(|length| *length <= RECORD_MAX)?;
    let body = bytes.get(HEADER..end)?;
    if crc32(body) != number(4)? {
        return None;
    }
    Some((serde_json::from_slice(body).ok()?, end))
}

/// The state that a file holds, and the length of its complete records in bytes.
pub fn replay(bytes: &[u8]) -> (State, usize) {
    let (mut state, mut at) = (State::default(), 0);
    while let Some((record, length)) = first(&bytes[at..]) {
        state.apply(record);
        at += length;
    }
    (state, at)
}

/// The file's writer; there is one at a time.
#[derive(Debug)]
struct Writer {
    length: usize,
    /// The length when it was last rewritten.
    compact: usize,
    /// A write has failed: what the file holds is unknown until it is reopened.
    broken: bool,
}

/// The journal of a running node.
#[derive(Debug)]
pub struct Journal<D> {
    disk: D,
    state: Mutex<State>,
    writer: tokio::sync::Mutex<Writer>,
}

impl<D: Disk> Journal<D> {
    /// Opens the journal, or creates an empty one; a torn tail is cut off. What is read may not be durable: its writer
    /// may have died before the sync, or seen the sync fail, after which no later sync ever makes it durable. So it is
    /// rewritten before anybody relies on it.
    ///
    /// # Errors
    /// Those of the disk.
    pub async fn open(disk: D) -> io::Result<Journal<D>> {
        let bytes = disk.read(FILE).await?.unwrap_or_default();
        let (state, length) = replay(&bytes);
        if length < bytes.len() {
            protocols::mark!("raft: the journal ends in a record that is not whole");
        }
        if !bytes.is_empty() {
            disk.replace(FILE, bytes[..length].to_vec()).await?;
        }
        let compact = encode(&state.records())?.len();
        let writer = tokio::sync::Mutex::new(Writer { length, compact, broken: false });
        Ok(Journal { disk, state: Mutex::new(state), writer })
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes records; if `durable`, they survive a loss of power once this returns.
    ///
    /// # Errors
    /// Those of the disk, now or earlier: some of the records may be in the file, and nothing more is written to it
    /// until it is reopened.
    pub async fn write(&self, records: Vec<Record>, durable: bool) -> io::Result<()> {
        let bytes = encode(&records)?;
        let mut writer = self.writer.lock().await;
        if writer.broken {
            return Err(io::Error::other("the journal could not be written to before"));
        }
        // Stays set if this future is dropped half way.
        writer.broken = true;
        writer.length += bytes.len();
        self.disk.append(FILE, bytes).await?;
        if durable {
            self.disk.sync(FILE).await?;
        }
        {
            let mut state = self.state();
            records.into_iter().for_each(|record| state.apply(record));
        }
        if writer.length > writer.compact * GROWTH + GARBAGE_MIN {
            protocols::mark!("raft: the journal is written anew");
            let bytes = encode(&self.state().records())?;
            (writer.length, writer.compact) = (bytes.len(), bytes.len());
            self.disk.replace(FILE, bytes).await?;
        }
        writer.broken = false;
        Ok(())
    }
}
