//! One server of a replicated Redis: a [`Model`] with its connections, its replicas and its primary. Without I/O and
//! without a clock: bytes for a connection wait in [`Server::take`] until they are sent.
//!
//! Reference: redis/redis 7.0.15, `src/replication.c: replicaofCommand, syncCommand, replconfCommand, replicationCron,
//! replicationFeedSlaves, refreshGoodSlavesCount`, `src/pubsub.c`, `src/multi.c`, `src/networking.c: clientCommand`,
//! `src/server.c: genRedisInfoString, processCommand`; `redis.conf`: `appendonly yes` with every write synced,
//! `repl-diskless-sync yes` with its delay of 5 s, `repl-ping-replica-period 10`, `repl-timeout 60`.
//!
//! Not modelled: the wait for a replica's first acknowledgement (its stream begins with the file); patterns, blocking
//! commands, and other commands that no sentinel, replica or election here uses.

use super::replica::{Address, Primary, Replica, Stream, encoded};
use crate::{
    service::redis::{
        model::{Model, Session},
        resp::{Protocol, Resp},
    },
    world::model::Disk,
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};
use tokio::sync::Notify;

/// How long a full copy waits for more replicas, in milliseconds (`repl-diskless-sync-delay`).
pub(super) const SYNC_DELAY_MS: i64 = 5_000;
/// The interval of pings in the stream, in milliseconds (`repl-ping-replica-period`).
pub(super) const PING_MS: i64 = 10_000;
/// Marks the end of a full copy that is streamed without a length.
pub(super) const FILE_END: &str = "0123456789abcdef0123456789abcdef01234567";

const READ_ONLY: &str = "READONLY You can't write against a read only replica.";
const NO_REPLICAS: &str = "NOREPLICAS Not enough good replicas to write.";

pub type ClientId = u64;

#[derive(Debug)]
pub(super) struct Client {
    session: Session,
    /// The commands queued for `EXEC`, after `MULTI`.
    queued: Option<Vec<Vec<Vec<u8>>>>,
    channels: BTreeSet<Vec<u8>>,
    pub(super) replica: Option<Replica>,
    /// Bytes to send.
    pub(super) out: Vec<u8>,
    /// Delayed bytes for a replica, with their due times.
    pub(super) held: VecDeque<(i64, Vec<u8>)>,
    pub(super) closing: bool,
    /// Notified when there is something to send, or the connection must be closed.
    wake: Arc<Notify>,
}

/// The replicas that must have acknowledged recently for a primary to accept writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MinReplicas {
    /// `min-replicas-to-write`; 0 disables the check.
    pub to_write: usize,
    /// `min-replicas-max-lag`, in milliseconds.
    pub max_lag_ms: i64,
}

#[derive(Debug)]
pub struct Server {
    pub(super) model: Model,
    pub(super) address: Address,
    /// New at every start.
    pub(super) run_id: String,
    pub(super) stream: Stream,
    /// The primary that it follows, unless it is one itself, and how often that has changed.
    pub(super) primary: Option<Primary>,
    pub(super) follows: u64,
    /// The primary that it follows after a restart (`CONFIG REWRITE`).
    saved: Option<Address>,
    min_replicas: MinReplicas,
    /// How long the server delays writes to its replicas, apart from the network, in milliseconds.
    pub(super) lag_ms: i64,
    pub(super) clients: BTreeMap<ClientId, Client>,
    last_client: ClientId,
    pub(super) pinged_at_ms: i64,
    /// The session for commands from the primary.
    pub(super) applying: Session,
    /// Generates ids of 40 hexadecimal digits.
    pub(super) ids: fn(&mut u64) -> String,
    pub(super) id_state: u64,
    /// Whether its disk is a copy, so that its next ids must differ from the original's.
    copied: bool,
}

impl Server {
    /// An unused server, which follows `primary`, if given.
    pub fn new(address: Address, primary: Option<Address>, ids: u64) -> Self {
        let mut model = Model::new();
        model.replicates = true;
        let applying = model.open();
        let mut server = Server {
            model,
            address,
            run_id: String::new(),
            stream: Stream::new(String::new()),
            primary: None,
            follows: 0,
            saved: primary,
            min_replicas: MinReplicas::default(),
            lag_ms: 0,
            clients: BTreeMap::new(),
            last_client: 0,
            pinged_at_ms: 0,
            applying,
            ids: next_id,
            id_state: ids,
            copied: false,
        };
        server.restart(0);
        server
    }

    /// Sets `min-replicas-to-write` and `min-replicas-max-lag`.
    pub fn with_min_replicas(mut self, min_replicas: MinReplicas) -> Self {
        self.min_replicas = min_replicas;
        self
    }

    /// Another server at the same address, with a copy of this one's disk or an empty one; in the latter case a replica
    /// of `primary`, if given. Its history has a new id, so it is not mistaken for this server's.
    pub(super) fn twin(&self, disk: Disk, primary: Option<Address>) -> Self {
        let (model, saved) = match disk {
            Disk::Copied => (self.model.clone(), self.saved.clone()),
            Disk::Empty => (self.model.anew(), primary),
        };
        let twin = Server::new(self.address.clone(), saved, self.id_state);
        Server { model, min_replicas: self.min_replicas, copied: true, ..twin }
    }

