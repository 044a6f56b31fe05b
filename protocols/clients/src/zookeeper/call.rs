//! Requests, as values and as bytes; `wire.rs` says where they come from.

use super::{
    jute::{Malformed, Reader, Writer},
    wire::op,
};

/// Who may do what with a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acl {
    /// What may be done, in bits.
    pub perms: i32,
    /// How it is known who somebody is.
    pub scheme: String,
    /// Who.
    pub id: String,
}

impl Acl {
    /// Anybody may do anything.
    pub fn open() -> Vec<Acl> {
        vec![Acl { perms: 31, scheme: "world".to_owned(), id: "anyone".to_owned() }]
    }
}

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    /// [`op::CREATE`], [`op::CREATE2`] or [`op::CREATE_CONTAINER`].
    Create {
        /// Which of them.
        op: i32,
        /// The new node's path.
        path: String,
        /// What it holds.
        data: Option<Vec<u8>>,
        /// Who may do what with it.
        acl: Vec<Acl>,
        /// 1: ephemeral, 2: sequential, 3: both, 4: a container.
        flags: i32,
    },
    /// [`op::DELETE`].
    Delete(String, i32),
    /// [`op::EXISTS`], and whether to watch.
    Exists(String, bool),
    /// [`op::GET_DATA`], and whether to watch.
    GetData(String, bool),
    /// [`op::SET_DATA`].
    SetData(String, Option<Vec<u8>>, i32),
    /// [`op::GET_CHILDREN`], and whether to watch.
    GetChildren(String, bool),
    /// [`op::GET_CHILDREN2`], and whether to watch.
    GetChildren2(String, bool),
    /// [`op::CHECK`].
    Check(String, i32),
    /// [`op::SYNC`].
    Sync(String),
    /// [`op::MULTI`].
    Multi(Vec<Call>),
    /// [`op::SET_WATCHES`].
    SetWatches(Watches),
    /// [`op::PING`].
    Ping,
    /// [`op::CLOSE_SESSION`].
    CloseSession,
    /// Another, whatever it says.
    Other(i32),
}

/// What a client watched on the connection before.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Watches {
    /// The latest transaction that it has heard of.
    pub last_zxid: i64,
    /// Nodes whose data it watches.
    pub data: Vec<String>,
    /// Nodes that it waits for.
    pub exist: Vec<String>,
    /// Nodes whose children it watches.
    pub children: Vec<String>,
}

impl Call {
    /// Does it change what there is?
    pub fn is_write(&self) -> bool {
        matches!(self, Call::Create { .. } | Call::Delete(..) | Call::SetData(..) | Call::Check(..) | Call::Multi(..))
    }

    /// What it is called.
    pub fn op(&self) -> i32 {
        match self {
            Call::Create { op, .. } | Call::Other(op) => *op,
            Call::Delete(..) => op::DELETE,
            Call::Exists(..) => op::EXISTS,
            Call::GetData(..) => op::GET_DATA,
            Call::SetData(..) => op::SET_DATA,
            Call::GetChildren(..) => op::GET_CHILDREN,
            Call::GetChildren2(..) => op::GET_CHILDREN2,
            Call::Check(..) => op::CHECK,
            Call::Sync(..) => op::SYNC,
            Call::Multi(..) => op::MULTI,
            Call::SetWatches(..) => op::SET_WATCHES,
            Call::Ping => op::PING,
            Call::CloseSession => op::CLOSE_SESSION,
        }
    }

