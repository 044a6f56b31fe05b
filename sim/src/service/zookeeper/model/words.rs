//! Messages to clients, and error codes.

use protocols_clients::zookeeper::{
    answer::{Answer, Notification},
    wire::ConnectResponse,
};

pub type ConnectionId = u64;

/// A message for a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Out {
    Connected(ConnectResponse),
    /// The answer to a request.
    Reply {
        xid: i32,
        /// The latest transaction id.
        zxid: i64,
        /// The answer, or an error code.
        answer: Result<Answer, i32>,
    },
    /// A watch has fired.
    Notification(Notification),
    /// The connection must be closed.
    Close,
}

/// Error codes (`KeeperException.java: CodeDeprecated`).
pub mod code {
    /// A write after one that was refused.
    pub const RUNTIME_INCONSISTENCY: i32 = -2;
    /// A malformed request.
    pub const MARSHALLING_ERROR: i32 = -5;
    /// An unknown request.
    pub const UNIMPLEMENTED: i32 = -6;
    /// An invalid path or flag.
    pub const BAD_ARGUMENTS: i32 = -8;
    pub const NO_NODE: i32 = -101;
    pub const BAD_VERSION: i32 = -103;
    pub const NO_CHILDREN_FOR_EPHEMERALS: i32 = -108;
    pub const NODE_EXISTS: i32 = -110;
    /// The node has children.
    pub const NOT_EMPTY: i32 = -111;
    pub const SESSION_EXPIRED: i32 = -112;
    /// The access list is missing.
    pub const INVALID_ACL: i32 = -114;
}

/// A change of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Created(String),
    Deleted(String),
    Data(String),
    Children(String),
}
