//! Watches: each tells once (`watch/WatchManager.java: triggerWatch`, `DataTree.java: setWatches`).

use super::{ConnectionId, Model, Out};
use protocols_clients::zookeeper::wire::{Notification, Watches};
use std::collections::{BTreeMap, BTreeSet};

/// Something happened to a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Created(String),
    Deleted(String),
    Data(String),
    Children(String),
}

const CREATED: i32 = 1;
const DELETED: i32 = 2;
const DATA_CHANGED: i32 = 3;
const CHILDREN_CHANGED: i32 = 4;

type Table = BTreeMap<String, BTreeSet<ConnectionId>>;

/// Who watches what.
#[derive(Debug, Default)]
pub(super) struct WatchManager {
    /// Nodes that are or may come.
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

    /// The connection is gone.
    pub(super) fn forget(&mut self, connection: ConnectionId) {
        for table in [&mut self.data, &mut self.children] {
            table.retain(|_, watchers| {
                watchers.remove(&connection);
                !watchers.is_empty()
            });
        }
    }

    /// Nobody is connected.
    pub(super) fn clear(&mut self) {
        *self = WatchManager::default();
    }

    /// Who is to be told what of this.
    fn trigger(&mut self, event: &Event) -> Vec<(ConnectionId, Notification)> {
        let (kind, path, tables) = match event {
            Event::Created(path) => (CREATED, path, [Some(&mut self.data), None]),
            Event::Data(path) => (DATA_CHANGED, path, [Some(&mut self.data), None]),
            Event::Children(path) => (CHILDREN_CHANGED, path, [None, Some(&mut self.children)]),
            // Whoever watches both is told once.
            Event::Deleted(path) => (DELETED, path, [Some(&mut self.data), Some(&mut self.children)]),
        };
        let mut told = BTreeSet::new();
        for table in tables.into_iter().flatten() {
            told.extend(table.remove(path).unwrap_or_default());
        }
        told.into_iter().map(|connection| (connection, Notification { kind, path: path.clone() })).collect()
    }
}

impl Model {
    /// Tells whoever watches.
    pub(super) fn tell(&mut self, events: &[Event]) {
        for event in events {
            let told = self.watches.trigger(event);
            self.outbox.extend(told.into_iter().map(|(connection, told)| (connection, Out::Notification(told))));
        }
    }

    /// Sets the watches of a connection before, and tells at once of what they have missed.
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