    /// As a packet of that number.
    pub fn packet(&self, xid: i32) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.int(xid);
        writer.int(self.op());
        self.write(&mut writer);
        writer.packet()
    }

    fn write(&self, writer: &mut Writer) {
        match self {
            Call::Create { path, data, acl, flags, .. } => {
                writer.string(path);
                writer.buffer(data.as_deref());
                writer.vector(acl, |writer, Acl { perms, scheme, id }| {
                    writer.int(*perms);
                    writer.string(scheme);
                    writer.string(id);
                });
                writer.int(*flags);
            }
            Call::Delete(path, version) | Call::Check(path, version) => {
                writer.string(path);
                writer.int(*version);
            }
            Call::Exists(path, watch)
            | Call::GetData(path, watch)
            | Call::GetChildren(path, watch)
            | Call::GetChildren2(path, watch) => {
                writer.string(path);
                writer.bool(*watch);
            }
            Call::SetData(path, data, version) => {
                writer.string(path);
                writer.buffer(data.as_deref());
                writer.int(*version);
            }
            Call::Sync(path) => writer.string(path),
            Call::Multi(calls) => {
                for call in calls {
                    part(writer, call.op(), false, -1);
                    call.write(writer);
                }
                part(writer, -1, true, -1);
            }
            Call::SetWatches(Watches { last_zxid, data, exist, children }) => {
                writer.long(*last_zxid);
                for paths in [data, exist, children] {
                    writer.vector(paths, |writer, path| writer.string(path));
                }
            }
            Call::Ping | Call::CloseSession | Call::Other(_) => {}
        }
    }

    /// The number and the request of a packet.
    ///
    /// # Errors
    /// There is no number. What a request says that cannot be read is an error of its own: see [`Body`].
    pub fn read(bytes: &[u8]) -> Result<(i32, i32, Body), Malformed> {
        let mut reader = Reader::new(bytes);
        let (xid, op) = (reader.int()?, reader.int()?);
        Ok((xid, op, Call::read_body(op, &mut reader)))
    }

    /// One of several as the server takes it: what is created, the flags alone say (`Op.java: create, Create.getOpcode`).
    fn in_multi(self) -> Call {
        match self {
            Call::Create { path, data, acl, flags, .. } => {
                let op = if flags == CONTAINER_FLAG { op::CREATE_CONTAINER } else { op::CREATE };
                Call::Create { op, path, data, acl, flags }
            }
            other => other,
        }
    }

    fn read_body(op: i32, reader: &mut Reader) -> Body {
        Ok(match op {
            op::CREATE | op::CREATE2 | op::CREATE_CONTAINER => Call::Create {
                op,
                path: reader.string()?,
                data: reader.buffer()?,
                acl: reader.vector(|reader| {
                    Ok(Acl { perms: reader.int()?, scheme: reader.string()?, id: reader.string()? })
                })?,
                flags: reader.int()?,
            },
            op::DELETE => Call::Delete(reader.string()?, reader.int()?),
            op::EXISTS => Call::Exists(reader.string()?, reader.bool()?),
            op::GET_DATA => Call::GetData(reader.string()?, reader.bool()?),
            op::SET_DATA => Call::SetData(reader.string()?, reader.buffer()?, reader.int()?),
            op::GET_CHILDREN => Call::GetChildren(reader.string()?, reader.bool()?),
            op::GET_CHILDREN2 => Call::GetChildren2(reader.string()?, reader.bool()?),
            op::CHECK => Call::Check(reader.string()?, reader.int()?),
            op::SYNC => Call::Sync(reader.string()?),
            op::MULTI => {
                let mut calls = Vec::new();
                loop {
                    let (op, done, _) = (reader.int()?, reader.bool()?, reader.int()?);
                    if done {
                        break Call::Multi(calls);
                    }
                    if !IN_MULTI.contains(&op) {
                        return Err(Malformed);
                    }
                    calls.push(Call::read_body(op, reader)?.in_multi());
                }
            }
            op::SET_WATCHES => Call::SetWatches(Watches {
                last_zxid: reader.long()?,
                data: reader.vector(Reader::string)?,
                exist: reader.vector(Reader::string)?,
                children: reader.vector(Reader::string)?,
            }),
            op::PING => Call::Ping,
            op::CLOSE_SESSION => Call::CloseSession,
            other => Call::Other(other),
        })
    }
}

/// `CreateMode.CONTAINER`.
const CONTAINER_FLAG: i32 = 4;

/// What can be asked together with others (`MultiOperationRecord.java: deserialize`), as far as it is known here.
pub(super) const IN_MULTI: [i32; 5] = [op::CREATE, op::CREATE_CONTAINER, op::DELETE, op::SET_DATA, op::CHECK];

/// A request, or that it cannot be read.
pub type Body = Result<Call, Malformed>;

/// The header of one of several.
pub(super) fn part(writer: &mut Writer, op: i32, done: bool, error: i32) {
    writer.int(op);
    writer.bool(done);
    writer.int(error);
}
