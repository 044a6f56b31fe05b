//! A server's copy of the store, its writes, and the requests that it forwards to the leader.

use super::super::{
    command::Command,
    model::{Model, Refusal},
};
use crate::{
    service::{
        Dropped,
        cluster::{
            core::Standing,
            member::{Answered, Machine, Member},
            message::{Index, Reader, Term, Writer},
        },
        grants::Holder,
        http::{self, Answer},
    },
    world::env::SimEnv,
};
use http_body_util::BodyExt;
use hyper::{Method, Request, StatusCode, body::Bytes};
use protocols::{history::GrantEnd, types::SECOND};
use protocols_clients::env::Env;
use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};
use tokio::sync::{Notify, oneshot};

/// How long a request is held while there is no leader (`rpc_hold_timeout`), in nanoseconds; it is retried after up to
/// a sixteenth of that.
const HOLD: u64 = 7 * SECOND;
/// The end of a session is retried after this long, twice that, and so on, this many times in all.
const INVALIDATE: (u64, u32) = (10 * SECOND, 6);

/// A server probes its connection for forwarded requests at the first interval, and closes it after the second without
/// an answer (hashicorp/yamux, `mux.go: DefaultConfig`: `KeepAliveInterval`, `ConnectionWriteTimeout`), in nanoseconds.
const ALIVE: (u64, u64) = (30 * SECOND, 10 * SECOND);

/// Answers a request from what this server knows.
pub(in super::super) type Here =
    Box<dyn Fn(Request<Bytes>) -> Pin<Box<dyn Future<Output = Answer> + Send>> + Send + Sync>;

