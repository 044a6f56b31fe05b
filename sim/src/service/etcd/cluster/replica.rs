//! A member's copy of the store, and the server in front of it.

use super::{
    super::model::{Error, Model, StreamId},
    command::{self, Command},
};
use crate::{
    service::{
        Dropped,
        cluster::{
            core::Standing,
            member::{Answered, Machine, Member, PATIENCE, Unread},
            message::{Index, Term},
        },
        grants::Holder,
    },
    world::env::SimEnv,
};
use etcd_client::proto::{
    PbDeleteRequest, PbLeaseRevokeRequest, PbTxnOpRequest, PbTxnRequest, PbTxnRequestOp, PbWatchResponse,
};
use protocols::{clock::Now, history::GrantEnd, types::MILLISECOND};
use protocols_clients::env::Env;
use std::{
    any::Any,
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};
use tokio::sync::{Notify, mpsc::UnboundedSender, oneshot};
use tonic::Status;

pub(super) type WatchSender = UnboundedSender<Result<PbWatchResponse, Status>>;

/// `etcdserver: request timed out` and similar errors.
pub(super) fn unavailable(words: &str) -> Status {
    Status::unavailable(format!("etcdserver: {words}"))
}

impl From<Unread> for Status {
    fn from(why: Unread) -> Status {
        match why {
            Unread::TimedOut => unavailable("request timed out"),
            Unread::LeaderChanged => unavailable("leader changed"),
        }
    }
}

/// Pending answers, by request number.
type Waiting = BTreeMap<u64, oneshot::Sender<Box<dyn Any + Send>>>;

/// The member's copy.
pub(super) struct Replica {
    pub(super) model: Mutex<Model>,
    pub(super) watches: Mutex<BTreeMap<StreamId, WatchSender>>,
    waiting: Mutex<Waiting>,
    /// Whether this member's lessor is the primary, which knows when leases end.
    primary: Mutex<bool>,
    /// A lease has ended, or the lessor is no longer the primary.
    pub(super) changed: Arc<Notify>,
    numbers: Mutex<u64>,
    tells: Box<dyn Fn(bool) + Send + Sync>,
    server: OnceLock<std::sync::Weak<Server>>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Replica {
    /// The empty copy of member `place`; `tells` is called with whether it leads.
    pub(super) fn new(place: usize, now: Now, tells: impl Fn(bool) + Send + Sync + 'static) -> Replica {
        let mut model = Model::new();
        model.be_member(place);
        // The request ids consist of the member, the time in milliseconds, and a counter.
        let first = (place as u64 + 1) << 48 | ((now.wall / MILLISECOND) & 0xFF_FFFF_FFFF) << 8;
        Replica {
            model: Mutex::new(model),
            watches: Mutex::default(),
            waiting: Mutex::default(),
            primary: Mutex::new(false),
            changed: Arc::default(),
            numbers: Mutex::new(first),
            tells: Box::new(tells),
            server: OnceLock::new(),
        }
    }

    pub(super) fn next_number(&self) -> u64 {
        let mut number = lock(&self.numbers);
        *number += 1;
        *number
    }

    pub(super) fn is_primary(&self) -> bool {
        *lock(&self.primary)
    }

    /// Changes the copy, and sends the resulting watch events.
    pub(super) fn with<T>(&self, action: impl FnOnce(&mut Model) -> T) -> T {
        let mut model = lock(&self.model);
        let answer = action(&mut model);
        let responses = model.take_watch_responses();
        drop(model);
        let watches = lock(&self.watches);
        for (stream, response) in responses {
            if let Some(sender) = watches.get(&stream) {
                // The client's own task notices that it is gone.
                let _ = sender.send(Ok(response));
            }
        }
        answer
    }

    fn server(&self) -> Option<Arc<Server>> {
        self.server.get().and_then(std::sync::Weak::upgrade)
    }

    /// Revokes or deletes, from outside, what makes a candidate leader.
    pub(super) fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped) {
        let Some(server) = self.server() else { return };
        for (key, id) in lock(&self.model).keys_of(candidate, group) {
            let (server, env) = (server.clone(), server.env);
            env.spawn_detached(async move {
                // Nobody waits for the result.
                match what {
                    Dropped::Lease => drop(server.write_ending(GrantEnd::Lost, &PbLeaseRevokeRequest { id }).await),
                    // Tokens are revisions, so there is no counter to lose.
                    Dropped::Counter => {}
                    Dropped::Key => {
                        let delete = PbDeleteRequest { key, ..PbDeleteRequest::default() };
                        drop(server.write_ending(GrantEnd::Lost, &delete).await);
                    }
                }
            });
        }
    }
}

