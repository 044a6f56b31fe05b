//! What a server knows of replication: whose replica it is, who its replicas are, the stream of its writes, and where a
//! replica may go on in it.
//!
//! Reference: redis/redis 7.0.15, `src/replication.c: masterTryPartialResynchronization, replicationSetupSlaveForFullResync,
//! replicationFeedSlaves, shiftReplicationId, replicationSetMaster, replicationUnsetMaster`.

use protocols_clients::resp;
use std::collections::VecDeque;

/// Where a server listens.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Address {
    /// Host name, or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// The default of `repl-backlog-size`, bytes.
const BACKLOG: usize = 1 << 20;

/// The stream of writes as far as a server has it.
#[derive(Debug)]
pub(super) struct Stream {
    /// Names the history.
    pub(super) id: String,
    /// The history that this one goes on from, and the first byte that is not of it any more.
    pub(super) before: Option<(String, i64)>,
    /// How many bytes the history has.
    pub(super) offset: i64,
    /// The last of them.
    backlog: VecDeque<u8>,
    /// The database that the stream's next command is for, once it was said.
    pub(super) database: Option<u8>,
}

impl Stream {
    pub(super) fn new(id: String) -> Self {
        Stream { id, before: None, offset: 0, backlog: VecDeque::new(), database: None }
    }

    /// More of the history.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as i64;
        self.backlog.extend(bytes);
        let over = self.backlog.len().saturating_sub(BACKLOG);
        self.backlog.drain(..over);
    }

    /// The bytes from `offset` on, for a replica that has that history up to there; `None` when it needs everything.
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

    /// A new history begins where this one is: its server is a primary now.
    pub(super) fn shift(&mut self, id: String) {
        let before = std::mem::replace(&mut self.id, id);
        self.before = Some((before, self.offset + 1));
        self.database = None;
    }

    /// Everything was taken over from another server.
    pub(super) fn restart(&mut self, id: String, offset: i64) {
        *self = Stream { offset, ..Stream::new(id) };
    }
}

/// A replica, as its primary knows it.
#[derive(Clone, Debug)]
pub(super) struct Replica {
    /// Where it listens.
    pub(super) address: Address,
    /// When it is to be sent everything, milliseconds; `None` once it was, or need not be.
    pub(super) syncs_at_ms: Option<i64>,
    /// Is it sent the stream?
    pub(super) online: bool,
    /// How much of the stream it has, and when it said so last, milliseconds.
    pub(super) acknowledged: i64,
    pub(super) acknowledged_at_ms: i64,
}

/// Whose replica a server is, and how that stands.
#[derive(Clone, Debug)]
pub(super) struct Primary {
    pub(super) address: Address,
    pub(super) up: bool,
    /// When something came last, and since when nothing does, milliseconds.
    pub(super) heard_at_ms: i64,
    pub(super) down_since_ms: Option<i64>,
}

impl Primary {
    pub(super) fn new(address: Address) -> Self {
        Primary { address, up: false, heard_at_ms: 0, down_since_ms: None }
    }
}

/// A file of everything, as it is sent to a replica (`src/rdb.c: rdbSaveRio`, version 10): strings, each with its end.
pub(super) mod file {
    use super::super::super::redis::model::Model;

    const HEAD: &[u8] = b"REDIS0010";
    const SELECT: u8 = 0xFE;
    const ENDS_AT_MS: u8 = 0xFC;
    const STRING: u8 = 0;
    const END: u8 = 0xFF;

    /// Everything that the server has.
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

    /// Makes it all that the server has; `None` when it is no such file, or has more in it than [`of`] writes.
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

/// A command as the stream has it.
pub(super) fn encoded(args: &[Vec<u8>]) -> Vec<u8> {
    resp::command(args)
}
