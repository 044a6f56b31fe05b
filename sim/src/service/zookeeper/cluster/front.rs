//! A member's clients: connections, ordered requests, and the expiry of sessions.

use super::{
    super::{
        model::{Connected, ConnectionId, Out, bucket_after},
        wire::{AGE_MS, encode},
    },
    replica::{Done, Entry, Front, Replica, lock},
};
use crate::{
    service::{
        Dropped,
        cluster::{
            core::Standing,
            member::{Answered, Member},
            message::{Reader, Writer},
        },
    },
    world::env::SimEnv,
};
use protocols::{
    history::GrantEnd,
    service::zookeeper::TICK,
    types::{MILLISECOND, SECOND},
};
use protocols_clients::{
    env::{Env, Listener},
    zookeeper::{answer::Answer, call::Call, jute::Packets, wire::ConnectRequest},
};
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, Weak},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::{
        mpsc::{UnboundedReceiver, unbounded_channel},
        oneshot,
    },
};

/// A leader's question to the others.
const PING: u8 = 0;
/// A member's question to the leader.
const REVALIDATE: u8 = 1;
const SYNC: u8 = 2;
/// The timeout of a question; the connection ends before that.
const PATIENCE: u64 = 10 * SECOND;

/// The interval between attempts to join a leader, in nanoseconds.
const JOIN_AGAIN: u64 = 50 * MILLISECOND;

/// A member's front.
pub(super) struct Server {
    pub(super) env: SimEnv,
    member: Arc<Member<SimEnv>>,
    replica: Arc<Replica>,
    place: usize,
    age_ms: u64,
    numbers: Mutex<u64>,
    /// Sessions heard from since the leader last asked, with their timeouts.
    touched: Mutex<BTreeMap<i64, u64>>,
}

impl Server {
    pub(super) fn new(env: SimEnv, member: Arc<Member<SimEnv>>, replica: Arc<Replica>, place: usize) -> Arc<Server> {
        // Ticks count from some moment in the past, so their phase is random.
        let age_ms = AGE_MS + env.random() % (TICK / MILLISECOND);
        let numbers = Mutex::new((place as u64 + 1) << 56 | env.random() >> 24 << 16);
        let touched = Mutex::default();
        let server = Arc::new(Server { env, member, replica: replica.clone(), place, age_ms, numbers, touched });
        lock(&replica.model).be_member(place, server.now_ms());
        // It is set once.
        let front: Weak<dyn Front> = Arc::downgrade(&(server.clone() as Arc<dyn Front>));
        let _ = replica.server.set(front);
        server
    }

    /// Proposes an entry, and waits until this member has applied it. If that never happens, it waits until the
    /// client's connection is closed.
    async fn write(&self, entry: Entry<'_>) -> Option<Done> {
        let number = {
            let mut number = lock(&self.numbers);
            *number += 1;
            *number
        };
        let (sender, done) = oneshot::channel();
        lock(&self.replica.waiting).insert(number, sender);
        match self.member.propose(entry.encode(number), 0).await {
            true => done.await.ok(),
            false => None,
        }
    }

    /// Ends the sessions whose time is up, at every tick.
    pub(super) async fn expire(self: Arc<Self>) {
        loop {
            let left_ms = bucket_after(self.now_ms()) - self.now_ms();
            // Sub-millisecond parts are ignored.
            let mono = self.env.now().mono / MILLISECOND + left_ms;
            self.env.sleep_until(mono * MILLISECOND).await;
            self.end_overdue();
        }
    }

    /// Ends the sessions whose time is up, if this member leads. The tracker has its own thread
    /// (`SessionTrackerImpl.java: run`), so when a stopped process resumes, it runs before the data in the sockets is
    /// read.
    fn end_overdue(&self) {
        if self.replica.serves() == Some(true) {
            let overdue = lock(&self.replica.model).take_expired(self.now_ms());
            for id in overdue {
                // Only as its own proposal, without forwarding: a former leader has no followers.
                self.member.propose_leading(Entry::End(id, GrantEnd::Expired).encode(0));
            }
        }
    }

    /// While this member leads, pings the others twice per tick. They answer with the sessions heard from since
    /// (`Leader.java: lead`, `Learner.java: ping`); a leader that was stopped has received no answers.
    pub(super) async fn ping(self: Arc<Self>) {
        self.env.sleep(self.env.random() % (TICK / 2)).await;
        loop {
            self.env.sleep(TICK / 2).await;
            if self.replica.serves() != Some(true) {
                continue;
            }
            for follower in (0..self.member.members()).filter(|member| *member != self.place) {
                let (server, mut body) = (self.clone(), Writer::default());
                body.byte(PING).number(self.place as u64);
                self.env.spawn_detached(async move {
                    // Lost answers are not retried: the next ping collects what came since.
                    let answer = server.env.timeout(PATIENCE, server.member.ask(follower, body.0)).await.flatten();
                    server.hear_of(&answer.unwrap_or_default());
                });
            }
        }
    }

