//! A session, and its successive connections.
//!
//! Reference: apache/zookeeper 3.8.0, `ClientCnxn.java: SendThread` (`run`, `startConnect`, `primeConnection`,
//! `sendPing`, `readResponse`, `onConnected`, `cleanAndNotifyState`), `ClientCnxnSocketNIO.java: doIO`,
//! `client/StaticHostProvider.java: next`. With T the granted session timeout: a connection ends after 2/3 T of silence
//! from the server; a ping goes out after 1/3 T without another packet; an attempt has T divided by the number of
//! servers for the connect, and as long again for the answer to the session request. Every attempt but the first is
//! preceded by a pause of up to a second, plus a second if the server is the one connected last, so a client of a
//! single server is away for one to two seconds. It learns that its session has expired only from the server, after
//! reconnecting.
//!
//! If packets arrive while the process is paused for longer than 2/3 T, the connection is lost all the same: the Java
//! client reads a packet's length first, and checks the clock before it reads the rest.

use super::{
    answer::{Answer, Notification, ReplyHeader},
    call::{Acl, Call, Watches},
    calls,
    jute::{Malformed, Packets},
    wire::{AUTH, ConnectRequest, ConnectResponse, NOTIFICATION, PING},
};
use crate::{
    env::Env,
    site::{Endpoint, Login},
};
use protocols::{
    error::Failure,
    point::Point,
    service::zookeeper::{Change, Code, Item, PING_MAX, Reply, Request},
    types::{MILLISECOND, SECOND},
};
use std::{
    collections::{BTreeSet, VecDeque},
    io,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::{
        mpsc::{Receiver, UnboundedReceiver},
        oneshot,
    },
};

/// The pause before retrying the server that was connected last (`hostProvider.next(1000)`).
const SPIN: u64 = SECOND;
/// The longest pause before any attempt but the first.
const PAUSE: u64 = SECOND;

pub(super) struct Packet {
    pub(super) request: Request,
    pub(super) answer: oneshot::Sender<Result<Reply, Failure>>,
}

/// The connection was lost with the request on it, or before the request was sent.
pub(super) fn lost() -> Failure {
    Failure::Unknown("connection loss".to_owned())
}

/// Why a connection ended.
enum Broken {
    Lost,
    /// The server has expired the session.
    Expired,
    /// The client closed the session.
    Closed,
    /// The server does not take the login.
    Refused,
}

impl From<io::Error> for Broken {
    fn from(_: io::Error) -> Self {
        Broken::Lost
    }
}

impl From<Malformed> for Broken {
    fn from(_: Malformed) -> Self {
        Broken::Lost
    }
}

/// A request under way on a connection.
enum Pending {
    Request(i32, Packet),
    /// The watches of the previous connection, being set again.
    Watches(i32),
}

pub(super) struct Session<E> {
    env: E,
    /// In the order of attempts.
    servers: Vec<Endpoint>,
    login: Option<Login>,
    /// The next server to try, and the last one connected.
    next: usize,
    last: Option<usize>,
    /// The first attempt has no pause.
    tried: bool,
    asked_ms: u32,
    granted: u64,
    id: i64,
    password: Vec<u8>,
    last_zxid: i64,
    xid: i32,
    pending: VecDeque<Pending>,
    data: BTreeSet<String>,
    exist: BTreeSet<String>,
    children: BTreeSet<String>,
}

impl<E: Env> Session<E> {
    pub(super) fn new(env: E, mut servers: Vec<Endpoint>, login: Option<Login>, timeout_ms: u32) -> Self {
        // As the library does, to spread clients over the members.
        for last in (1..servers.len()).rev() {
            servers.swap(last, (env.random() % (last as u64 + 1)) as usize);
        }
        Session {
            env,
            servers,
            login,
            next: 0,
            last: None,
            tried: false,
            asked_ms: timeout_ms,
            granted: u64::from(timeout_ms) * MILLISECOND,
            id: 0,
            password: vec![0; 16],
            last_zxid: 0,
            xid: 0,
            pending: VecDeque::new(),
            data: BTreeSet::new(),
            exist: BTreeSet::new(),
            children: BTreeSet::new(),
        }
    }

