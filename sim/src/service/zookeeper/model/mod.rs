//! A pure model of ZooKeeper: state, and functions of (now, request) that leave what is to be sent in an outbox.
//!
//! After apache/zookeeper 3.8.0, `zookeeper-server/src/main/java/org/apache/zookeeper/server/`: `PrepRequestProcessor.java`
//! (what is refused, and why; what a transaction does), `DataTree.java` and `DataNode.java` (nodes, and their states as
//! clients see them), `FinalRequestProcessor.java` (answers), `ZooKeeperServer.java` (sessions), `SessionTrackerImpl.java` and
//! `ExpiryQueue.java` (their end), `watch/WatchManager.java`. Every write makes a transaction, also one that is refused: it
//! has the next number. So have the beginning and the end of a session.
//!
//! All of it survives a restart (the log is synced before anything is answered) except connections and watches; sessions
//! have their whole timeout again.

mod path;
mod request;
mod session;
mod tree;
mod watch;

pub use request::At;
pub use session::{Connected, bucket_after};

use crate::service::{Dropped, grants::Holder};
use protocols::election::zookeeper::{Kind, kind_of, sequence_of};
use protocols_clients::zookeeper::wire::{Answer, ConnectResponse, Notification};
use session::Sessions;
use tree::{Node, Tree};
use watch::WatchManager;

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
    /// It is not said who may do what with the node.
    pub const INVALID_ACL: i32 = -114;
}

/// The ensemble's state.
#[derive(Debug)]
pub struct Model {
    tree: Tree,
    zxid: i64,
    sessions: Sessions,
    watches: WatchManager,
    connections: ConnectionId,
    outbox: Vec<(ConnectionId, Out)>,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            tree: Tree::default(),
            zxid: 0,
            sessions: Sessions::default(),
            watches: WatchManager::default(),
            connections: 0,
            outbox: Vec::new(),
        }
    }
}

impl Model {
    /// An empty ensemble.
    pub fn new() -> Self {
        Model::default()
    }

    /// The latest transaction.
    pub fn zxid(&self) -> i64 {
        self.zxid
    }

    /// A connection was made.
    pub fn open(&mut self) -> ConnectionId {
        self.connections += 1;
        self.connections
    }

    /// A connection is gone; its session is not.
    pub fn close(&mut self, connection: ConnectionId) {
        self.watches.forget(connection);
        self.sessions.disconnect(connection);
    }

    /// What is to be sent since the last call, in order.
    pub fn take_outbox(&mut self) -> Vec<(ConnectionId, Out)> {
        std::mem::take(&mut self.outbox)
    }

    fn next_zxid(&mut self) -> i64 {
        self.zxid += 1;
        self.zxid
    }

    /// Who holds a group's leadership, by whichever recipe its candidates follow.
    pub fn holder(&self, group: u16) -> Option<Holder> {
        let queue = |folder: &str| {
            let children = self.tree.get(folder)?.children.iter();
            let (_, first) = children.filter_map(|name| Some((sequence_of(name)?, name))).min()?;
            let node = self.tree.get(&format!("{folder}/{first}"))?;
            let name = String::from_utf8(node.data.clone()?).ok()?;
            Some(Holder { name, token: u64::try_from(node.czxid).ok()?, until: None })
        };
        Kind::ALL.into_iter().find_map(|kind| queue(&kind.folder(group)))
    }

    /// Drops the nodes that a candidate holds in a group, or its session, as when somebody else deletes or closes them. The
    /// nodes hold the candidate's name.
    pub fn drop_leadership_of(&mut self, candidate: &str, group: u16, what: Dropped) {
        let is_its = |(path, node): &(&String, &Node)| {
            kind_of(path, group).is_some() && node.data.as_deref() == Some(candidate.as_bytes())
        };
        let held: Vec<(String, i64)> =
            self.tree.iter().filter(is_its).map(|(path, node)| (path.clone(), node.owner)).collect();
        for (path, owner) in held {
            match what {
                Dropped::Lease => self.end_session(owner),
                Dropped::Key => {
                    let zxid = self.next_zxid();
                    self.delete(&path, zxid);
                }
                // Tokens are transactions here: there is no counter to lose.
                Dropped::Counter => {}
            }
        }
    }

    /// Deletes a node that is there, and tells whoever watches.
    fn delete(&mut self, path: &str, zxid: i64) {
        let changes = self.tree.remove(path, zxid);
        self.tell(&changes);
    }
}