    /// The sessions heard from, for the leader that this member follows.
    fn signs_of_life(&self, leader: u64) -> Option<Vec<u8>> {
        let follows = self.replica.serves() == Some(false) && self.replica.leader() == usize::try_from(leader).ok();
        follows.then(|| {
            let mut answer = Writer::default();
            for (id, timeout_ms) in std::mem::take(&mut *lock(&self.touched)) {
                answer.number(id.cast_unsigned()).number(timeout_ms);
            }
            answer.0
        })
    }

    /// Renews the sessions that a follower heard from.
    fn hear_of(&self, signs: &[u8]) {
        self.end_overdue();
        if self.replica.serves() == Some(true) {
            let (mut signs, now_ms, mut model) = (Reader(signs), self.now_ms(), lock(&self.replica.model));
            while let (Some(id), Some(timeout_ms)) = (signs.number(), signs.number()) {
                model.touch_session(id.cast_signed(), timeout_ms, now_ms);
            }
        }
    }

    /// Renews a session that was heard from.
    fn touch(&self, connection: ConnectionId) {
        self.end_overdue();
        let now_ms = self.now_ms();
        let touched = lock(&self.replica.model).touch_here(connection, now_ms);
        if let Some((id, timeout_ms)) = touched.filter(|_| self.replica.serves() == Some(false)) {
            lock(&self.touched).insert(id, timeout_ms);
        }
    }

    /// Answers another member: the leader, or one that considers this one the leader.
    async fn answer(&self, body: &[u8]) -> Option<Vec<u8>> {
        let mut body = Reader(body);
        let kind = body.byte()?;
        if kind == PING {
            return self.signs_of_life(body.number()?);
        }
        if self.replica.serves() != Some(true) {
            return None;
        }
        self.end_overdue();
        let mut answer = Writer::default();
        match kind {
            REVALIDATE => {
                let (id, timeout_ms) = (body.number()?.cast_signed(), body.number()?);
                let goes_on = lock(&self.replica.model).touch_session(id, timeout_ms, self.now_ms());
                answer.byte(u8::from(goes_on));
            }
            SYNC => {
                // Waits until all its entries are committed, without confirming that it still leads.
                let end = self.member.end();
                self.member.wait_applied(end).await;
                answer.number(end);
            }
            _ => return None,
        }
        Some(answer.0)
    }

    /// Asks the leader; `None` if there is none.
    async fn ask_leader(&self, body: Vec<u8>) -> Option<Vec<u8>> {
        let leader = self.replica.leader()?;
        match leader == self.place {
            true => self.answer(&body).await,
            false => self.env.timeout(PATIENCE, self.member.ask(leader, body)).await.flatten(),
        }
    }

