//! A server on any [`Env`]: one task per connection, and the scan for expired sessions.

use super::model::{At, Connected, ConnectionId, Model, Out, bucket_after};
use crate::service::grants;
use protocols::{
    history::GrantEnd,
    service::zookeeper::TICK,
    types::{MILLISECOND, SECOND},
};
use protocols_clients::{
    env::{Env, Listener},
    zookeeper::{answer::ReplyHeader, call::Call, jute::Packets, wire::ConnectRequest},
};
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::{
        Notify,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    },
};

/// A server's state, including that of its process.
#[derive(Default)]
pub struct Server {
    /// The state that outlives the process.
    pub(super) model: Mutex<Model>,
    /// Queues of outgoing messages by connection.
    senders: Mutex<BTreeMap<ConnectionId, UnboundedSender<Out>>>,
    /// Notified when the model was changed from outside.
    pub(super) changed: Notify,
}

impl Server {
    /// A server with this state on disk.
    pub(super) fn of(model: Model) -> Server {
        Server { model: Mutex::new(model), ..Server::default() }
    }
}

/// How long the server has run before its process's clock begins, in milliseconds.
pub(super) const AGE_MS: u64 = 3_600 * (SECOND / MILLISECOND);

/// Serves until the future is dropped, which breaks every connection.
///
/// # Errors
/// The port is taken, or the socket closed.
pub async fn serve<E: Env>(env: E, port: u16, server: Arc<Server>) -> io::Result<()> {
    // Ticks count from some moment in the past, so their phase is random.
    let age_ms = AGE_MS + env.random() % (TICK / MILLISECOND);
    let serving = Serving { env: env.clone(), server, age_ms };
    let mut listener = env.listen(port).await?;
    serving.senders().clear();
    serving.model().restart(serving.now_ms());
    let _expiry = env.spawn(serving.clone().expiry());
    let changing = serving.clone();
    let _changes = env.spawn(async move {
        loop {
            changing.server.changed.notified().await;
            changing.apply(GrantEnd::Lost, |_| ());
        }
    });
    let mut connections: Vec<(Weak<()>, E::Task)> = Vec::new();
    loop {
        let stream = listener.accept().await?;
        connections.retain(|(alive, _)| alive.strong_count() > 0);
        let alive = Arc::new(());
        let watch = Arc::downgrade(&alive);
        let serving = serving.clone();
        let task = env.spawn(async move {
            let _alive = alive;
            // Nobody needs to know how the connection ended.
            let _ = serving.connection(stream).await;
        });
        connections.push((watch, task));
    }
}

struct Serving<E> {
    env: E,
    server: Arc<Server>,
    age_ms: u64,
}

impl<E: Clone> Clone for Serving<E> {
    fn clone(&self) -> Self {
        Serving { env: self.env.clone(), server: self.server.clone(), age_ms: self.age_ms }
    }
}

impl<E: Env> Serving<E> {
    fn model(&self) -> MutexGuard<'_, Model> {
        self.server.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn senders(&self) -> MutexGuard<'_, BTreeMap<ConnectionId, UnboundedSender<Out>>> {
        self.server.senders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        self.env.now().mono / MILLISECOND + self.age_ms
    }

    /// Changes the model, sends the resulting messages, and reports who then leads; `why` says how a leadership that
    /// this ends has ended.
    fn apply<T>(&self, why: GrantEnd, action: impl FnOnce(&mut Model) -> T) -> T {
        let mut model = self.model();
        let zxid = model.zxid();
        let answer = action(&mut model);
        if model.zxid() != zxid {
            grants::tell_each(why, |group| model.holder(group), |path| model.holder_of(path));
        }
        let senders = self.senders();
        for (connection, out) in model.take_outbox() {
            if let Some(sender) = senders.get(&connection) {
                // The client's own task notices that it is gone.
                let _ = sender.send(out);
            }
        }
        answer
    }

    async fn expiry(self) {
        loop {
            let due = bucket_after(self.now_ms());
            let left_ms = due - self.now_ms();
            // Sub-millisecond parts are ignored.
            let mono = self.env.now().mono / MILLISECOND + left_ms;
            self.env.sleep_until(mono * MILLISECOND).await;
            let now_ms = self.now_ms();
            self.apply(GrantEnd::Expired, |model| model.expire(now_ms));
        }
    }

    async fn connection(&self, stream: E::Stream) -> io::Result<()> {
        let (sender, outs) = unbounded_channel();
        let id = self.model().open();
        self.senders().insert(id, sender);
        let _open = Open { serving: self, id };
        self.converse(id, stream, outs).await
    }

    async fn converse(&self, id: ConnectionId, stream: E::Stream, mut outs: UnboundedReceiver<Out>) -> io::Result<()> {
        let (mut reading, mut writing) = tokio::io::split(stream);
        let (mut packets, mut bytes, mut established) = (Packets::default(), vec![0; 4096], false);
        loop {
            tokio::select! {
                biased;
                out = outs.recv() => match out.as_ref().map(encode) {
                    Some(Some(packet)) => writing.write_all(&packet).await?,
                    _ => return writing.shutdown().await,
                },
                count = reading.read(&mut bytes) => {
                    let count = count?;
                    if count == 0 {
                        return Ok(());
                    }
                    packets.feed(&bytes[..count]);
                    while let Some(packet) = packets.next_packet()? {
                        established = self.packet(id, established, packet)?;
                    }
                }
            }
        }
    }

    /// Handles a packet; returns whether the connection then has a session.
    fn packet(&self, id: ConnectionId, established: bool, packet: &[u8]) -> io::Result<bool> {
        let now_ms = self.now_ms();
        if !established {
            let request = ConnectRequest::read(packet)?;
            let connected = self.apply(GrantEnd::Released, |model| model.connect(id, now_ms, &request));
            return Ok(connected == Connected::Yes);
        }
        let (xid, op, body) = Call::read(packet)?;
        let wall_ms = i64::try_from(self.env.now().wall / MILLISECOND).unwrap_or(i64::MAX);
        self.apply(GrantEnd::Released, |model| model.request(id, At { now_ms, wall_ms }, (xid, op), body));
        Ok(true)
    }
}

/// Forgets a connection when its task ends, however it ends.
struct Open<'a, E: Env> {
    serving: &'a Serving<E>,
    id: ConnectionId,
}

impl<E: Env> Drop for Open<'_, E> {
    fn drop(&mut self) {
        self.serving.senders().remove(&self.id);
        self.serving.model().close(self.id);
    }
}

/// Encodes a message; `None` if the connection must be closed.
pub(super) fn encode(out: &Out) -> Option<Vec<u8>> {
    match out {
        Out::Connected(response) => Some(response.packet()),
        Out::Reply { xid, zxid, answer } => {
            let header = ReplyHeader { xid: *xid, zxid: *zxid, error: *answer.as_ref().err().unwrap_or(&0) };
            Some(header.packet(answer.as_ref().ok()))
        }
        Out::Notification(notification) => Some(notification.packet()),
        Out::Close => None,
    }
}
