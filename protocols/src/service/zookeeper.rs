//! ZooKeeper: what elections ask of it, and what it answers.
//!
//! The words are ZooKeeper's own (apache/zookeeper 3.8, `zookeeper-jute/src/main/resources/zookeeper.jute`,
//! `ZooDefs.java: OpCode`, `KeeperException.java: Code`). Everything is asked of a *session*, which is a stream here: it lives
//! on while its connection is lost and made anew, ends when the server has not heard of it for its timeout, and takes its
//! ephemeral nodes with it. A request has no timeout of its own: it ends with its answer, or with the connection, and then
//! nobody knows.

use super::{GivesUp, Members, Service};
use crate::{
    news::{Holder, News, Purpose},
    payload::Payload,
    types::{MILLISECOND, SECOND},
};

/// ZooKeeper.
pub const SERVICE: Service = Service {
    name: "zookeeper",
    process: Some("zookeeper"),
    members: Members { most: 5, led: true, majority: true },
    // `syncLimit` ticks of silence, a second until a leader notices that it is alone, and the votes.
    failover_max: 13 * SECOND,
    // `ClientCnxn.java: SendThread`: readTimeout, and what it waits for before it connects again to the only server.
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

/// The server's unit of time: sessions expire in buckets of it, nanoseconds (`tickTime` of the sample configuration).
pub const TICK: u64 = 2 * SECOND;

/// The session timeout that the server grants when asked for that one, nanoseconds: between 2 and 20 ticks, in whole
/// milliseconds (`ZooKeeperServer.java: getMinSessionTimeout, getMaxSessionTimeout`).
pub fn granted(timeout: u64) -> u64 {
    timeout.next_multiple_of(MILLISECOND).clamp(2 * TICK, 20 * TICK)
}

/// After so long without sending anything a client pings however long the timeout is, nanoseconds
/// (`ClientCnxn.java: SendThread.run`, `MAX_SEND_PING_INTERVAL`).
pub const PING_MAX: u64 = 10 * SECOND;

/// How often the client of a session with that timeout says something, nanoseconds.
pub fn ping_interval(timeout: u64) -> u64 {
    (timeout / 3).min(PING_MAX)
}

/// What is said to ZooKeeper and by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = StreamRequest;
    type Item = Item;
}

/// How long a node lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// Until it is deleted.
    Persistent,
    /// Until it is deleted, or its session ends.
    Ephemeral,
    /// The same; its name is given the number of nodes that its parent has ever had, in ten digits.
    EphemeralSequential,
    /// Until it is deleted, or has had children and has none any more.
    Container,
}

/// A write. Of several in one [`Request::Multi`] all are done, or none.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A new node; answered by [`Reply::Created`].
    Create {
        /// Its path, up to the number where it is given one.
        path: String,
        /// What it holds.
        data: Vec<u8>,
        /// How long it lives.
        mode: Mode,
    },
    /// Deletes a node; answered by [`Reply::Done`].
    Delete {
        /// Its path.
        path: String,
        /// The version that it must have; −1 for any.
        version: i32,
    },
    /// Makes a node hold something else; answered by [`Reply::Is`].
    Set {
        /// Its path.
        path: String,
        /// What it is to hold.
        data: Vec<u8>,
        /// The version that it must have; −1 for any.
        version: i32,
    },
    /// Nothing, if the node is there. Only together with others; answered by [`Reply::Done`].
    Check {
        /// Its path.
        path: String,
        /// The version that it must have; −1 for any.
        version: i32,
    },
}

