//! The watches; each fires once (`watch/WatchManager.java: triggerWatch`).

use super::words::{ConnectionId, Event};
use protocols_clients::zookeeper::answer::Notification;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const CREATED: i32 = 1;
pub(super) const DELETED: i32 = 2;
pub(super) const DATA_CHANGED: i32 = 3;
pub(super) const CHILDREN_CHANGED: i32 = 4;

type Table = BTreeMap<String, BTreeSet<ConnectionId>>;

#[derive(Clone, Debug, Default)]
pub(super) struct WatchManager {
    /// Watches on nodes, existing or not.
    data: Table,
    children: Table,
}

impl WatchManager {
    pub(super) fn data(&mut self, path: &str, connection: ConnectionId) {
        self.data.entry(path.to_owned()).or_default().insert(connection);
    }

    pub(super) fn children(&mut self, path: &str, connection: ConnectionId) {
        self.children.entry(path.to_owned()).or_default().insert(connection);
    }

    pub(super) fn forget(&mut self, connection: ConnectionId) {
        for table in [&mut self.data, &mut self.children] {
            table.retain(|_, watchers| {
                watchers.remove(&connection);
                !watchers.is_empty()
            });
        }
    }

    /// Removes all watches.
    pub(super) fn clear(&mut self) {
        *self = WatchManager::default();
    }

    /// The notifications that an event triggers.
    pub(super) fn trigger(&mut self, event: &Event) -> Vec<(ConnectionId, Notification)> {
        let (kind, path, tables) = match event {
            Event::Created(path) => (CREATED, path, [Some(&mut self.data), None]),
            Event::Data(path) => (DATA_CHANGED, path, [Some(&mut self.data), None]),
            Event::Children(path) => (CHILDREN_CHANGED, path, [None, Some(&mut self.children)]),
            // A connection that watches both is notified once.
            Event::Deleted(path) => (DELETED, path, [Some(&mut self.data), Some(&mut self.children)]),
        };
        let mut told = BTreeSet::new();
        for table in tables.into_iter().flatten() {
            told.extend(table.remove(path).unwrap_or_default());
        }
        told.into_iter().map(|connection| (connection, Notification { kind, path: path.clone() })).collect()
    }
}
