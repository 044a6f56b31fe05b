//! ZooKeeper: the elections' requests, and the answers.
//!
//! The terms are ZooKeeper's own (apache/zookeeper 3.8, `zookeeper-jute/src/main/resources/zookeeper.jute`,
//! `ZooDefs.java: OpCode`, `KeeperException.java: Code`). Requests belong to a *session*, which is a stream here: it
//! survives a lost and re-established connection, ends when the server has not heard from it for its timeout, and takes
//! its ephemeral nodes with it. A request has no timeout of its own: it ends with its answer, or with the connection,
//! and its outcome is then unknown.

use super::{GivesUp, Members, Service};
use crate::{
    news::{Holder, News, Purpose},
    payload::Payload,
    types::{MILLISECOND, SECOND},
};

pub const SERVICE: Service = Service {
    name: "zookeeper",
    process: Some("zookeeper"),
    members: Members { most: 5, led: true, majority: true },
    // `syncLimit` ticks of silence, a second until a leader notices that it is alone, and the votes.
    failover_max: 13 * SECOND,
    // `ClientCnxn.java: SendThread`: readTimeout, and the pause before it reconnects to a single server.
    gives_up: Some(GivesUp { parts: 2, of: 3, away: 2 * SECOND }),
    port: 2181,
    elects: true,
    keeps_data: true,
    counts_places: true,
    has_leases: true,
    has_keys: true,
    is_asked: true,
    is_watched: true,
    has_groups: true,
    ..Service::NONE
};

/// The server's unit of time, in multiples of which sessions expire, nanoseconds (`tickTime` of the sample
/// configuration).
pub const TICK: u64 = 2 * SECOND;

/// The session timeout that the server grants for a requested one, nanoseconds: between 2 and 20 ticks, in whole
/// milliseconds (`ZooKeeperServer.java: getMinSessionTimeout, getMaxSessionTimeout`).
pub fn granted(timeout: u64) -> u64 {
    timeout.next_multiple_of(MILLISECOND).clamp(2 * TICK, 20 * TICK)
}

/// The longest time without a packet before a client pings, whatever the timeout, nanoseconds (`ClientCnxn.java:
/// SendThread.run`, `MAX_SEND_PING_INTERVAL`).
pub const PING_MAX: u64 = 10 * SECOND;

/// The client's ping interval for that session timeout, nanoseconds.
pub fn ping_interval(timeout: u64) -> u64 {
    (timeout / 3).min(PING_MAX)
}

/// The types of ZooKeeper's requests and answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = StreamRequest;
    type Item = Item;
}

/// A node's lifetime.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// Until it is deleted.
    Persistent,
    /// Until it is deleted, or its session ends.
    Ephemeral,
    /// Like [`Mode::Ephemeral`]; ten digits are appended to the name, the number of children that its parent has ever
    /// had.
    EphemeralSequential,
    /// Until it is deleted, or has lost its last child.
    Container,
}

/// A write. The writes of one [`Request::Multi`] are all done, or none is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Creates a node; answered by [`Reply::Created`].
    Create {
        path: String,
        /// Its data.
        data: Vec<u8>,
        /// Its lifetime.
        mode: Mode,
    },
    /// Deletes a node; answered by [`Reply::Done`].
    Delete {
        path: String,
        /// The required version; −1 for any.
        version: i32,
    },
    /// Sets a node's data; answered by [`Reply::Is`].
    Set {
        path: String,
        /// The new data.
        data: Vec<u8>,
        /// The required version; −1 for any.
        version: i32,
    },
    /// Requires that the node exists, with that version. Only within a multi; answered by [`Reply::Done`].
    Check {
        path: String,
        /// The required version; −1 for any.
        version: i32,
    },
}

/// A request within the open session. If it sets a watch, the server reports the next change to what was read, once
/// ([`Item::Watched`]).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// A single write.
    Write(Op),
    /// Several writes, all or none; answered by [`Reply::Multi`].
    Multi(Vec<Op>),
    /// Whether a node exists. Answered by [`Reply::Is`], or refused if there is none; a watch is set in either case.
    Exists {
        path: String,
        /// Watch for its creation, its deletion, and changes of its data.
        watch: bool,
    },
    /// A node's data; answered by [`Reply::Data`]. A watch is set only if the node exists.
    Get {
        path: String,
        /// Watch for its deletion and changes of its data.
        watch: bool,
        /// The purpose of the read.
        purpose: Asking,
    },
    /// A node's children; answered by [`Reply::Children`]. A watch is set only if the node exists.
    Children {
        path: String,
        /// Watch for its deletion, and for added or deleted children.
        watch: bool,
    },
    /// Makes the member catch up with the ensemble's leader; answered by [`Reply::Done`].
    Sync { path: String },
    /// Ends the session, and deletes its ephemeral nodes; answered by [`Reply::Done`].
    CloseSession,
}

