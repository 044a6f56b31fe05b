//! Sessions: beginning, connections and end (`ZooKeeperServer.java`, `SessionTrackerImpl.java`, `ExpiryQueue.java`).
//! Times are milliseconds since some moment before the server started.
//!
//! A session ends at the first whole tick more than its timeout after it was last heard from: between one timeout, and
//! one timeout plus a tick, later.

use super::words::ConnectionId;
use protocols::{service::zookeeper::TICK, types::MILLISECOND};
use std::collections::BTreeMap;

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