    /// Connects and reconnects until the session expires or is closed; returns which.
    pub(super) async fn run(
        mut self,
        mut packets: UnboundedReceiver<Packet>,
        mut pushes: Receiver<()>,
        give: impl Fn(Item) + Send,
    ) -> Failure {
        loop {
            let broken = match self.connected(&mut packets, &mut pushes, &give).await {
                Ok(never) => match never {},
                Err(broken) => broken,
            };
            for pending in self.pending.drain(..) {
                if let Pending::Request(_, packet) = pending {
                    // The requester may have given up.
                    let _ = packet.answer.send(Err(lost()));
                }
            }
            while let Ok(packet) = packets.try_recv() {
                let _ = packet.answer.send(Err(lost()));
            }
            match broken {
                Broken::Lost => give(Item::Disconnected),
                Broken::Expired => {
                    give(Item::Expired);
                    return Failure::Rejected("session expired".to_owned());
                }
                Broken::Closed => return Failure::Rejected("session closed".to_owned()),
                Broken::Refused => return Failure::Rejected("the login is refused".to_owned()),
            }
        }
    }

    /// The next server, after the pauses due.
    async fn next_server(&mut self) -> Endpoint {
        let place = self.next;
        self.next = (place + 1) % self.servers.len().max(1);
        if self.last == Some(place) {
            self.env.sleep(SPIN).await;
        }
        // The library counts the first server as connected even if it never was.
        self.last.get_or_insert(0);
        if self.tried {
            self.env.sleep(self.env.random() % (PAUSE / MILLISECOND) * MILLISECOND).await;
        }
        self.tried = true;
        self.servers.get(place).cloned().unwrap_or(Endpoint { host: String::new(), port: 0 })
    }

    /// Makes a connection and serves it until it ends.
    async fn connected(
        &mut self,
        packets: &mut UnboundedReceiver<Packet>,
        pushes: &mut Receiver<()>,
        give: &(impl Fn(Item) + Send),
    ) -> Result<std::convert::Infallible, Broken> {
        let server = self.next_server().await;
        let patience = self.granted / self.servers.len().max(1) as u64;
        let connect = self.env.connect(&server);
        let mut stream = self.env.timeout(patience, connect).await.ok_or(Broken::Lost)??;
        let mut input = Packets::default();
        let establish = establish(&mut stream, &mut input, self.session_request());
        let granted = self.env.timeout(patience, establish).await.ok_or(Broken::Lost)??;
        let timeout_ms = u32::try_from(granted.timeout_ms).unwrap_or(0);
        if timeout_ms == 0 {
            return Err(Broken::Expired);
        }
        self.granted = u64::from(timeout_ms) * MILLISECOND;
        (self.id, self.password) = (granted.session, granted.password);
        self.last = Some((self.next + self.servers.len().max(1) - 1) % self.servers.len().max(1));
        give(Item::Connected { session: self.id, timeout_ms });
        // What was asked of an earlier connection.
        while pushes.try_recv().is_ok() {}
        self.serve(stream, input, packets, pushes, give).await
    }

    fn session_request(&self) -> ConnectRequest {
        ConnectRequest {
            last_zxid: self.last_zxid,
            timeout_ms: i32::try_from(self.asked_ms).unwrap_or(i32::MAX),
            session: self.id,
            password: self.password.clone(),
        }
    }

    /// The request that restores the previous connection's watches, if there were any.
    fn set_watches(&mut self) -> Option<Vec<u8>> {
        let paths = |watched: &BTreeSet<String>| watched.iter().cloned().collect::<Vec<_>>();
        let (data, exist, children) = (paths(&self.data), paths(&self.exist), paths(&self.children));
        if data.is_empty() && exist.is_empty() && children.is_empty() {
            return None;
        }
        let call = Call::SetWatches(Watches { last_zxid: self.last_zxid, data, exist, children });
        self.xid += 1;
        self.pending.push_back(Pending::Watches(self.xid));
        Some(call.packet(self.xid))
    }

    /// Sends requests and handles packets.
    async fn serve(
        &mut self,
        stream: E::Stream,
        mut input: Packets,
        packets: &mut UnboundedReceiver<Packet>,
        pushes: &mut Receiver<()>,
        give: &(impl Fn(Item) + Send),
    ) -> Result<std::convert::Infallible, Broken> {
        let (mut reading, mut writing) = tokio::io::split(stream);
        let (mut heard, mut sent) = (self.env.now().mono, self.env.now().mono);
        if let Some(Login { user, password }) = &self.login {
            writing.write_all(&Call::Login(user.clone(), password.clone()).packet(AUTH)).await?;
        }
        if let Some(watches) = self.set_watches() {
            writing.write_all(&watches).await?;
        }
        let mut bytes = vec![0; 4096];
        loop {
            let now = self.env.now().mono;
            let deadline = heard + self.granted * 2 / 3;
            if now >= deadline {
                return Err(Broken::Lost);
            }
            let ping = self.ping_at(sent, now);
            if now >= ping {
                self.env.point(Point::BeforeRenew).await;
                writing.write_all(&Call::Ping.packet(PING)).await?;
                sent = self.env.now().mono;
                continue;
            }
            tokio::select! {
                biased;
                read = reading.read(&mut bytes) => {
                    let count = read?;
                    let now = self.env.now().mono;
                    if count == 0 || now >= deadline {
                        return Err(Broken::Lost);
                    }
                    input.feed(&bytes[..count]);
                    heard = now;
                    self.take(&mut input, give).await?;
                }
                packet = packets.recv() => {
                    // The channel closes only when the whole client is dropped.
                    let Some(packet) = packet else { return Err(Broken::Closed) };
                    self.xid += 1;
                    writing.write_all(&calls::call(&packet.request, self.acl()).packet(self.xid)).await?;
                    self.pending.push_back(Pending::Request(self.xid, packet));
                    sent = self.env.now().mono;
                }
                Some(()) = pushes.recv() => return Err(Broken::Lost),
                () = self.env.sleep_until(ping.min(deadline)) => {}
            }
        }
    }

