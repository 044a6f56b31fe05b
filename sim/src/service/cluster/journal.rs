//! What a member must not forget, in a file of its own: records with their lengths and checksums, one after the other. What
//! a loss of power leaves is cut at the first record that is not whole; nobody was told of what is behind it.

use super::message::{Entry, Index, Reader, Term, Writer};
use protocols_clients::env::Disk;
use std::io;
use xxhash_rust::xxh3::xxh3_64;

/// The file's name.
const FILE: &str = "log";

/// The term, the vote in it, and up to where the log is known to be committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hard {
    /// The term.
    pub term: Term,
    /// For whom this member has voted in it.
    pub vote: Option<usize>,
    /// Committed up to here, as far as this member knows.
    pub commit: Index,
}

/// What a member finds on its disk.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stored {
    /// What was saved last.
    pub hard: Hard,
    /// The log.
    pub log: Vec<Entry>,
}

/// What is to be saved at once.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Record {
    /// When it has changed.
    pub hard: Option<Hard>,
    /// The entries from an index on, in place of all that the log has from there on.
    pub entries: Option<(Index, Vec<Entry>)>,
    /// Must it be on disk before anything is said that follows from it?
    pub sync: bool,
}

impl Record {
    /// Is there nothing in it?
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

/// Reads what is there; a torn end is cut off. What is read may not be on the disk yet, so it is written anew before
/// anybody relies on it. Nothing: the member was never started.
///
/// # Errors
/// The disk's.
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
/// The disk's: part of it may be there.
pub async fn save(disk: &impl Disk, record: &Record) -> io::Result<()> {
    disk.append(FILE, record.encode()).await?;
    if record.sync { disk.sync(FILE).await } else { Ok(()) }
}
