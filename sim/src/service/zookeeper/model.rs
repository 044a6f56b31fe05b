//! A pure model of ZooKeeper: its state, and functions of (now, request) that put messages into an outbox.
//!
//! Modelled on apache/zookeeper 3.8.0, `zookeeper-server/src/main/java/org/apache/zookeeper/server/`:
//! `PrepRequestProcessor.java` (refusals, and the effect of transactions), `DataTree.java` and `DataNode.java` (nodes,
//! and their state as clients see it), `FinalRequestProcessor.java` (answers), `ZooKeeperServer.java` (sessions),
//! `SessionTrackerImpl.java` and `ExpiryQueue.java` (their end), `watch/WatchManager.java`. Every write makes a
//! transaction with the next id, even one that is refused; so do the beginning and the end of a session.
//!
//! Everything survives a restart (the log is synced before any answer) except connections and watches; sessions get
//! their full timeout again.

mod member;
mod request;
mod session;
mod sessions;
mod state;
mod tree;
mod words;

pub use request::At;
pub use session::Connected;
pub use sessions::bucket_after;
pub use state::Model;
pub use words::{ConnectionId, Out};