    /// The process restarts: its keys are kept, its history is not, so its replicas need full copies.
    pub fn restart(&mut self, now_ms: i64) {
        self.model.restart();
        if std::mem::take(&mut self.copied) {
            self.id_state ^= now_ms.unsigned_abs();
        }
        self.run_id = (self.ids)(&mut self.id_state);
        self.stream = Stream::new((self.ids)(&mut self.id_state));
        self.clients.clear();
        self.applying = self.model.open();
        self.pinged_at_ms = now_ms;
        self.primary = self.saved.clone().map(Primary::new);
        self.follows += 1;
    }

    pub fn is_primary(&self) -> bool {
        self.primary.is_none()
    }

    pub fn open(&mut self) -> ClientId {
        self.last_client += 1;
        let (session, out) = (self.model.open(), Vec::new());
        let client = Client {
            session,
            queued: None,
            channels: BTreeSet::new(),
            replica: None,
            out,
            held: VecDeque::new(),
            closing: false,
            wake: Arc::default(),
        };
        self.clients.insert(self.last_client, client);
        self.last_client
    }

    /// The notification that a connection's task waits for.
    pub fn wake(&self, id: ClientId) -> Arc<Notify> {
        self.clients.get(&id).map(|client| client.wake.clone()).unwrap_or_default()
    }

    /// Wakes all connections that have something to send.
    pub fn wake_all(&self) {
        let waits = |client: &&Client| client.closing || !client.out.is_empty();
        self.clients.values().filter(waits).for_each(|client| client.wake.notify_one());
    }

    /// A connection is gone.
    pub fn close(&mut self, id: ClientId) {
        self.clients.remove(&id);
    }

    /// The bytes to send on a connection, and whether to close it then.
    pub fn take(&mut self, id: ClientId) -> (Vec<u8>, bool) {
        self.clients.get_mut(&id).map_or((Vec::new(), true), |client| (std::mem::take(&mut client.out), client.closing))
    }

