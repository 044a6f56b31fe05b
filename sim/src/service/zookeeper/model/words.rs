//! What is said of the model's doings.

use protocols_clients::zookeeper::{
    answer::{Answer, Notification},
    wire::ConnectResponse,
};

/// Numbers the connections.
pub type ConnectionId = u64;

/// What is to be sent on a connection, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Out {
    /// The answer to the session request.
    Connected(ConnectResponse),
    /// An answer: the request's number, the latest transaction, and what it says or why there is nothing to say.
    Reply {
        /// The request's number.
        xid: i32,
        /// The latest transaction.
        zxid: i64,
        /// The answer, or why it is refused.
        answer: Result<Answer, i32>,
    },
    /// What a watch was set for has happened.
    Notification(Notification),
    /// Nothing comes any more.
    Close,
}

/// Why a request is refused (`KeeperException.java: CodeDeprecated`).
pub mod code {
    /// A write after one that was refused.
    pub const RUNTIME_INCONSISTENCY: i32 = -2;
    /// A request that cannot be read.
    pub const MARSHALLING_ERROR: i32 = -5;
    /// There is no such request.
    pub const UNIMPLEMENTED: i32 = -6;
    /// A path that is none.
    pub const BAD_ARGUMENTS: i32 = -8;
    /// There is no such node.
    pub const NO_NODE: i32 = -101;
    /// The node has another version.
    pub const BAD_VERSION: i32 = -103;
    /// Ephemeral nodes have no children.
    pub const NO_CHILDREN_FOR_EPHEMERALS: i32 = -108;
    /// There is such a node.
    pub const NODE_EXISTS: i32 = -110;
    /// The node has children.
    pub const NOT_EMPTY: i32 = -111;
    /// The session is over.
    pub const SESSION_EXPIRED: i32 = -112;
    /// It is not said who may do what with the node.
    pub const INVALID_ACL: i32 = -114;
}

/// Something happened to a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Created(String),
    Deleted(String),
    Data(String),
    Children(String),
}
