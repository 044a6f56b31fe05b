//! The differences if the model is one member's copy: sessions begin and end through the log, and only the leader knows
//! when they end.

use super::{
    session::Connected,
    sessions::{Session, TICK_MS, bucket_after, password},
    state::Model,
    words::{ConnectionId, Out, code},
};
use protocols_clients::zookeeper::{
    answer::Answer,
    call::{Body, Call},
    wire::{ConnectRequest, ConnectResponse, PING},
};

/// The end of a session, if it is unknown or already under way.
const NEVER: u64 = u64::MAX;

impl Model {
    /// Makes this the copy of member `place`, which numbers sessions by itself.
    pub fn be_member(&mut self, place: usize, now_ms: u64) {
        self.sessions.next = ((now_ms << 24) >> 8) as i64 | (place as i64 + 1) << 56;
    }

    /// A leader's transaction ids begin with its epoch.
    pub fn begin_epoch(&mut self, epoch: u64) {
        self.set_zxid((epoch << 32).cast_signed());
    }

    /// Restarts every session's timeout if this member leads at time `now_ms`; otherwise (`None`) it does not know when
    /// sessions end.
    pub fn track(&mut self, now_ms: Option<u64>) {
        for session in self.sessions.sessions.values_mut() {
            session.expires_ms = now_ms.map_or(NEVER, |now_ms| bucket_after(now_ms + session.timeout_ms));
        }
    }

    /// The session's connection stays open when the session ends.
    pub fn let_go(&mut self, id: i64) {
        let connection = self.sessions.sessions.get_mut(&id).and_then(|session| session.connection.take());
        if let Some(connection) = connection {
            self.sessions.of_connection.remove(&connection);
            self.watches.forget(connection);
        }
    }

    /// Queues a message for a connection.
    pub fn say(&mut self, connection: ConnectionId, out: Out) {
        self.outbox.push((connection, out));
    }

    pub fn begin_session(&mut self, id: i64, timeout_ms: u64, now_ms: Option<u64>) {
        self.next_zxid();
        let expires_ms = now_ms.map_or(NEVER, |now_ms| bucket_after(now_ms + timeout_ms));
        self.sessions.sessions.insert(id, Session { timeout_ms, expires_ms, connection: None });
    }

    /// The sessions whose time is up; their ends are then under way.
    pub fn take_expired(&mut self, now_ms: u64) -> Vec<i64> {
        let due = self.sessions.sessions.iter_mut().filter(|(_, session)| session.expires_ms <= now_ms);
        due.map(|(id, session)| {
            session.expires_ms = NEVER;
            *id
        })
        .collect()
    }

    /// The leader hears of a session; returns whether the session continues.
    pub fn touch_session(&mut self, id: i64, timeout_ms: u64, now_ms: u64) -> bool {
        let session = self.sessions.sessions.get_mut(&id).filter(|session| session.expires_ms != NEVER);
        session.is_some_and(|session| {
            (session.timeout_ms, session.expires_ms) = (timeout_ms, bucket_after(now_ms + timeout_ms));
            true
        })
    }

    /// The member's own client has sent something on a session; returns the session and its timeout.
    pub fn touch_here(&mut self, connection: ConnectionId, now_ms: u64) -> Option<(i64, u64)> {
        let id = *self.sessions.of_connection.get(&connection)?;
        let timeout_ms = self.sessions.sessions.get(&id)?.timeout_ms;
        // Only a leader extends sessions.
        self.touch_session(id, timeout_ms, now_ms);
        Some((id, timeout_ms))
    }

    /// The timeout granted to a client; `None` if the client has seen newer state than this member's, and is turned
    /// away.
    pub fn admit(&self, request: &ConnectRequest) -> Option<u64> {
        let asked = u64::try_from(request.timeout_ms).unwrap_or(0);
        (request.last_zxid <= self.zxid()).then_some(asked.clamp(2 * TICK_MS, 20 * TICK_MS))
    }

    /// The id of a new session.
    pub fn next_session(&mut self) -> i64 {
        self.sessions.next += 1;
        self.sessions.next - 1
    }

    /// Attaches a connection to a session that exists and whose password the client knows.
    pub fn attach(
        &mut self,
        connection: ConnectionId,
        session: Option<i64>,
        timeout_ms: u64,
        request: &ConnectRequest,
    ) -> Connected {
        let id = session.filter(|id| request.session == 0 || request.password == password(*id));
        let Some(id) = id else {
            let over = ConnectResponse { timeout_ms: 0, session: 0, password: vec![0; 16] };
            self.outbox.extend([(connection, Out::Connected(over)), (connection, Out::Close)]);
            return Connected::Expired;
        };
        // A session that the leader knows will reach this member, too.
        let Some(known) = self.sessions.sessions.get_mut(&id) else { return Connected::Ahead };
        if let Some(before) = known.connection.replace(connection) {
            self.sessions.of_connection.remove(&before);
            self.watches.forget(before);
            self.outbox.push((before, Out::Close));
        }
        self.sessions.of_connection.insert(connection, id);
        let granted = ConnectResponse { timeout_ms: timeout_ms as i32, session: id, password: password(id).to_vec() };
        self.outbox.push((connection, Out::Connected(granted)));
        Connected::Yes
    }

    /// Executes a session's write, as sent by its client.
    ///
    /// # Errors
    /// The error code.
    pub fn write_of(&mut self, session: i64, wall_ms: i64, packet: &[u8]) -> Result<Answer, i32> {
        let Ok((_, op, body)) = Call::read(packet) else { return Err(code::MARSHALLING_ERROR) };
        if !self.sessions.sessions.contains_key(&session) {
            self.next_zxid();
            return Err(code::SESSION_EXPIRED);
        }
        match body {
            Err(_) => self.unreadable(op),
            Ok(call) => self.carry_out(0, session, wall_ms, call),
        }
    }

    /// Answers a read or ping on a connection from this copy.
    pub fn read_on(&mut self, connection: ConnectionId, session: i64, (xid, op): (i32, i32), body: Body) {
        let (xid, answer) = match body {
            Err(_) => (xid, self.unreadable(op)),
            Ok(Call::Ping) => (PING, Ok(Answer::Nothing)),
            Ok(call) => (xid, self.carry_out(connection, session, 0, call)),
        };
        let zxid = self.zxid();
        self.say(connection, Out::Reply { xid, zxid, answer });
    }

    /// Deletes a node, if it exists, from outside.
    pub fn drop_node(&mut self, path: &str) {
        let zxid = self.next_zxid();
        if self.tree.get(path).is_some() {
            self.delete(path, zxid);
            self.tree.commit();
        }
    }
}