    /// Executes a command from a connection at wall time `now_ms`, in milliseconds.
    pub fn command(&mut self, id: ClientId, now_ms: i64, args: &[Vec<u8>]) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let name = args.first().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
        let ends = matches!(name.as_slice(), b"exec" | b"discard" | b"multi");
        if let (Some(queued), false) = (&mut client.queued, ends) {
            queued.push(args.to_vec());
            return self.reply(id, &Resp::Status("QUEUED"));
        }
        if let Some(reply) = self.carry_out(id, now_ms, &name, args) {
            self.reply(id, &reply);
        }
    }

    fn reply(&mut self, id: ClientId, reply: &Resp) {
        if let Some(client) = self.clients.get_mut(&id) {
            reply.encode(client.session.protocol(), &mut client.out);
        }
    }

    fn carry_out(&mut self, id: ClientId, now_ms: i64, name: &[u8], args: &[Vec<u8>]) -> Option<Resp> {
        let word = |place: usize| args.get(place).map(|word| String::from_utf8_lossy(word).into_owned());
        let status = |text| Some(Resp::Status(text));
        match (name, args.len()) {
            (b"multi", 1) => self.multi(id),
            (b"exec", 1) => self.exec(id, now_ms),
            (b"discard", 1) => match self.clients.get_mut(&id)?.queued.take() {
                Some(_) => status("OK"),
                None => Some(Resp::Error("ERR DISCARD without MULTI".to_owned())),
            },
            (b"subscribe", 2..) => self.subscribe(id, &args[1..]),
            (b"unsubscribe", _) => self.unsubscribe(id, &args[1..]),
            (b"publish", 3) => Some(Resp::Integer(self.publish(&args[1], &args[2]))),
            (b"replicaof" | b"slaveof", 3) => Some(self.replica_of(&word(1)?, &word(2)?)),
            (b"replconf", 2..) => self.replica_says(id, now_ms, &args[1..]),
            (b"psync", 3) => self.sync(id, now_ms, &word(1)?, &word(2)?),
            (b"info", 1 | 2) => Some(Resp::bulk(self.info(now_ms, word(1).as_deref()))),
            (b"role", 1) => Some(self.role()),
            (b"config", 2) if word(1)?.eq_ignore_ascii_case("rewrite") => {
                self.saved = self.primary.as_ref().map(|primary| primary.address.clone());
                status("OK")
            }
            (b"client", 4) if word(1)?.eq_ignore_ascii_case("kill") && word(2)?.eq_ignore_ascii_case("type") => {
                Some(self.kill(id, &word(3)?))
            }
            _ => Some(self.apply(id, now_ms, args)),
        }
    }

    fn multi(&mut self, id: ClientId) -> Option<Resp> {
        let client = self.clients.get_mut(&id)?;
        if client.queued.is_some() {
            return Some(Resp::Error("ERR MULTI calls can not be nested".to_owned()));
        }
        client.queued = Some(Vec::new());
        Some(Resp::Status("OK"))
    }

    fn exec(&mut self, id: ClientId, now_ms: i64) -> Option<Resp> {
        let Some(queued) = self.clients.get_mut(&id)?.queued.take() else {
            return Some(Resp::Error("ERR EXEC without MULTI".to_owned()));
        };
        let mut replies = Vec::new();
        for args in queued {
            let name = args.first().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
            replies.extend(self.carry_out(id, now_ms, &name, &args));
        }
        Some(Resp::Array(replies))
    }

    /// Executes a command that the plain model knows, and sends its writes to the replicas.
    fn apply(&mut self, id: ClientId, now_ms: i64, args: &[Vec<u8>]) -> Resp {
        let Some(client) = self.clients.get_mut(&id) else { return Resp::Nil };
        let is_good =
            |replica: &Replica| replica.online && now_ms - replica.acknowledged_at_ms <= self.min_replicas.max_lag_ms;
        let mut session = client.session.clone();
        let good = self.clients.values().filter_map(|client| client.replica.as_ref()).filter(|r| is_good(r)).count();
        self.model.refuses_writes = match self.primary {
            Some(_) => Some(READ_ONLY),
            None if good < self.min_replicas.to_write => Some(NO_REPLICAS),
            None => None,
        };
        let reply = self.model.apply(&mut session, u64::try_from(now_ms).unwrap_or(0), args);
        self.model.refuses_writes = None;
        let written = self.model.take_written();
        if self.is_primary() {
            self.propagate(now_ms, &written);
        }
        if let Some(client) = self.clients.get_mut(&id) {
            client.session = session;
        }
        reply
    }

    /// Sends writes to the replicas, as a transaction if one command made several.
    fn propagate(&mut self, now_ms: i64, written: &[(u8, Vec<Vec<u8>>)]) {
        let Some((database, _)) = written.first() else { return };
        let mut bytes = Vec::new();
        if self.stream.database.replace(*database) != Some(*database) {
            bytes.extend(encoded(&[b"SELECT".to_vec(), database.to_string().into_bytes()]));
        }
        let several = written.len() > 1;
        let around = |word: &[u8]| if several { encoded(&[word.to_vec()]) } else { Vec::new() };
        bytes.extend(around(b"MULTI"));
        written.iter().for_each(|(_, args)| bytes.extend(encoded(args)));
        bytes.extend(around(b"EXEC"));
        self.feed(now_ms, &bytes);
    }

    fn subscribe(&mut self, id: ClientId, channels: &[Vec<u8>]) -> Option<Resp> {
        for channel in channels {
            let client = self.clients.get_mut(&id)?;
            client.channels.insert(channel.clone());
            let count = Resp::Integer(client.channels.len() as i64);
            self.reply(id, &Resp::Array(vec![Resp::bulk("subscribe"), Resp::bulk(channel), count]));
        }
        None
    }

    fn unsubscribe(&mut self, id: ClientId, channels: &[Vec<u8>]) -> Option<Resp> {
        let all: Vec<Vec<u8>> = self.clients.get(&id)?.channels.iter().cloned().collect();
        let from = if channels.is_empty() { &all[..] } else { channels };
        for channel in from {
            let client = self.clients.get_mut(&id)?;
            client.channels.remove(channel);
            let count = Resp::Integer(client.channels.len() as i64);
            self.reply(id, &Resp::Array(vec![Resp::bulk("unsubscribe"), Resp::bulk(channel), count]));
        }
        let nothing = || Resp::Array(vec![Resp::bulk("unsubscribe"), Resp::Nil, Resp::Integer(0)]);
        from.is_empty().then(nothing)
    }

    fn publish(&mut self, channel: &[u8], message: &[u8]) -> i64 {
        let text = Resp::Array(vec![Resp::bulk("message"), Resp::bulk(channel), Resp::bulk(message)]);
        let mut told = 0;
        for client in self.clients.values_mut().filter(|client| client.channels.contains(channel)) {
            text.encode(Protocol::Resp2, &mut client.out);
            told += 1;
        }
        told
    }

    /// Closes all other connections of a kind: of subscribers, of replicas, or the rest.
    fn kill(&mut self, by: ClientId, kind: &str) -> Resp {
        let of = |client: &Client| match client {
            Client { replica: Some(_), .. } => "replica",
            Client { channels, .. } if !channels.is_empty() => "pubsub",
            _ => "normal",
        };
        let kind = kind.to_ascii_lowercase();
        let kind = if kind == "slave" { "replica" } else { kind.as_str() };
        if !["normal", "pubsub", "replica", "master"].contains(&kind) {
            return Resp::Error(format!("ERR Unknown client type '{kind}'"));
        }
        let mut killed = 0;
        for (_, client) in self.clients.iter_mut().filter(|(id, client)| **id != by && of(client) == kind) {
            client.closing = true;
            killed += 1;
        }
        Resp::Integer(killed)
    }
}

/// 40 hexadecimal digits from a generator with 64 bits of state (Steele et al. 2014, SplitMix).
fn next_id(state: &mut u64) -> String {
    let mut next = || {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    format!("{:016x}{:016x}{:08x}", next(), next(), next() as u32)
}
