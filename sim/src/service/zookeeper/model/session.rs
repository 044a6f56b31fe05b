//! Sessions: their beginning, their connections, and their end (`ZooKeeperServer.java`, `SessionTrackerImpl.java`,
//! `ExpiryQueue.java`). Times are milliseconds since some moment before the server started.
//!
//! A session's time is up at the first whole tick that comes more than its timeout after its last sign of life: between one
//! timeout, and one timeout and a tick, later.

use super::{ConnectionId, Model, Out};
use protocols::{service::zookeeper::TICK, types::MILLISECOND};
use protocols_clients::zookeeper::wire::{ConnectRequest, ConnectResponse};
use std::collections::BTreeMap;

const TICK_MS: u64 = TICK / MILLISECOND;

/// The first whole tick after that time.
pub fn bucket_after(ms: u64) -> u64 {
    (ms / TICK_MS + 1) * TICK_MS
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Session {
    timeout_ms: u64,
    expires_ms: u64,
    connection: Option<ConnectionId>,
}

/// The sessions that there are.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    sessions: BTreeMap<i64, Session>,
    next: i64,
    of_connection: BTreeMap<ConnectionId, i64>,
}

impl Sessions {
    pub(super) fn disconnect(&mut self, connection: ConnectionId) {
        let session = self.of_connection.remove(&connection).and_then(|id| self.sessions.get_mut(&id));
        if let Some(session) = session.filter(|session| session.connection == Some(connection)) {
            session.connection = None;
        }
    }
}

/// What became of a session request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Connected {
    /// The connection has a session.
    Yes,
    /// The session is over, and the client told so.
    Expired,
    /// The client has seen what this server has not: the connection is to be closed without a word.
    Ahead,
}

impl Model {
    /// A process of the server starts: nobody is connected, and every session has its whole timeout from now on.
    pub fn restart(&mut self, now_ms: u64) {
        self.watches.clear();
        self.outbox.clear();
        self.sessions.of_connection.clear();
        for session in self.sessions.sessions.values_mut() {
            session.connection = None;
            session.expires_ms = bucket_after(now_ms + session.timeout_ms);
        }
        // As the server makes them, of its clock and its number, which is 1.
        self.sessions.next = ((now_ms << 24) >> 8) as i64 | 1 << 56;
    }

    /// A client asks for a session, new or known, on a connection.
    pub fn connect(&mut self, connection: ConnectionId, now_ms: u64, request: &ConnectRequest) -> Connected {
        if request.last_zxid > self.zxid {
            self.outbox.push((connection, Out::Close));
            return Connected::Ahead;
        }
        let asked = u64::try_from(request.timeout_ms).unwrap_or(0);
        let timeout_ms = asked.clamp(2 * TICK_MS, 20 * TICK_MS);
        let id = if request.session == 0 {
            let id = self.sessions.next;
            self.sessions.next += 1;
            self.next_zxid();
            let expires_ms = bucket_after(now_ms + timeout_ms);
            self.sessions.sessions.insert(id, Session { timeout_ms, expires_ms, connection: None });
            id
        } else {
            request.session
        };
        let known = self.sessions.sessions.get_mut(&id);
        let known = known.filter(|_| request.session == 0 || request.password == password(id));
        let Some(session) = known else {
            let over = ConnectResponse { timeout_ms: 0, session: 0, password: vec![0; 16] };
            self.outbox.extend([(connection, Out::Connected(over)), (connection, Out::Close)]);
            protocols::mark!(ZookeeperServerSessionOver);
            return Connected::Expired;
        };
        if let Some(before) = session.connection.replace(connection) {
            self.sessions.of_connection.remove(&before);
            self.watches.forget(before);
            self.outbox.push((before, Out::Close));
        }
        (session.timeout_ms, session.expires_ms) = (timeout_ms, bucket_after(now_ms + timeout_ms));
        self.sessions.of_connection.insert(connection, id);
        let granted = ConnectResponse { timeout_ms: timeout_ms as i32, session: id, password: password(id).to_vec() };
        self.outbox.push((connection, Out::Connected(granted)));
        Connected::Yes
    }

    /// The session of a connection, which has given a sign of life.
    pub(super) fn touch(&mut self, connection: ConnectionId, now_ms: u64) -> Option<i64> {
        let id = *self.sessions.of_connection.get(&connection)?;
        let session = self.sessions.sessions.get_mut(&id)?;
        session.expires_ms = bucket_after(now_ms + session.timeout_ms);
        Some(id)
    }

    /// Ends every session whose time is up.
    pub fn expire(&mut self, now_ms: u64) {
        let due = self.sessions.sessions.iter().filter(|(_, session)| session.expires_ms <= now_ms);
        let due: Vec<i64> = due.map(|(id, _)| *id).collect();
        for id in due {
            protocols::mark!(ZookeeperServerExpired);
            self.end_session(id);
        }
    }

    /// A session is over: its nodes go in one transaction, and its connection is closed.
    pub(super) fn end_session(&mut self, id: i64) {
        let zxid = self.next_zxid();
        for path in self.tree.of_session(id) {
            self.delete(&path, zxid);
        }
        self.tree.commit();
        let Some(session) = self.sessions.sessions.remove(&id) else { return };
        if let Some(connection) = session.connection {
            self.sessions.of_connection.remove(&connection);
            self.watches.forget(connection);
            self.outbox.push((connection, Out::Close));
        }
    }
}

/// A session's password: 16 bytes of Java's generator (`ZooKeeperServer.java: generatePasswd`).
fn password(session: i64) -> [u8; 16] {
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