    /// Closes a candidate's session or deletes its nodes, from outside.
    pub(super) fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped) {
        for (path, owner) in lock(&self.replica.model).nodes_of(candidate, group) {
            let entry = match what {
                Dropped::Lease => Entry::End(owner, GrantEnd::Lost),
                Dropped::Key => Entry::Delete(&path),
                // Tokens are transaction ids, so there is no counter to lose.
                Dropped::Counter => continue,
            };
            let (member, entry) = (self.member.clone(), entry.encode(0));
            // Faults strike in the world's time, when no code of a process can run.
            self.env.spawn_detached(async move {
                member.propose_leading(entry);
            });
        }
    }

    /// Serves clients until the process ends.
    ///
    /// # Errors
    /// The port is taken, or the socket closed.
    pub(super) async fn serve(self: Arc<Self>, port: u16) -> io::Result<()> {
        let mut listener = self.env.listen(port).await?;
        let mut connections: Vec<(Weak<()>, <SimEnv as Env>::Task)> = Vec::new();
        loop {
            let stream = listener.accept().await?;
            connections.retain(|(alive, _)| alive.strong_count() > 0);
            let alive = Arc::new(());
            let watch = Arc::downgrade(&alive);
            let server = self.clone();
            let task = self.env.spawn(async move {
                let _alive = alive;
                // Nobody needs to know how the connection ended.
                let _ = server.connection(stream).await;
            });
            connections.push((watch, task));
        }
    }

    async fn connection(self: Arc<Self>, stream: <SimEnv as Env>::Stream) -> io::Result<()> {
        let (sender, mut outs) = unbounded_channel();
        let id = lock(&self.replica.model).open();
        lock(&self.replica.senders).insert(id, sender);
        let _open = Open { server: &self, id };
        let (requests, incoming) = unbounded_channel();
        let _worker = self.env.spawn(self.clone().work(id, incoming));
        let (mut reading, mut writing) = tokio::io::split(stream);
        let (mut packets, mut bytes) = (Packets::default(), vec![0; 4096]);
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
                        // A ping counts on arrival, whatever is queued before it.
                        self.touch(id);
                        let _ = requests.send(packet.to_vec());
                    }
                }
            }
        }
    }

    /// Handles a connection's requests in order.
    async fn work(self: Arc<Self>, id: ConnectionId, mut requests: UnboundedReceiver<Vec<u8>>) {
        let close = || self.replica.with(|model| model.say(id, Out::Close));
        let Some(first) = requests.recv().await else { return };
        let session = match ConnectRequest::read(&first) {
            Ok(request) => self.connect(id, &request).await,
            Err(_) => None,
        };
        let Some(session) = session else { return close() };
        while let Some(packet) = requests.recv().await {
            let Ok((xid, op, body)) = Call::read(&packet) else { return close() };
            let is_write = match &body {
                Ok(call) => call.is_write(),
                // A malformed request is refused when it is executed.
                Err(_) => true,
            };
            let ends = matches!(body, Ok(Call::CloseSession));
            let done = match body {
                Ok(Call::CloseSession) => self.write(Entry::End(session, GrantEnd::Released)).await,
                Ok(Call::Sync(path)) => self.sync(path).await,
                _ if is_write => {
                    let wall_ms = i64::try_from(self.env.now().wall / MILLISECOND).unwrap_or(i64::MAX);
                    self.write(Entry::Write(session, wall_ms, &packet)).await
                }
                _ => {
                    self.replica.with(|model| model.read_on(id, session, (xid, op), body));
                    continue;
                }
            };
            // Without an answer, the connection is closed by the code that notices the loss of the leader.
            let Some((zxid, answer)) = done else { return };
            self.replica.with(|model| model.say(id, Out::Reply { xid, zxid, answer }));
            if ends {
                return close();
            }
        }
    }

    /// Handles a client's request for a new or known session; returns the session it got.
    async fn connect(&self, id: ConnectionId, request: &ConnectRequest) -> Option<i64> {
        self.replica.serves()?;
        let timeout_ms = lock(&self.replica.model).admit(request)?;
        let session = match request.session {
            0 => {
                let session = lock(&self.replica.model).next_session();
                let _begun = self.write(Entry::Begin(session, timeout_ms)).await?;
                Some(session)
            }
            known => {
                let mut body = Writer::default();
                body.byte(REVALIDATE).number(known.cast_unsigned()).number(timeout_ms);
                let goes_on = self.ask_leader(body.0).await?.first() == Some(&1);
                Some(known).filter(|_| goes_on)
            }
        };
        let connected = self.replica.with(|model| model.attach(id, session, timeout_ms, request));
        self.touch(id);
        session.filter(|_| connected == Connected::Yes)
    }

    async fn sync(&self, path: String) -> Option<Done> {
        let end = Reader(&self.ask_leader(vec![SYNC]).await?).number()?;
        self.member.wait_applied(end).await;
        Some((lock(&self.replica.model).zxid(), Ok(Answer::Path(path))))
    }
}

impl Front for Server {
    fn place(&self) -> usize {
        self.place
    }

    fn now_ms(&self) -> u64 {
        self.env.now().mono / MILLISECOND + self.age_ms
    }

    fn join(self: Arc<Self>, standing: Standing) {
        let env = self.env;
        env.spawn_detached(async move {
            while self.replica.stands_so(standing) {
                let end = self.ask_leader(vec![SYNC]).await;
                if let Some(end) = end.and_then(|end| Reader(&end).number()) {
                    self.member.wait_applied(end).await;
                    return self.replica.joined(standing);
                }
                self.env.sleep(JOIN_AGAIN).await;
            }
        });
    }

    fn answer_to(self: Arc<Self>, body: Vec<u8>) -> Answered {
        Box::pin(async move { self.answer(&body).await })
    }
}

/// Forgets a connection when its task ends, however it ends.
struct Open<'a> {
    server: &'a Server,
    id: ConnectionId,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        lock(&self.server.replica.senders).remove(&self.id);
        lock(&self.server.replica.model).close(self.id);
    }
}