/// A request within the session that is open. Asked for a watch, the server tells once of the next change to what was read
/// ([`Item::Watched`]).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// One write.
    Write(Op),
    /// Several, of which all are done or none; answered by [`Reply::Multi`].
    Multi(Vec<Op>),
    /// Is there such a node? Answered by [`Reply::Is`], or refused for there being none; a watch is set either way.
    Exists {
        /// Its path.
        path: String,
        /// Tell when it comes, goes, or holds something else.
        watch: bool,
    },
    /// What a node holds; answered by [`Reply::Data`]. A watch is set only if there is such a node.
    Get {
        /// Its path.
        path: String,
        /// Tell when it goes or holds something else.
        watch: bool,
        /// What the question is for.
        purpose: Asking,
    },
    /// A node's children; answered by [`Reply::Children`]. A watch is set only if there is such a node.
    Children {
        /// Its path.
        path: String,
        /// Tell when it goes, or a child comes or goes.
        watch: bool,
    },
    /// Lets the member that is asked catch up with the ensemble's leader; answered by [`Reply::Done`].
    Sync {
        /// A path.
        path: String,
    },
    /// Ends the session, and deletes its ephemeral nodes; answered by [`Reply::Done`].
    CloseSession,
}

/// What a node's data is read for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Asking {
    /// To see who leads.
    WhoLeads,
    /// Anything else.
    Anything,
}

/// What ZooKeeper answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// The node exists.
    Created {
        /// Its whole path.
        path: String,
    },
    /// It is done.
    Done,
    /// The node's state.
    Is(Stat),
    /// What the node holds.
    Data {
        /// The node.
        path: String,
        /// What it holds; nothing and null are the same here.
        data: Vec<u8>,
        /// The node's state.
        stat: Stat,
        /// What was asked for.
        purpose: Asking,
    },
    /// The node's children.
    Children {
        /// Their names, sorted.
        names: Vec<String>,
        /// The node's state.
        stat: Stat,
    },
    /// An answer to each write; when one is refused, none was done.
    Multi(Vec<Reply>),
    /// The server said no; nothing was done.
    Refused(Code),
}

/// A node's state, as far as elections look at it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Stat {
    /// The transaction that created it.
    pub czxid: i64,
    /// The transaction that wrote it last.
    pub mzxid: i64,
    /// How often it was written since it was created.
    pub version: i32,
    /// The session that it ends with; 0 when there is none.
    pub owner: i64,
}

/// Why the server said no.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Code {
    /// There is no such node.
    NoNode,
    /// There is such a node.
    NodeExists,
    /// The node has another version.
    BadVersion,
    /// The node has children.
    NotEmpty,
    /// Ephemeral nodes have no children.
    NoChildrenForEphemerals,
    /// Another write of the same request was refused.
    RuntimeInconsistency,
    /// The session is over.
    SessionExpired,
    /// Another of ZooKeeper's codes.
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

    /// The code of that number.
    pub fn from_number(number: i32) -> Code {
        Code::NAMED.iter().find(|(known, _)| *known == number).map_or(Code::Other(number), |(_, code)| *code)
    }

    /// Its number.
    pub fn number(self) -> i32 {
        match self {
            Code::Other(number) => number,
            named => Code::NAMED.iter().find(|(_, code)| *code == named).map_or(0, |(number, _)| *number),
        }
    }
}

/// A session to open: the one before, if there is one, is given up without a word to the server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StreamRequest {
    /// The timeout to ask for, milliseconds.
    pub timeout_ms: u32,
}

/// What a session brings.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    /// It is connected, for the first time or again (`SyncConnected`).
    Connected {
        /// Its number.
        session: i64,
        /// The timeout that the server has granted, milliseconds.
        timeout_ms: u32,
    },
    /// Its connection is lost, or nothing came on it for two thirds of the timeout (`Disconnected`). The session may go on.
    Disconnected,
    /// The server has said that it is over (`Expired`); nothing comes any more.
    Expired,
    /// What a watch was set for has happened.
    Watched {
        /// The node.
        path: String,
        /// What happened to it.
        change: Change,
    },
}

/// What a watch tells of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// The node is there.
    Created,
    /// The node is gone.
    Deleted,
    /// The node holds something else.
    Data,
    /// A child came or went.
    Children,
}

impl Op {
    /// Makes a node that ends with its session?
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
        // What stood in front was there until now.
        News { held: matches!(self, Item::Watched { change: Change::Deleted, .. }), holder: None }
    }
}
