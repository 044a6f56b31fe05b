//! A server's replication state: its primary, its replicas, the stream of writes, and where a replica may resume it.
//!
//! Reference: redis/redis 7.0.15, `src/replication.c: masterTryPartialResynchronization,
//! replicationSetupSlaveForFullResync, replicationFeedSlaves, shiftReplicationId, replicationSetMaster,
//! replicationUnsetMaster`.

use protocols_clients::resp;
use std::collections::VecDeque;

/// A server's address.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Address {
    /// A host name or IP address.
    pub host: String,
    pub port: u16,
}

/// The default of `repl-backlog-size`, in bytes.
const BACKLOG: usize = 1 << 20;

/// The stream of writes, as far as a server has it.
#[derive(Debug)]
pub(super) struct Stream {
    /// Identifies the history.
    pub(super) id: String,
    /// The history that this one continues, and the first byte that no longer belongs to it.
    pub(super) before: Option<(String, i64)>,
    /// The length of the history in bytes.
    pub(super) offset: i64,
    /// The history's last bytes.
    backlog: VecDeque<u8>,
    /// The database of the stream's next command, once known.
    pub(super) database: Option<u8>,
}

impl Stream {
    pub(super) fn new(id: String) -> Self {
        Stream { id, before: None, offset: 0, backlog: VecDeque::new(), database: None }
    }

    /// Appends to the history.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as i64;
        self.backlog.extend(bytes);
        let over = self.backlog.len().saturating_sub(BACKLOG);
        self.backlog.drain(..over);
    }

    /// The bytes from `offset` on, for a replica that has the same history up to there; `None` if it needs a full copy.
    pub(super) fn from(&self, id: &str, offset: i64) -> Option<Vec<u8>> {
        let is_before = |(before, end): &(String, i64)| before == id && offset <= *end;
        if self.id != id && !self.before.as_ref().is_some_and(is_before) {
            return None;
        }
        // The first byte has offset 1.
        let first = self.offset - self.backlog.len() as i64 + 1;
        let skip = usize::try_from(offset - first).ok().filter(|skip| *skip <= self.backlog.len())?;
        Some(self.backlog.iter().skip(skip).copied().collect())
    }

    /// Begins a new history here: the server has become a primary.
    pub(super) fn shift(&mut self, id: String) {
        let before = std::mem::replace(&mut self.id, id);
        self.before = Some((before, self.offset + 1));
        self.database = None;
    }

    /// Everything was copied from another server.
    pub(super) fn restart(&mut self, id: String, offset: i64) {
        *self = Stream { offset, ..Stream::new(id) };
    }
}

/// A replica as its primary knows it.
#[derive(Clone, Debug)]
pub(super) struct Replica {
    pub(super) address: Address,
    /// When it gets a full copy, in milliseconds; `None` if it has got one or needs none.
    pub(super) syncs_at_ms: Option<i64>,
    /// Whether it receives the stream.
    pub(super) online: bool,
    /// How much of the stream it has acknowledged, and when it last did, in milliseconds.
    pub(super) acknowledged: i64,
    pub(super) acknowledged_at_ms: i64,
}

/// The primary of a server, and the state of that link.
#[derive(Clone, Debug)]
pub(super) struct Primary {
    pub(super) address: Address,
    pub(super) up: bool,
    /// When something was last received, and since when nothing is, in milliseconds.
    pub(super) heard_at_ms: i64,
    pub(super) down_since_ms: Option<i64>,
}

impl Primary {
    pub(super) fn new(address: Address) -> Self {
        Primary { address, up: false, heard_at_ms: 0, down_since_ms: None }
    }
}

/// The file of a full copy (`src/rdb.c: rdbSaveRio`, version 10): strings, each with its expiry.
pub(super) mod file {
    use super::super::super::redis::model::Model;

    const HEAD: &[u8] = b"REDIS0010";
    const SELECT: u8 = 0xFE;
    const ENDS_AT_MS: u8 = 0xFC;
    const STRING: u8 = 0;
    const END: u8 = 0xFF;

    /// Encodes all keys of a server.
    pub(in super::super) fn of(model: &Model) -> Vec<u8> {
        let mut bytes = HEAD.to_vec();
        let mut database = None;
        for (of, key, value, ends_at_ms) in model.everything() {
            if database.replace(of) != Some(of) {
                bytes.extend([SELECT, of]);
            }
            if let Some(at) = ends_at_ms {
                bytes.push(ENDS_AT_MS);
                bytes.extend(at.to_le_bytes());
            }
            bytes.push(STRING);
            string(&mut bytes, key);
            string(&mut bytes, value);
        }
        bytes.push(END);
        // No checksum.
        bytes.extend([0; 8]);
        bytes
    }

    fn string(bytes: &mut Vec<u8>, text: &[u8]) {
        match text.len() {
            short @ 0..64 => bytes.push(short as u8),
            longer @ 64..16_384 => bytes.extend([0x40 | (longer >> 8) as u8, longer as u8]),
            long => {
                bytes.push(0x80);
                bytes.extend((long as u32).to_be_bytes());
            }
        }
        bytes.extend_from_slice(text);
    }

    /// Replaces a server's keys by the file's; `None` if it is malformed, or holds more than [`of`] writes.
    pub(in super::super) fn load(model: &mut Model, bytes: &[u8]) -> Option<()> {
        let mut rest = bytes.strip_prefix(HEAD)?;
        let (mut database, mut ends_at_ms) = (0, None);
        model.clear_everything();
        loop {
            match *take(&mut rest, 1)?.first()? {
                SELECT => database = *take(&mut rest, 1)?.first()?,
                ENDS_AT_MS => ends_at_ms = Some(i64::from_le_bytes(take(&mut rest, 8)?.try_into().ok()?)),
                STRING => {
                    let (key, value) = (read(&mut rest)?, read(&mut rest)?);
                    model.restore(database, key, value, ends_at_ms.take());
                }
                END => return Some(()),
                _ => return None,
            }
        }
    }

    fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
        let (taken, after) = rest.split_at_checked(count)?;
        *rest = after;
        Some(taken)
    }

    fn read(rest: &mut &[u8]) -> Option<Vec<u8>> {
        let first = *take(rest, 1)?.first()?;
        let length = match first >> 6 {
            0 => usize::from(first),
            1 => usize::from(first & 0x3F) << 8 | usize::from(*take(rest, 1)?.first()?),
            _ if first == 0x80 => u32::from_be_bytes(take(rest, 4)?.try_into().ok()?) as usize,
            _ => return None,
        };
        Some(take(rest, length)?.to_vec())
    }
}

/// Encodes a command for the stream.
pub(super) fn encoded(args: &[Vec<u8>]) -> Vec<u8> {
    resp::command(args)
}