/// The purpose of reading a node's data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Asking {
    /// To observe the leader.
    WhoLeads,
    /// Anything else.
    Anything,
}

/// ZooKeeper's answer to a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// The node has been created.
    Created {
        /// Its full path.
        path: String,
    },
    Done,
    Is(Stat),
    /// A node's data.
    Data {
        path: String,
        /// Its data; empty data and null are not distinguished.
        data: Vec<u8>,
        stat: Stat,
        /// The purpose of the read.
        purpose: Asking,
    },
    /// A node's children.
    Children {
        names: Vec<String>,
        stat: Stat,
    },
    /// The answers to all writes; if one was refused, none was done.
    Multi(Vec<Reply>),
    /// The server refused; nothing was done.
    Refused(Code),
}

/// A node's state, as far as elections need it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Stat {
    /// The zxid that created it.
    pub czxid: i64,
    /// The zxid that last wrote its data.
    pub mzxid: i64,
    /// The number of writes since its creation.
    pub version: i32,
    /// The session that owns an ephemeral node; 0 for none.
    pub owner: i64,
}

/// The server's reason for a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Code {
    NoNode,
    NodeExists,
    BadVersion,
    NotEmpty,
    /// Ephemeral nodes cannot have children.
    NoChildrenForEphemerals,
    /// Another write of the same request was refused.
    RuntimeInconsistency,
    /// The session has expired.
    SessionExpired,
    /// Another one of ZooKeeper's codes.
    Other(i32),
}

impl Code {
    const NAMED: [(i32, Code); 7] = [
        (-101, Code::NoNode),
        (-110, Code::NodeExists),
        (-103, Code::BadVersion),
        (-111, Code::NotEmpty),
        (-108, Code::NoChildrenForEphemerals),
        (-2, Code::RuntimeInconsistency),
        (-112, Code::SessionExpired),
    ];

    pub fn from_number(number: i32) -> Code {
        Code::NAMED.iter().find(|(known, _)| *known == number).map_or(Code::Other(number), |(_, code)| *code)
    }

    pub fn number(self) -> i32 {
        match self {
            Code::Other(number) => number,
            named => Code::NAMED.iter().find(|(_, code)| *code == named).map_or(0, |(number, _)| *number),
        }
    }
}

/// A session to open. An earlier session is abandoned without telling the server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StreamRequest {
    /// The requested timeout, milliseconds.
    pub timeout_ms: u32,
}

/// A session's item.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    /// Connected, for the first time or again (`SyncConnected`).
    Connected {
        /// The session's id.
        session: i64,
        /// The granted timeout, milliseconds.
        timeout_ms: u32,
    },
    /// The connection is lost, or was silent for two thirds of the timeout (`Disconnected`). The session may live on.
    Disconnected,
    /// The server has reported that the session has expired (`Expired`); no more items follow.
    Expired,
    /// A watch has fired.
    Watched { path: String, change: Change },
}

/// The change that fired a watch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// The node was created.
    Created,
    /// The node was deleted.
    Deleted,
    /// The node's data was changed.
    Data,
    /// A child was added or deleted.
    Children,
}

impl Op {
    /// Whether it creates a node that ends with its session.
    fn is_ephemeral(&self) -> bool {
        matches!(self, Op::Create { mode: Mode::Ephemeral | Mode::EphemeralSequential, .. })
    }
}

impl Payload for Request {
    fn purpose(&self) -> Purpose {
        match self {
            Request::Write(op) if op.is_ephemeral() => Purpose::Candidacy,
            Request::Multi(ops) if ops.iter().any(Op::is_ephemeral) => Purpose::Candidacy,
            Request::Get { purpose: Asking::WhoLeads, .. } => Purpose::Holder,
            _ => Purpose::Other,
        }
    }
}

impl Payload for Reply {
    fn news(&self) -> News {
        match self {
            Reply::Data { path, data, purpose: Asking::WhoLeads, .. } => {
                let value = String::from_utf8_lossy(data).into_owned();
                News { held: false, holder: Some(Some(Holder { place: format!("the node `{path}`"), value })) }
            }
            _ => News::default(),
        }
    }
}

impl Payload for StreamRequest {
    fn purpose(&self) -> Purpose {
        Purpose::Renewal
    }
}

impl Payload for Item {
    fn news(&self) -> News {
        // The watched node existed until now.
        News { held: matches!(self, Item::Watched { change: Change::Deleted, .. }), holder: None }
    }
}
