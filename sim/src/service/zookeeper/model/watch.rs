//! Notification of watchers (`DataTree.java: setWatches`).

use super::{
    state::Model,
    watches::{CHILDREN_CHANGED, CREATED, DATA_CHANGED, DELETED},
    words::{ConnectionId, Event, Out},
};
use protocols_clients::zookeeper::{answer::Notification, call::Watches};

impl Model {
    pub(super) fn tell(&mut self, events: &[Event]) {
        for event in events {
            let told = self.watches.trigger(event);
            self.outbox.extend(told.into_iter().map(|(connection, told)| (connection, Out::Notification(told))));
        }
    }

    /// Restores the watches of a former connection, and at once sends the events that they missed.
    pub(super) fn set_watches(&mut self, connection: ConnectionId, watches: &Watches) {
        let mut missed = Vec::new();
        for path in &watches.data {
            match self.tree.get(path).map(|node| node.mzxid > watches.last_zxid) {
                None => missed.push((DELETED, path)),
                Some(true) => missed.push((DATA_CHANGED, path)),
                Some(false) => self.watches.data(path, connection),
            }
        }
        for path in &watches.exist {
            match self.tree.get(path) {
                Some(_) => missed.push((CREATED, path)),
                None => self.watches.data(path, connection),
            }
        }
        for path in &watches.children {
            match self.tree.get(path).map(|node| node.pzxid > watches.last_zxid) {
                None => missed.push((DELETED, path)),
                Some(true) => missed.push((CHILDREN_CHANGED, path)),
                Some(false) => self.watches.children(path, connection),
            }
        }
        let told = missed.into_iter().map(|(kind, path)| Out::Notification(Notification { kind, path: path.clone() }));
        self.outbox.extend(told.map(|out| (connection, out)));
    }
}
