//! The state of the model.

use super::{
    sessions::{Sessions, WatchManager},
    tree::{Node, Tree},
    words::{ConnectionId, Out},
};
use crate::service::{
    Dropped,
    grants::{self, Holder},
};
use protocols::election::zookeeper::{self, Kind, kind_of, sequence_of};

#[derive(Clone, Debug, Default)]
pub struct Model {
    pub(super) tree: Tree,
    zxid: i64,
    pub(super) sessions: Sessions,
    pub(super) watches: WatchManager,
    connections: ConnectionId,
    pub(super) outbox: Vec<(ConnectionId, Out)>,
}

impl Model {
    pub fn new() -> Self {
        Model::default()
    }

    /// The latest transaction id.
    pub fn zxid(&self) -> i64 {
        self.zxid
    }

    pub fn open(&mut self) -> ConnectionId {
        self.connections += 1;
        self.connections
    }

    /// A connection is gone; its session is not.
    pub fn close(&mut self, connection: ConnectionId) {
        self.watches.forget(connection);
        self.sessions.disconnect(connection);
    }

    /// The messages to send since the last call, in order.
    pub fn take_outbox(&mut self) -> Vec<(ConnectionId, Out)> {
        std::mem::take(&mut self.outbox)
    }

    pub(super) fn set_zxid(&mut self, zxid: i64) {
        self.zxid = zxid;
    }

    pub(super) fn next_zxid(&mut self) -> i64 {
        self.zxid += 1;
        self.zxid
    }

    /// The holder of a group's leadership, by whichever recipe its candidates follow.
    pub fn holder(&self, group: u16) -> Option<Holder> {
        let queue = |folder: &str| {
            let children = self.tree.get(folder)?.children.iter();
            let (_, first) = children.filter_map(|name| Some((sequence_of(name)?, name))).min()?;
            let node = self.tree.get(&format!("{folder}/{first}"))?;
            let name = String::from_utf8(node.data.clone()?).ok()?;
            Some(Holder { name, token: u64::try_from(node.czxid).ok()?, until: None })
        };
        Kind::ALL.into_iter().find_map(|kind| queue(&kind.folder(group))).or_else(|| self.controller(group))
    }

    /// The owner of the node at this path, or of its first sequential child; all of these contend. They are called by the
    /// transactions that made them.
    pub fn holder_of(&self, path: &str) -> Option<Holder> {
        let node = self.tree.get(path)?;
        let mut contenders = Vec::new();
        for (number, name) in node.children.iter().filter_map(|name| Some((sequence_of(name)?, name))) {
            if let Some(child) = self.tree.get(&format!("{path}/{name}")) {
                contenders.push((number, child.czxid.to_string()));
            }
        }
        if contenders.is_empty() && node.owner != 0 {
            contenders.push((0, node.czxid.to_string()));
        }
        let (numbers, names): (Vec<_>, Vec<_>) = contenders.into_iter().unzip();
        grants::contend(&names);
        let (_, name) = numbers.into_iter().zip(names).min()?;
        Some(Holder { name, token: 0, until: None })
    }

    /// Kafka's controller, with its epoch.
    fn controller(&self, group: u16) -> Option<Holder> {
        let data = |path: &str| self.tree.get(path)?.data.clone();
        let name = zookeeper::name_of(&data(&zookeeper::controller(group))?)?;
        Some(Holder { name, token: zookeeper::epoch_of(&data(&zookeeper::epoch(group))?)?, until: None })
    }

    /// Deletes a candidate's nodes in a group, or closes its session, from outside. The nodes contain the candidate's
    /// name.
    pub fn drop_leadership_of(&mut self, candidate: &str, group: u16, what: Dropped) {
        if what == Dropped::Counter {
            return self.reap(group);
        }
        for (path, owner) in self.nodes_of(candidate, group) {
            match what {
                Dropped::Lease => self.end_session(owner),
                Dropped::Key => {
                    let zxid = self.next_zxid();
                    self.delete(&path, zxid);
                    self.tree.commit();
                }
                // Handled above.
                Dropped::Counter => {}
            }
        }
    }

    /// Deletes a group's queues if they are empty, like the scan for containers (`ContainerManager.java:
    /// checkContainers`). Sequence numbers are stored in the queue's own node, so the next queue starts at 0 again.
    /// Tokens are transaction ids, and continue.
    fn reap(&mut self, group: u16) {
        for folder in Kind::ALL.map(|kind| kind.folder(group)) {
            if self.tree.get(&folder).is_some_and(|node| node.children.is_empty()) {
                let zxid = self.next_zxid();
                self.delete(&folder, zxid);
                self.tree.commit();
            }
        }
    }

    /// A candidate's nodes in a group, with the sessions that own them.
    pub fn nodes_of(&self, candidate: &str, group: u16) -> Vec<(String, i64)> {
        let controller = zookeeper::controller(group);
        let is_its = |(path, node): &(&String, &Node)| {
            let data = node.data.as_deref().unwrap_or_default();
            let queues = kind_of(path, group).is_some() && data == candidate.as_bytes();
            queues || (**path == controller && zookeeper::name_of(data).as_deref() == Some(candidate))
        };
        self.tree.iter().filter(is_its).map(|(path, node)| (path.clone(), node.owner)).collect()
    }

    /// Deletes an existing node, and notifies its watchers.
    pub(super) fn delete(&mut self, path: &str, zxid: i64) {
        let changes = self.tree.remove(path, zxid);
        self.tell(&changes);
    }
}
