//! Answers and notifications, as values and as bytes; `wire.rs` says where they come from.

use super::{
    call::{IN_MULTI, part},
    jute::{Malformed, Reader, Writer},
    wire::{NOTIFICATION, op},
};

/// A node's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stat {
    /// The transaction that created it.
    pub czxid: i64,
    /// The transaction that wrote it last.
    pub mzxid: i64,
    /// When it was created, milliseconds of the server's wall clock.
    pub ctime: i64,
    /// When it was written last.
    pub mtime: i64,
    /// How often it was written.
    pub version: i32,
    /// How often its children have changed.
    pub cversion: i32,
    /// How often it was changed who may do what with it.
    pub aversion: i32,
    /// The session that it ends with; 0 for none.
    pub owner: i64,
    /// How much it holds, bytes.
    pub data_length: i32,
    /// How many children it has.
    pub children: i32,
    /// The transaction that changed its children last.
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

/// What stands before every answer and notification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplyHeader {
    /// The request's number, [`PING`](super::wire::PING) or [`NOTIFICATION`].
    pub xid: i32,
    /// The latest transaction; −1 before a notification.
    pub zxid: i64,
    /// 0, or why the server says no; then nothing follows.
    pub error: i32,
}

impl ReplyHeader {
    /// The header, and what follows it.
    ///
    /// # Errors
    /// There is none.
    pub fn read(bytes: &[u8]) -> Result<(ReplyHeader, Reader<'_>), Malformed> {
        let mut reader = Reader::new(bytes);
        let header = ReplyHeader { xid: reader.int()?, zxid: reader.long()?, error: reader.int()? };
        Ok((header, reader))
    }

    /// As a packet with what follows.
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

/// What follows the header of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Nothing.
    Nothing,
    /// A path.
    Path(String),
    /// A path and the node's state.
    PathStat(String, Stat),
    /// A node's state.
    Stat(Stat),
    /// What a node holds, and its state.
    Data(Option<Vec<u8>>, Stat),
    /// A node's children.
    Names(Vec<String>),
    /// A node's children and its state.
    NamesStat(Vec<String>, Stat),
    /// An answer to each of several writes, with what it was; or why there is none.
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

    /// The answer to a request of that name.
    ///
    /// # Errors
    /// It is none.
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
                        op if IN_MULTI.contains(&op) => parts.push((op, Ok(Answer::read(op, reader)?))),
                        _ => return Err(Malformed),
                    }
                }
            }
            _ => Answer::Nothing,
        })
    }
}

/// What a watch tells: what happened, 1 to 4 (created, deleted, data changed, children changed), and to which node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notification {
    /// What.
    pub kind: i32,
    /// To which node.
    pub path: String,
}

/// A watch's client is connected: `KeeperState.SyncConnected`.
const SYNC_CONNECTED: i32 = 3;

impl Notification {
    /// As a packet.
    pub fn packet(&self) -> Vec<u8> {
        let mut writer = ReplyHeader { xid: NOTIFICATION, zxid: -1, error: 0 }.begin();
        writer.int(self.kind);
        writer.int(SYNC_CONNECTED);
        writer.string(&self.path);
        writer.packet()
    }

    /// What follows a header.
    ///
    /// # Errors
    /// It is none.
    pub fn read(reader: &mut Reader) -> Result<Notification, Malformed> {
        let (kind, _state) = (reader.int()?, reader.int()?);
        Ok(Notification { kind, path: reader.string()? })
    }
}