impl Machine for Replica {
    fn apply(&self, _: Index, _: Term, data: &[u8]) -> GrantEnd {
        if data.is_empty() {
            return GrantEnd::Lost;
        }
        let now = match (self.is_primary(), self.server()) {
            (true, Some(server)) => server.env.now().mono,
            // Without a primary lessor, leases last for ever.
            _ => u64::MAX,
        };
        let done = self.with(|model| command::apply(model, now, data));
        self.changed.notify_waiters();
        let Some((number, why, answer)) = done else { return GrantEnd::Lost };
        let waits = lock(&self.waiting).remove(&number);
        if let Some(waits) = waits {
            // The waiter may have timed out.
            let _ = waits.send(answer);
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
        let now = self.server().map_or(0, |server| server.env.now().mono);
        lock(&self.model).stand(standing.term, leads.then_some(now));
        *lock(&self.primary) = leads;
        self.changed.notify_waiters();
        (self.tells)(leads);
    }

    fn asked(self: Arc<Self>, body: Vec<u8>) -> Answered {
        Box::pin(async move { self.server()?.answer(body).await })
    }
}

/// The server in front of a member's copy: clients, and the lessor.
pub(super) struct Server {
    pub(super) env: SimEnv,
    pub(super) member: Arc<Member<SimEnv>>,
    pub(super) replica: Arc<Replica>,
    /// Whether it revokes leases without confirming that it leads.
    pub(super) trusts_itself: bool,
    /// When the revocation of a lease that still exists is retried, in nanoseconds.
    pub(super) again_at: Mutex<BTreeMap<i64, u64>>,
}

impl Server {
    pub(super) fn new(
        env: SimEnv,
        member: Arc<Member<SimEnv>>,
        replica: Arc<Replica>,
        trusts_itself: bool,
    ) -> Arc<Server> {
        let server =
            Arc::new(Server { env, member, replica: replica.clone(), trusts_itself, again_at: Mutex::default() });
        // It is set once.
        let _ = replica.server.set(Arc::downgrade(&server));
        server
    }

    /// Writes a client's request through the log, and waits until this member has applied it.
    pub(super) async fn write<C: Command>(&self, request: &C) -> Result<C::Answer, Status> {
        self.write_ending(GrantEnd::Released, request).await
    }

    /// The same; `why` says how a leadership that this ends has ended.
    pub(super) async fn write_ending<C: Command>(&self, why: GrantEnd, request: &C) -> Result<C::Answer, Status> {
        let number = self.replica.next_number();
        let (sender, answer) = oneshot::channel();
        lock(&self.replica.waiting).insert(number, sender);
        let entry = command::entry(number, why, request);
        let done = async {
            match self.member.propose(entry, PATIENCE).await {
                true => answer.await.ok(),
                false => None,
            }
        };
        let done = self.env.timeout(PATIENCE, done).await.flatten();
        lock(&self.replica.waiting).remove(&number);
        match done.map(|answer| answer.downcast::<Result<C::Answer, Error>>()) {
            Some(Ok(answer)) => answer.map_err(Status::from),
            _ => Err(unavailable("request timed out")),
        }
    }

    /// Waits until this copy is as new as any was at the time of the call.
    pub(super) async fn linearize(&self) -> Result<(), Status> {
        self.member.catch_up().await.map_err(Status::from)
    }

    /// Whether a majority confirms in time that this member leads. The time counts from here; earlier reads may take as
    /// long (`server.go: ensureLeadership`).
    pub(super) async fn ensure_leadership(&self) -> bool {
        let confirmed = self.env.timeout(PATIENCE, self.member.catch_up()).await;
        matches!(confirmed, Some(Ok(()))) && self.member.heard_leader() == Some(self.member.own)
    }
}

/// Whether a transaction changes nothing, and whether all its reads are serializable.
pub(super) fn reads_only(txn: &PbTxnRequest) -> (bool, bool) {
    let mut only = (true, true);
    for operation in
        txn.success.iter().chain(&txn.failure).filter_map(|operation: &PbTxnRequestOp| operation.request.as_ref())
    {
        match operation {
            PbTxnOpRequest::RequestRange(range) => only.1 &= range.serializable,
            PbTxnOpRequest::RequestTxn(inner) => {
                let inner = reads_only(inner);
                only = (only.0 && inner.0, only.1 && inner.1);
            }
            _ => only = (false, false),
        }
    }
    only
}
