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

mod member;
mod path;
mod request;
mod session;
mod sessions;
mod state;
mod tree;
mod watch;
mod watches;
mod words;

pub use request::At;
pub use session::Connected;
pub use sessions::bucket_after;
pub use state::Model;
pub use words::{ConnectionId, Out};
