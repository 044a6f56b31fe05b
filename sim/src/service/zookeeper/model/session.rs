//! Beginning and end of sessions (`ZooKeeperServer.java: processConnectRequest, reopenSession, finishSessionInit`), and
//! notification of watchers.

use super::{
    sessions::{CHILDREN_CHANGED, CREATED, DATA_CHANGED, DELETED, Session, TICK_MS, bucket_after, password},
    state::Model,
    words::{ConnectionId, Event, Out},
};
use protocols_clients::zookeeper::{
    answer::Notification,
    call::Watches,
    wire::{ConnectRequest, ConnectResponse},
};

/// The result of a session request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Connected {
    Yes,
    /// The session has ended; the client is told.
    Expired,
    /// The client has seen newer state than this server's: the connection must be closed without an answer.
    Ahead,
}

impl Model {
    /// The server's process starts: nobody is connected, and every session has its full timeout from now on.
    pub fn restart(&mut self, now_ms: u64) {
        self.watches.clear();
        self.outbox.clear();
        self.sessions.of_connection.clear();
        for session in self.sessions.sessions.values_mut() {
            session.connection = None;
            session.expires_ms = bucket_after(now_ms + session.timeout_ms);
        }
        // As ZooKeeper makes them, from its clock and the server's number, which is 1.
        self.sessions.next = ((now_ms << 24) >> 8) as i64 | 1 << 56;
    }

    /// Handles a client's request for a new or known session.
    pub fn connect(&mut self, connection: ConnectionId, now_ms: u64, request: &ConnectRequest) -> Connected {
        if request.last_zxid > self.zxid() {
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
            protocols::mark!("zookeeper server: a client comes back with a session that is over");
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

    /// The session of a connection that has sent something.
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
            protocols::mark!("zookeeper server: a session's time is up");
            self.end_session(id);
        }
    }

    /// Ends a session: deletes its nodes in one transaction, and closes its connection.
    pub fn end_session(&mut self, id: i64) {
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

// Notification of watchers (`DataTree.java: setWatches`).

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