/// A server's copy of the store, and the log.
pub(in super::super) struct Agreement {
    pub(in super::super) env: SimEnv,
    member: Arc<Member<SimEnv>>,
    pub(in super::super) model: Arc<Mutex<Model>>,
    /// Notified of every change.
    pub(in super::super) changed: Arc<Notify>,
    waiting: Mutex<BTreeMap<u64, oneshot::Sender<Result<bool, Refusal>>>>,
    numbers: Mutex<u64>,
    leads: Mutex<bool>,
    tells: Box<dyn Fn(bool) + Send + Sync>,
    here: OnceLock<Here>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Agreement {
    pub(super) fn new(
        env: SimEnv,
        member: Arc<Member<SimEnv>>,
        tells: impl Fn(bool) + Send + Sync + 'static,
    ) -> Arc<Agreement> {
        Arc::new(Agreement {
            env,
            member,
            model: Arc::default(),
            changed: Arc::default(),
            waiting: Mutex::default(),
            numbers: Mutex::new(env.random() << 16),
            leads: Mutex::new(false),
            tells: Box::new(tells),
            here: OnceLock::new(),
        })
    }

    /// Sets what answers requests from this server's copy.
    pub(in super::super) fn answers_by(&self, here: Here) {
        // It is set once.
        let _ = self.here.set(here);
    }

    async fn answer_here(&self, request: Request<Bytes>) -> Answer {
        match self.here.get() {
            Some(here) => here(request).await,
            None => http::empty(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    fn is_leader(&self) -> bool {
        *lock(&self.leads)
    }

    /// Writes a command through the log, if this server leads; `why` says how a leadership that it ends has ended.
    ///
    /// # Errors
    /// The store or Raft refuses.
    pub(in super::super) async fn write(&self, why: GrantEnd, command: Command) -> Result<bool, Refusal> {
        if let Command::Acquire(key, ..) = &command
            && lock(&self.model).is_delayed(key, self.env.now().mono)
        {
            // Refused before it reaches Raft.
            return Ok(false);
        }
        let number = {
            let mut numbers = lock(&self.numbers);
            *numbers = numbers.wrapping_add(1);
            *numbers
        };
        let mut entry = Writer::default();
        entry.number(number).why(why);
        command.encode(&mut entry);
        let (sender, done) = oneshot::channel();
        lock(&self.waiting).insert(number, sender);
        if !self.member.propose_leading(entry.0) {
            lock(&self.waiting).remove(&number);
            return Err("node is not the leader".to_owned());
        }
        done.await.unwrap_or_else(|_| Err("leadership lost while committing log".to_owned()))
    }

    /// Confirms that reads here are up to date.
    ///
    /// # Errors
    /// No majority confirms it.
    pub(in super::super) async fn verify(&self) -> Result<(), Refusal> {
        self.member.catch_up().await.map_err(|_| "leadership lost while committing log".to_owned())
    }

    /// Routes a client's request: answers it here if this server leads or `stale` is allowed, and otherwise forwards
    /// it.
    pub(in super::super) async fn route(&self, request: Request<Bytes>, stale: bool) -> Answer {
        if stale {
            return self.answer_here(request).await;
        }
        let until = self.env.now().mono + HOLD;
        let question = question(&request);
        let is_read = request.method() == Method::GET;
        loop {
            if self.is_leader() {
                return self.answer_here(request).await;
            }
            if let Some(leader) = self.member.standing().leader.filter(|leader| *leader != self.member.own) {
                if !self.member.reaches(leader) {
                    let words = "rpc error getting client: failed to get conn: dial tcp: connect: connection refused";
                    return http::text(StatusCode::INTERNAL_SERVER_ERROR, words);
                }
                let answered = tokio::select! {
                    biased;
                    answer = self.member.ask(leader, question.clone()) => answer,
                    () = self.falls_silent(leader) => None,
                };
                match answered.as_deref().map(answer) {
                    Some(Some(answer)) => return answer,
                    // A request that may have been executed is not retried.
                    None | Some(None) if !is_read => {
                        return http::text(StatusCode::INTERNAL_SERVER_ERROR, "rpc error making call: EOF");
                    }
                    _ => {}
                }
            }
            if self.env.now().mono >= until {
                return http::text(StatusCode::INTERNAL_SERVER_ERROR, "No cluster leader");
            }
            self.env.sleep(self.env.random() % (HOLD / 16)).await;
        }
    }

    /// Waits until the connection to a silent server is given up.
    async fn falls_silent(&self, server: usize) {
        // The connection is older than the request on it, so the phase is random.
        let mut wait = self.env.random() % ALIVE.0;
        loop {
            self.env.sleep(wait).await;
            // The probe has no content; its answer says so.
            let answered = self.env.timeout(ALIVE.1, self.member.ask(server, Vec::new())).await;
            if answered.is_none() || !self.member.reaches(server) {
                return;
            }
            wait = ALIVE.0;
        }
    }

    /// Ends sessions whose time is up, while this server leads.
    pub(super) async fn expire(self: Arc<Self>) {
        loop {
            let changed = self.changed.notified();
            let next = lock(&self.model).next_end().filter(|at| *at < u64::MAX);
            match next {
                None => changed.await,
                Some(at) => tokio::select! {
                    biased;
                    () = changed => {}
                    () = self.env.sleep_until(at) => {}
                },
            }
            for id in lock(&self.model).take_due(self.env.now().mono) {
                self.env.spawn_detached(self.clone().invalidate(id));
            }
        }
    }

    async fn invalidate(self: Arc<Self>, id: String) {
        for attempt in 0..INVALIDATE.1 {
            if self.write(GrantEnd::Expired, Command::Destroy(id.clone())).await.is_ok() {
                return;
            }
            self.env.sleep(INVALIDATE.0 << attempt).await;
        }
    }

    /// Ends a candidate's session or deletes its key, from outside.
    pub(super) fn drop_leadership(self: &Arc<Self>, candidate: &str, group: u16, what: Dropped) {
        let held = lock(&self.model).held_by(candidate, group);
        let command = match (what, held) {
            (Dropped::Key, Some((key, _))) => Command::Delete(key, None),
            (Dropped::Lease, Some((_, session))) => Command::Destroy(session),
            // Tokens are indexes, so there is no counter to lose. A candidate without a lock loses nothing.
            _ => return,
        };
        let agreement = self.clone();
        self.env.spawn_detached(async move {
            // Nobody waits for the result.
            let _ = agreement.write(GrantEnd::Lost, command).await;
        });
    }
}

impl Machine for Agreement {
    fn apply(&self, _: Index, _: Term, data: &[u8]) -> GrantEnd {
        let mut data = Reader(data);
        let head = data.number().zip(data.why());
        let Some(((number, why), command)) = head.zip(Command::decode(&mut data)) else { return GrantEnd::Lost };
        // Only a leader knows when sessions end, and lock-delays were checked before.
        let now = self.env.now().mono;
        let counts = if self.is_leader() && matches!(command, Command::Create(..)) { now } else { u64::MAX };
        let done = {
            let mut model = lock(&self.model);
            let done = command.apply(&mut model, counts);
            model.settle(now);
            done
        };
        self.changed.notify_waiters();
        let waits = lock(&self.waiting).remove(&number);
        if let Some(waits) = waits {
            // The waiter may have timed out.
            let _ = waits.send(done);
        }
        why
    }

    fn holder_of(&self, key: &str) -> Option<Holder> {
        lock(&self.model).holder_of(key)
    }

    fn holder(&self, group: u16) -> Option<Holder> {
        lock(&self.model).holder(group)
    }

    fn stands(&self, standing: Standing, own: usize) {
        let leads = standing.leader == Some(own);
        if *lock(&self.leads) != leads {
            lock(&self.model).renew_all(leads.then(|| self.env.now().mono));
        }
        *lock(&self.leads) = leads;
        lock(&self.waiting).clear();
        self.changed.notify_waiters();
        (self.tells)(leads);
    }

    fn asked(self: Arc<Self>, body: Vec<u8>) -> Answered {
        Box::pin(async move {
            let request = request(&body)?;
            // The server may have stopped leading meanwhile.
            let answered = self.route(request, false).await;
            let (head, body) = answered.into_parts();
            let body = body.collect().await.ok()?.to_bytes();
            let mut answer = Writer::default();
            answer.number(u64::from(head.status.as_u16())).bytes(&body).number(head.headers.len() as u64);
            for (name, value) in &head.headers {
                answer.bytes(name.as_str().as_bytes()).bytes(value.as_bytes());
            }
            Some(answer.0)
        })
    }
}

fn question(request: &Request<Bytes>) -> Vec<u8> {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let mut question = Writer::default();
    question.bytes(request.method().as_str().as_bytes()).bytes(target.as_bytes()).bytes(request.body());
    question.0
}

fn request(question: &[u8]) -> Option<Request<Bytes>> {
    let mut from = Reader(question);
    let (method, target) = (from.bytes()?, from.bytes()?);
    let request = Request::builder().method(method).uri(target);
    request.body(Bytes::copy_from_slice(from.bytes()?)).ok()
}

fn answer(bytes: &[u8]) -> Option<Answer> {
    let mut from = Reader(bytes);
    let status = StatusCode::from_u16(u16::try_from(from.number()?).ok()?).ok()?;
    let mut answer = hyper::Response::new(http::whole(Bytes::copy_from_slice(from.bytes()?)));
    *answer.status_mut() = status;
    for _ in 0..from.number()? {
        let name = hyper::header::HeaderName::from_bytes(from.bytes()?).ok()?;
        answer.headers_mut().insert(name, hyper::header::HeaderValue::from_bytes(from.bytes()?).ok()?);
    }
    Some(answer)
}
