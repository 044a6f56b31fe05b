//! Requests, as values and as bytes; `wire.rs` names the sources.

use super::{
    jute::{Malformed, Reader, Writer},
    wire::op,
};

/// An entry of an access control list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acl {
    /// The permitted operations, as bits.
    pub perms: i32,
    /// The authentication scheme.
    pub scheme: String,
    /// The identity in that scheme.
    pub id: String,
}

impl Acl {
    /// `OPEN_ACL_UNSAFE`: anybody may do anything.
    pub fn open() -> Vec<Acl> {
        vec![Acl { perms: 31, scheme: "world".to_owned(), id: "anyone".to_owned() }]
    }

    /// `CREATOR_ALL_ACL`: whoever has logged in as this client may do anything, and nobody else.
    pub fn creator() -> Vec<Acl> {
        vec![Acl { perms: 31, scheme: "auth".to_owned(), id: String::new() }]
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    /// [`op::CREATE`], [`op::CREATE2`] or [`op::CREATE_CONTAINER`].
    Create {
        op: i32,
        path: String,
        data: Option<Vec<u8>>,
        acl: Vec<Acl>,
        /// 1: ephemeral, 2: sequential, 3: both, 4: a container.
        flags: i32,
    },
    Delete(String, i32),
    /// [`op::EXISTS`], and whether to set a watch.
    Exists(String, bool),
    /// [`op::GET_DATA`], and whether to set a watch.
    GetData(String, bool),
    SetData(String, Option<Vec<u8>>, i32),
    /// [`op::GET_CHILDREN`], and whether to set a watch.
    GetChildren(String, bool),
    /// [`op::GET_CHILDREN2`], and whether to set a watch.
    GetChildren2(String, bool),
    Check(String, i32),
    Sync(String),
    Multi(Vec<Call>),
    SetWatches(Watches),
    Ping,
    /// A user and a password, by the scheme `digest`.
    Login(String, String),
    CloseSession,
    /// Any other type; its body is ignored.
    Other(i32),
}

/// The watches of the previous connection, to be set again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Watches {
    /// The latest zxid that the client has seen.
    pub last_zxid: i64,
    /// Nodes whose data is watched.
    pub data: Vec<String>,
    /// Nodes whose creation is watched.
    pub exist: Vec<String>,
    /// Nodes whose children are watched.
    pub children: Vec<String>,
}

impl Call {
    /// Whether it is a write; [`Call::Check`], part of a multi, counts as one.
    pub fn is_write(&self) -> bool {
        matches!(self, Call::Create { .. } | Call::Delete(..) | Call::SetData(..) | Call::Check(..) | Call::Multi(..))
    }

    /// Its type's code.
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
            Call::Login(..) => op::AUTH,
            Call::CloseSession => op::CLOSE_SESSION,
        }
    }

    /// Encodes the request as packet number `xid`.
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
            Call::Login(user, password) => {
                writer.int(0);
                writer.string("digest");
                writer.buffer(Some(format!("{user}:{password}").as_bytes()));
            }
            Call::Ping | Call::CloseSession | Call::Other(_) => {}
        }
    }

    /// The number, type and request of a packet.
    ///
    /// # Errors
    /// Number or type is missing. An unreadable body is an error of its own: see [`Body`].
    pub fn read(bytes: &[u8]) -> Result<(i32, i32, Body), Malformed> {
        let mut reader = Reader::new(bytes);
        let (xid, op) = (reader.int()?, reader.int()?);
        Ok((xid, op, Call::read_body(op, &mut reader)))
    }

    /// An operation of a multi as the server reads it: the flags alone decide what is created (`Op.java: create,
    /// Create.getOpcode`).
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

/// The operations allowed in a multi (`MultiOperationRecord.java: deserialize`), as far as they are modelled here.
pub(super) const IN_MULTI: [i32; 5] = [op::CREATE, op::CREATE_CONTAINER, op::DELETE, op::SET_DATA, op::CHECK];

/// A request, unless it cannot be read.
pub type Body = Result<Call, Malformed>;

/// The header of one operation of a multi.
pub(super) fn part(writer: &mut Writer, op: i32, done: bool, error: i32) {
    writer.int(op);
    writer.bool(done);
    writer.int(error);
}
