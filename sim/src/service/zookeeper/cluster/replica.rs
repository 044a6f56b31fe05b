//! A member's copy of nodes and sessions, and the log entries that change it.

use super::super::model::{ConnectionId, Model, Out};
use crate::service::{
    cluster::{
        core::Standing,
        member::{Answered, Machine},
        message::{Index, Reader, Term, Writer},
    },
    grants::Holder,
};
use protocols::history::GrantEnd;
use protocols_clients::zookeeper::answer::Answer;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};
use tokio::sync::{mpsc::UnboundedSender, oneshot};

/// A log entry.
pub(super) enum Entry<'a> {
    /// A session begins, with this timeout in milliseconds.
    Begin(i64, u64),
    /// A session ends, and its ephemeral nodes with it.
    End(i64, GrantEnd),
    /// A session's write at this time in milliseconds, as sent by its client.
    Write(i64, i64, &'a [u8]),
    /// A node is deleted from outside.
    Delete(&'a str),
}

impl Entry<'_> {
    /// Encodes it, with the number by which the proposer finds the answer.
    pub(super) fn encode(&self, number: u64) -> Vec<u8> {
        let mut to = Writer::default();
        to.number(number);
        match self {
            Entry::Begin(id, timeout_ms) => drop(to.byte(0).number(id.cast_unsigned()).number(*timeout_ms)),
            Entry::End(id, why) => drop(to.byte(1).number(id.cast_unsigned()).why(*why)),
            Entry::Write(id, wall_ms, packet) => {
                to.byte(2).number(id.cast_unsigned()).number(wall_ms.cast_unsigned()).bytes(packet);
            }
            Entry::Delete(path) => drop(to.byte(3).bytes(path.as_bytes())),
        }
        to.0
    }

    fn decode(data: &[u8]) -> Option<(u64, Entry<'_>)> {
        let mut from = Reader(data);
        let number = from.number()?;
        let entry = match from.byte()? {
            0 => Entry::Begin(from.number()?.cast_signed(), from.number()?),
            1 => Entry::End(from.number()?.cast_signed(), from.why()?),
            2 => {
                let (id, wall_ms) = (from.number()?.cast_signed(), from.number()?.cast_signed());
                Entry::Write(id, wall_ms, from.bytes()?)
            }
            3 => Entry::Delete(std::str::from_utf8(from.bytes()?).ok()?),
            _ => return None,
        };
        Some((number, entry))
    }
}

/// The result of an entry: the latest transaction id at that point, and the answer.
pub(super) type Done = (i64, Result<Answer, i32>);

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The front of a copy.
pub(super) trait Front: Send + Sync {
    /// The member's index.
    fn place(&self) -> usize;
    /// The session clock, in milliseconds.
    fn now_ms(&self) -> u64;
    /// The member follows a new leader, and should serve clients once it has caught up with it.
    fn join(self: Arc<Self>, standing: Standing);
    /// Answers another member's question.
    fn answer_to(self: Arc<Self>, body: Vec<u8>) -> Answered;
}

pub(super) struct Replica {
    pub(super) model: Mutex<Model>,
    pub(super) senders: Mutex<BTreeMap<ConnectionId, UnboundedSender<Out>>>,
    pub(super) waiting: Mutex<BTreeMap<u64, oneshot::Sender<Done>>>,
    /// Whether this member leads, if it serves clients.
    serves: Mutex<Option<bool>>,
    standing: Mutex<Standing>,
    tells: Box<dyn Fn(bool) + Send + Sync>,
    pub(super) server: OnceLock<Weak<dyn Front>>,
}

impl Replica {
    /// An empty copy; `tells` is called with whether this member leads.
    pub(super) fn new(tells: impl Fn(bool) + Send + Sync + 'static) -> Replica {
        Replica {
            model: Mutex::new(Model::new()),
            senders: Mutex::default(),
            waiting: Mutex::default(),
            serves: Mutex::default(),
            standing: Mutex::default(),
            tells: Box::new(tells),
            server: OnceLock::new(),
        }
    }

    fn server(&self) -> Option<Arc<dyn Front>> {
        self.server.get().and_then(Weak::upgrade)
    }