    fn acl(&self) -> fn() -> Vec<Acl> {
        if self.login.is_some() { Acl::creator } else { Acl::open }
    }

    /// When a ping is due if nothing else is sent. If the library wakes more than a second after the last packet, it
    /// pings up to a second earlier.
    fn ping_at(&self, sent: u64, now: u64) -> u64 {
        let pace = self.granted / 3;
        let early = if now.saturating_sub(sent) > SECOND { SECOND } else { 0 };
        sent + pace.saturating_sub(early).min(PING_MAX)
    }

    /// Handles every complete packet.
    async fn take(&mut self, input: &mut Packets, give: &(impl Fn(Item) + Send)) -> Result<(), Broken> {
        while let Some(packet) = input.next_packet()? {
            let (header, mut rest) = ReplyHeader::read(packet)?;
            match header.xid {
                PING => self.env.point(Point::Renewed).await,
                AUTH if header.error == 0 => {}
                AUTH => return Err(Broken::Refused),
                NOTIFICATION => {
                    let Notification { kind, path } = Notification::read(&mut rest)?;
                    if let Some(change) = calls::change(kind) {
                        self.changed(&path, change);
                        give(Item::Watched { path, change });
                    }
                }
                _ => {
                    // Answers arrive in the order of the requests.
                    let pending = self.pending.pop_front().ok_or(Broken::Lost)?;
                    if header.zxid > 0 {
                        self.last_zxid = header.zxid;
                    }
                    match pending {
                        Pending::Watches(xid) if xid == header.xid => {}
                        Pending::Request(xid, packet) if xid == header.xid => {
                            let closed = packet.request == Request::CloseSession;
                            let call = calls::call(&packet.request, self.acl());
                            let answer = match header.error {
                                0 => Ok(Answer::read(call.op(), &mut rest)?),
                                code => Err(Code::from_number(code)),
                            };
                            self.answered(packet, answer)?;
                            if closed {
                                return Err(Broken::Closed);
                            }
                        }
                        other => {
                            self.pending.push_front(other);
                            return Err(Broken::Lost);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn answered(&mut self, packet: Packet, answer: Result<Answer, Code>) -> Result<(), Broken> {
        let reply = calls::answer(&packet.request, answer).ok_or(Broken::Lost)?;
        match (&packet.request, &reply) {
            (Request::Exists { path, watch: true }, Ok(Reply::Refused(Code::NoNode))) => {
                self.exist.insert(path.clone());
            }
            (_, Err(_) | Ok(Reply::Refused(_))) => {}
            (Request::Exists { path, watch: true } | Request::Get { path, watch: true, .. }, _) => {
                self.data.insert(path.clone());
            }
            (Request::Children { path, watch: true }, _) => {
                self.children.insert(path.clone());
            }
            _ => {}
        }
        // The requester may have given up.
        let _ = packet.answer.send(reply);
        Ok(())
    }

    /// Forgets the watches that have fired; each fires only once.
    fn changed(&mut self, path: &str, change: Change) {
        if change != Change::Children {
            self.data.remove(path);
            self.exist.remove(path);
        }
        if matches!(change, Change::Children | Change::Deleted) {
            self.children.remove(path);
        }
    }
}

/// Requests the session.
async fn establish<S: AsyncReadExt + AsyncWriteExt + Unpin>(
    stream: &mut S,
    input: &mut Packets,
    request: ConnectRequest,
) -> Result<ConnectResponse, Broken> {
    stream.write_all(&request.packet()).await?;
    let mut bytes = vec![0; 256];
    loop {
        if let Some(packet) = input.next_packet()? {
            return Ok(ConnectResponse::read(packet)?);
        }
        match stream.read(&mut bytes).await? {
            0 => return Err(Broken::Lost),
            count => input.feed(&bytes[..count]),
        }
    }
}
