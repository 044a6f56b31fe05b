//! A member's durable state, in a file of records with lengths and checksums. After a power loss, the file is cut at
//! the first incomplete record; nobody was told of anything behind it.

use super::message::{Entry, Index, Reader, Term, Writer};
use protocols_clients::env::Disk;
use std::io;
use xxhash_rust::xxh3::xxh3_64;

const FILE: &str = "log";

/// The term, the vote in it, and the known commit index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hard {
    pub term: Term,
    /// The candidate that this member voted for in the term.
    pub vote: Option<usize>,
    /// The commit index, as far as this member knows.
    pub commit: Index,
}

/// The contents of a member's disk.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stored {
    pub hard: Hard,
    pub log: Vec<Entry>,
}

/// What to save at once.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Record {
    /// If it changed.
    pub hard: Option<Hard>,
    /// The entries from an index on, which replace all that the log has from there.
    pub entries: Option<(Index, Vec<Entry>)>,
    /// Whether it must be on disk before anything that follows from it is sent.
    pub sync: bool,
}

impl Record {
    pub fn is_empty(&self) -> bool {
        self.hard.is_none() && self.entries.is_none()
    }

    fn encode(&self) -> Vec<u8> {
        let mut body = Writer::default();
        if let Some(Hard { term, vote, commit }) = self.hard {
            body.byte(0).number(term).number(vote.map_or(u64::MAX, |vote| vote as u64)).number(commit);
        }
        if let Some((from, entries)) = &self.entries {
            body.byte(1).number(*from).number(entries.len() as u64);
            for entry in entries {
                body.number(entry.term).bytes(&entry.data);
            }
        }
        let mut bytes = Writer::default();
        bytes.number(xxh3_64(&body.0)).bytes(&body.0);
        bytes.0
    }

    fn apply(body: &[u8], to: &mut Stored) -> Option<()> {
        let mut body = Reader(body);
        while let Some(kind) = body.byte() {
            if kind == 0 {
                let (term, vote) = (body.number()?, usize::try_from(body.number()?).ok());
                to.hard = Hard { term, vote: vote.filter(|vote| *vote < usize::MAX), commit: body.number()? };
            } else {
                let (from, count) = (body.number()?, body.number()?);
                to.log.truncate(usize::try_from(from.checked_sub(1)?).ok()?);
                for _ in 0..count {
                    to.log.push(body.entry()?);
                }
            }
        }
        Some(())
    }
}

/// Reads the file and cuts off a torn end. The contents may not be on disk yet, so they are rewritten before anybody
/// relies on them. `None` if the member never started.
///
/// # Errors
/// A disk error.
pub async fn open(disk: &impl Disk) -> io::Result<Option<Stored>> {
    let Some(bytes) = disk.read(FILE).await?.filter(|bytes| !bytes.is_empty()) else { return Ok(None) };
    let (mut stored, mut rest) = (Stored::default(), Reader(&bytes));
    let mut whole = 0;
    while let (Some(sum), Some(body)) = (rest.number(), rest.bytes()) {
        if xxh3_64(body) != sum || Record::apply(body, &mut stored).is_none() {
            break;
        }
        whole = bytes.len() - rest.0.len();
    }
    disk.replace(FILE, bytes[..whole].to_vec()).await?;
    Ok((whole > 0).then_some(stored))
}

/// Saves a record.
///
/// # Errors
/// A disk error; part of the record may have been written.
pub async fn save(disk: &impl Disk, record: &Record) -> io::Result<()> {
    disk.append(FILE, record.encode()).await?;
    if record.sync { disk.sync(FILE).await } else { Ok(()) }
}