    /// Whether this member leads, if it serves clients.
    pub(super) fn serves(&self) -> Option<bool> {
        *lock(&self.serves)
    }

    /// The member has caught up with the leader that it joined, and serves clients from now on.
    pub(super) fn joined(&self, standing: Standing) {
        if *lock(&self.standing) == standing {
            *lock(&self.serves) = Some(false);
        }
    }

    /// The leader, as last told to this member.
    pub(super) fn leader(&self) -> Option<usize> {
        lock(&self.standing).leader
    }

    /// Whether `standing` is still current.
    pub(super) fn stands_so(&self, standing: Standing) -> bool {
        *lock(&self.standing) == standing
    }

    /// Changes the copy, and sends the resulting messages.
    pub(super) fn with<T>(&self, action: impl FnOnce(&mut Model) -> T) -> T {
        let mut model = lock(&self.model);
        let answer = action(&mut model);
        let outs = model.take_outbox();
        drop(model);
        let senders = lock(&self.senders);
        for (connection, out) in outs {
            if let Some(sender) = senders.get(&connection) {
                // The client's own task notices that it is gone.
                let _ = sender.send(out);
            }
        }
        answer
    }
}

impl Machine for Replica {
    fn apply(&self, _: Index, term: Term, data: &[u8]) -> GrantEnd {
        if data.is_empty() {
            self.with(|model| model.begin_epoch(term));
            let Some(server) = self.server() else { return GrantEnd::Lost };
            let is_own = *lock(&self.standing) == Standing { term, leader: Some(server.place()) };
            if is_own {
                *lock(&self.serves) = Some(true);
                lock(&self.model).track(Some(server.now_ms()));
                (self.tells)(true);
            }
            return GrantEnd::Lost;
        }
        let Some((number, entry)) = Entry::decode(data) else { return GrantEnd::Lost };
        let why = match entry {
            Entry::End(_, why) => why,
            Entry::Delete(_) => GrantEnd::Lost,
            Entry::Begin(..) | Entry::Write(..) => GrantEnd::Released,
        };
        let now_ms = (self.serves() == Some(true)).then(|| self.server().map(|server| server.now_ms())).flatten();
        let answer = self.with(|model| match entry {
            Entry::Begin(id, timeout_ms) => {
                model.begin_session(id, timeout_ms, now_ms);
                Ok(Answer::Nothing)
            }
            Entry::End(id, _) => {
                // The requesting client gets its answer before its connection is closed.
                if lock(&self.waiting).contains_key(&number) {
                    model.let_go(id);
                }
                model.end_session(id);
                Ok(Answer::Nothing)
            }
            Entry::Write(id, wall_ms, packet) => model.write_of(id, wall_ms, packet),
            Entry::Delete(path) => {
                model.drop_node(path);
                Ok(Answer::Nothing)
            }
        });
        if let Some(waits) = lock(&self.waiting).remove(&number) {
            // The waiter may have lost its connection.
            let _ = waits.send((lock(&self.model).zxid(), answer));
        }
        why
    }

    fn holder_of(&self, path: &str) -> Option<Holder> {
        lock(&self.model).holder_of(path)
    }

    fn holder(&self, group: u16) -> Option<Holder> {
        lock(&self.model).holder(group)
    }

    fn stands(&self, standing: Standing, _: usize) {
        *lock(&self.standing) = standing;
        *lock(&self.serves) = None;
        lock(&self.waiting).clear();
        // A member that follows another leader, or none, starts over.
        for (connection, sender) in &*lock(&self.senders) {
            lock(&self.model).close(*connection);
            let _ = sender.send(Out::Close);
        }
        lock(&self.model).track(None);
        (self.tells)(false);
        let follows = |server: &Arc<dyn Front>| standing.leader.is_some_and(|leader| leader != server.place());
        if let Some(server) = self.server().filter(follows) {
            server.join(standing);
        }
    }

    fn asked(self: Arc<Self>, body: Vec<u8>) -> Answered {
        match self.server() {
            Some(server) => server.answer_to(body),
            None => Box::pin(async { None }),
        }
    }
}
