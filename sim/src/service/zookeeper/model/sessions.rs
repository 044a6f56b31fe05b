//! The server's lists: its sessions, with their beginning, connections and end (`ZooKeeperServer.java`,
//! `SessionTrackerImpl.java`, `ExpiryQueue.java`), and its watches, each of which fires once (`watch/WatchManager.java:
//! triggerWatch`).
//!
//! A session ends at the first whole tick more than its timeout after it was last heard from: between one timeout, and
//! one timeout plus a tick, later.

use super::words::{ConnectionId, Event};
use protocols::{service::zookeeper::TICK, types::MILLISECOND};
use protocols_clients::zookeeper::answer::Notification;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const TICK_MS: u64 = TICK / MILLISECOND;

/// The first whole tick after `ms`.
pub fn bucket_after(ms: u64) -> u64 {
    (ms / TICK_MS + 1) * TICK_MS
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Session {
    pub(super) timeout_ms: u64,
    pub(super) expires_ms: u64,
    pub(super) connection: Option<ConnectionId>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sessions {
    pub(super) sessions: BTreeMap<i64, Session>,
    pub(super) next: i64,
    pub(super) of_connection: BTreeMap<ConnectionId, i64>,
}

impl Sessions {
    pub(super) fn disconnect(&mut self, connection: ConnectionId) {
        let session = self.of_connection.remove(&connection).and_then(|id| self.sessions.get_mut(&id));
        if let Some(session) = session.filter(|session| session.connection == Some(connection)) {
            session.connection = None;
        }
    }
}

/// A session's password: 16 bytes from Java's random generator (`ZooKeeperServer.java: generatePasswd`).
pub(super) fn password(session: i64) -> [u8; 16] {
    const SECRET: i64 = 0xb341_5c00;
    const MULTIPLIER: i64 = 0x5_deec_e66d;
    const MASK: i64 = (1 << 48) - 1;
    let mut state = (session ^ SECRET ^ MULTIPLIER) & MASK;
    let mut bytes = [0; 16];
    for four in bytes.chunks_exact_mut(4) {
        state = state.wrapping_mul(MULTIPLIER).wrapping_add(0xb) & MASK;
        four.copy_from_slice(&((state >> 16) as i32).to_le_bytes());
    }
    bytes
}

// The watches; each fires once (`watch/WatchManager.java: triggerWatch`).

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
