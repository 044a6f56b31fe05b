//! Answers and notifications, as values and as bytes; `wire.rs` names the sources.

use super::{
    call::{IN_MULTI, part},
    jute::{Malformed, Reader, Writer},
    wire::{NOTIFICATION, op},
};

/// A znode's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stat {
    /// The zxid that created it.
    pub czxid: i64,
    /// The zxid that last wrote its data.
    pub mzxid: i64,
    /// Creation time, milliseconds of the server's wall clock.
    pub ctime: i64,
    /// Time of the last write, milliseconds of the server's wall clock.
    pub mtime: i64,
    /// The number of writes to its data.
    pub version: i32,
    /// The number of changes to its children.
    pub cversion: i32,
    /// The number of changes to its ACL.
    pub aversion: i32,
    /// The session that owns an ephemeral node; 0 for none.
    pub owner: i64,
    /// The length of its data, bytes.
    pub data_length: i32,
    /// The number of its children.
    pub children: i32,
    /// The zxid that last changed its children.
    pub pzxid: i64,
}

impl Stat {
    fn write(&self, writer: &mut Writer) {
        [self.czxid, self.mzxid, self.ctime, self.mtime].into_iter().for_each(|value| writer.long(value));
        [self.version, self.cversion, self.aversion].into_iter().for_each(|value| writer.int(value));
        writer.long(self.owner);
        writer.int(self.data_length);
        writer.int(self.children);
        writer.long(self.pzxid);
    }

    fn read(reader: &mut Reader) -> Result<Stat, Malformed> {
        Ok(Stat {
            czxid: reader.long()?,
            mzxid: reader.long()?,
            ctime: reader.long()?,
            mtime: reader.long()?,
            version: reader.int()?,
            cversion: reader.int()?,
            aversion: reader.int()?,
            owner: reader.long()?,
            data_length: reader.int()?,
            children: reader.int()?,
            pzxid: reader.long()?,
        })
    }
}

/// The header of every answer and notification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplyHeader {
    /// The request's number, [`PING`](super::wire::PING) or [`NOTIFICATION`].
    pub xid: i32,
    /// The latest zxid; −1 in a notification.
    pub zxid: i64,
    /// 0, or the error code; after an error nothing follows.
    pub error: i32,
}

impl ReplyHeader {
    /// Reads the header; the reader then holds the rest.
    ///
    /// # Errors
    /// The header is incomplete.
    pub fn read(bytes: &[u8]) -> Result<(ReplyHeader, Reader<'_>), Malformed> {
        let mut reader = Reader::new(bytes);
        let header = ReplyHeader { xid: reader.int()?, zxid: reader.long()?, error: reader.int()? };
        Ok((header, reader))
    }

    /// Encodes header and answer as a packet.
    pub fn packet(self, answer: Option<&Answer>) -> Vec<u8> {
        let mut writer = self.begin();
        if let Some(answer) = answer {
            answer.write(&mut writer);
        }
        writer.packet()
    }

    fn begin(self) -> Writer {
        let mut writer = Writer::default();
        writer.int(self.xid);
        writer.long(self.zxid);
        writer.int(self.error);
        writer
    }
}

/// The body of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Nothing,
    Path(String),
    PathStat(String, Stat),
    Stat(Stat),
    /// A node's data and state.
    Data(Option<Vec<u8>>, Stat),
    /// The names of a node's children.
    Names(Vec<String>),
    /// The names of a node's children, and the node's state.
    NamesStat(Vec<String>, Stat),
    /// The answers of a multi: each operation's code, with its answer or error.
    Multi(Vec<(i32, Result<Answer, i32>)>),
}

impl Answer {
    fn write(&self, writer: &mut Writer) {
        match self {
            Answer::Nothing => {}
            Answer::Path(path) => writer.string(path),
            Answer::PathStat(path, stat) => {
                writer.string(path);
                stat.write(writer);
            }
            Answer::Stat(stat) => stat.write(writer),
            Answer::Data(data, stat) => {
                writer.buffer(data.as_deref());
                stat.write(writer);
            }
            Answer::Names(names) => writer.vector(names, |writer, name| writer.string(name)),
            Answer::NamesStat(names, stat) => {
                writer.vector(names, |writer, name| writer.string(name));
                stat.write(writer);
            }
            Answer::Multi(parts) => {
                for (op, answer) in parts {
                    match answer {
                        Ok(answer) => {
                            part(writer, *op, false, 0);
                            answer.write(writer);
                        }
                        Err(code) => {
                            part(writer, op::ERROR, false, *code);
                            writer.int(*code);
                        }
                    }
                }
                part(writer, -1, true, -1);
            }
        }
    }

    /// Decodes the answer to a request of type `op`.
    ///
    /// # Errors
    /// The bytes are not such an answer.
    pub fn read(op: i32, reader: &mut Reader) -> Result<Answer, Malformed> {
        Ok(match op {
            op::CREATE | op::SYNC => Answer::Path(reader.string()?),
            op::CREATE2 | op::CREATE_CONTAINER => Answer::PathStat(reader.string()?, Stat::read(reader)?),
            op::EXISTS | op::SET_DATA => Answer::Stat(Stat::read(reader)?),
            op::GET_DATA => Answer::Data(reader.buffer()?, Stat::read(reader)?),
            op::GET_CHILDREN => Answer::Names(reader.vector(Reader::string)?),
            op::GET_CHILDREN2 => Answer::NamesStat(reader.vector(Reader::string)?, Stat::read(reader)?),
            op::MULTI => {
                let mut parts = Vec::new();
                loop {
                    let (op, done, _) = (reader.int()?, reader.bool()?, reader.int()?);
                    match op {
                        _ if done => break Answer::Multi(parts),
                        op::ERROR => parts.push((op, Err(reader.int()?))),
                        // A container's creation is answered like `CREATE2`, with the node's state.
                        op if op == op::CREATE2 || IN_MULTI.contains(&op) => {
                            parts.push((op, Ok(Answer::read(op, reader)?)))
                        }
                        _ => return Err(Malformed),
                    }
                }
            }
            _ => Answer::Nothing,
        })
    }
}

/// A watch event: its kind, 1 to 4 (created, deleted, data changed, children changed), and the node's path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notification {
    pub kind: i32,
    pub path: String,
}

/// The client's state in every watch event: `KeeperState.SyncConnected`.
const SYNC_CONNECTED: i32 = 3;

impl Notification {
    pub fn packet(&self) -> Vec<u8> {
        let mut writer = ReplyHeader { xid: NOTIFICATION, zxid: -1, error: 0 }.begin();
        writer.int(self.kind);
        writer.int(SYNC_CONNECTED);
        writer.string(&self.path);
        writer.packet()
    }

    pub fn read(reader: &mut Reader) -> Result<Notification, Malformed> {
        let (kind, _state) = (reader.int()?, reader.int()?);
        Ok(Notification { kind, path: reader.string()? })
    }
}
