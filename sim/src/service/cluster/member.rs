//! A running member: a core, its log on disk, its connections, and the state machine that applies committed entries.
//!
//! As in `etcdserver/raft.go: start`, one loop saves, sends and applies, and waits for the disk; messages are received
//! meanwhile, and their consequences wait for the loop. So the core of a member with a stalled disk may know of a new
//! leader that its state machine does not know yet.

mod reads;

use super::{
    Rules, WhileSaving,
    core::{Core, Hard, Record, Standing, Stored},
    frames::{Frame, carry},
    journal,
    links::Links,
    message::{Index, Message, Term},
    saver::Saver,
};
use crate::service::grants::{self, Holder};
use protocols::{history::GrantEnd, types::SECOND};
use protocols_clients::{
    env::{Env, Listener},
    site::Endpoint,
};
use std::{
    collections::BTreeMap,
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{Notify, mpsc, oneshot, watch};

/// How long a request waits for consensus (etcd's `ReqTimeout`: 5 s plus two election timeouts), in nanoseconds.
pub const PATIENCE: u64 = 7 * SECOND;
/// The answer to another member's question.
pub type Answered = Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>;

pub trait Machine: Send + Sync + 'static {
    /// Applies a committed entry; one without data begins a term. Returns how a candidate's leadership has ended, if
    /// this entry ends it.
    fn apply(&self, index: Index, term: Term, data: &[u8]) -> GrantEnd;
    /// The holder of a group's leadership in the applied state.
    fn holder(&self, group: u16) -> Option<Holder>;
    /// The holder of a key by which programs elect.
    fn holder_of(&self, key: &str) -> Option<Holder>;
    /// The known leader has changed.
    fn stands(&self, standing: Standing, own: usize);
    /// Answers another member's question.
    fn asked(self: Arc<Self>, body: Vec<u8>) -> Answered;
}

/// Why a read failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unread {
    /// No majority confirmed it in time.
    TimedOut,
    /// Another member became leader meanwhile.
    LeaderChanged,
}

type Waiting = oneshot::Sender<Result<Index, Unread>>;

pub struct Member<E: Env> {
    env: E,
    /// Its index among the members.
    pub own: usize,
    rules: Rules,
    core: Mutex<Core>,
    work: Notify,
    links: Arc<Links<E>>,
    ticks: Mutex<u64>,
    standing: watch::Sender<Standing>,
    applied: watch::Sender<Index>,
    wants: Notify,
    waiting: Mutex<Vec<Waiting>>,
}

/// The members' addresses.
pub struct Place {
    /// This member's index.
    pub own: usize,
    pub peers: Vec<Endpoint>,
    /// The member elected beforehand, if any.
    pub founder: Option<usize>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<E: Env> Member<E> {
    /// Restores the member from its disk.
    ///
    /// # Errors
    /// A disk error.
    pub async fn open(env: E, place: Place, rules: Rules) -> io::Result<Arc<Self>> {
        let Place { own, peers, founder } = place;
        let (count, disk, seed) = (peers.len(), env.disk(), env.random());
        let stored = journal::open(&disk).await?;
        let founder = founder.filter(|_| stored.is_none());
        let founded = founder.map(Core::founded);
        if let Some(Stored { hard, .. }) = founded {
            journal::save(&disk, &Record { hard: Some::<Hard>(hard), entries: None, sync: true }).await?;
        }
        let mut core = Core::new(own, count, rules, seed, stored.or(founded).unwrap_or_default());
        if let Some(founder) = founder {
            core.found(if rules.counts_ticks { 0 } else { env.now().mono }, founder);
        }
        let (standing, applied) = (watch::Sender::new(Standing::default()), watch::Sender::new(0));
        Ok(Arc::new(Member {
            links: Links::new(env.clone(), own, rules, peers),
            env,
            own,
            rules,
            core: Mutex::new(core),
            work: Notify::new(),
            ticks: Mutex::new(0),
            standing,
            applied,
            wants: Notify::new(),
            waiting: Mutex::default(),
        }))
    }

    /// The leader, as last told to the state machine.
    pub fn standing(&self) -> Standing {
        *self.standing.borrow()
    }

    /// Whether this member leads, as last told to its state machine.
    pub fn leads(&self) -> bool {
        self.standing().leader == Some(self.own)
    }

    /// The leader that the core has heard of.
    pub fn heard_leader(&self) -> Option<usize> {
        lock(&self.core).leader()
    }

    /// Notifies of changes of leader.
    pub fn changes(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    /// The last applied index.
    pub fn applied(&self) -> Index {
        *self.applied.borrow()
    }

    /// Waits until `index` is applied.
    pub async fn wait_applied(&self, index: Index) {
        // The sender lives as long as the member.
        let _ = self.applied.subscribe().wait_for(|applied| *applied >= index).await;
    }

    /// Waits up to `timeout` nanoseconds until a leader is known.
    pub async fn wait_leader(&self, timeout: u64) -> Option<usize> {
        let mut changes = self.changes();
        let known = async { changes.wait_for(|standing| standing.leader.is_some()).await.ok().and_then(|s| s.leader) };
        self.env.timeout(timeout, known).await.flatten()
    }

    /// Proposes an entry once there is a leader; `false` if there is none within `timeout` nanoseconds.
    pub async fn propose(&self, data: Vec<u8>, timeout: u64) -> bool {
        grants::proposes(&data);
        let (data, until): (Arc<[u8]>, u64) = (data.into(), self.env.now().mono + timeout);
        loop {
            let mut changes = self.changes();
            if self.step(|core| core.propose(data.clone())) {
                return true;
            }
            let left = until.saturating_sub(self.env.now().mono);
            if left == 0 || self.env.timeout(left, changes.changed()).await.is_none() {
                return false;
            }
        }
    }

    /// Proposes an entry if the core believes that this member leads.
    pub fn propose_leading(&self, data: Vec<u8>) -> bool {
        grants::proposes(&data);
        self.step(|core| core.propose_leading(data.into()))
    }

    /// The index of the last entry in this member's log, committed or not.
    pub fn end(&self) -> Index {
        lock(&self.core).end()
    }

    /// The index from which reads are up to date, confirmed by a majority.
    ///
    /// # Errors
    /// See [`Unread`].
    pub async fn read_index(&self) -> Result<Index, Unread> {
        let (sender, answer) = oneshot::channel();
        lock(&self.waiting).push(sender);
        self.wants.notify_one();
        answer.await.unwrap_or(Err(Unread::TimedOut))
    }

    /// Waits until the state machine has applied [`Member::read_index`].
    ///
    /// # Errors
    /// As [`Member::read_index`].
    pub async fn catch_up(&self) -> Result<(), Unread> {
        let index = self.read_index().await?;
        self.wait_applied(index).await;
        Ok(())
    }

    pub async fn ask(&self, member: usize, body: Vec<u8>) -> Option<Vec<u8>> {
        self.links.ask(member, body).await
    }

    /// Whether there is a connection to `member`.
    pub fn reaches(&self, member: usize) -> bool {
        member == self.own || self.links.reaches(member)
    }

    fn time(&self) -> u64 {
        if self.rules.counts_ticks { *lock(&self.ticks) * self.rules.tick } else { self.env.now().mono }
    }

    fn step<T>(&self, step: impl FnOnce(&mut Core) -> T) -> T {
        let now = self.time();
        let done = {
            let mut core = lock(&self.core);
            core.at(now);
            step(&mut core)
        };
        self.work.notify_one();
        done
    }

    /// Runs until the disk fails or the socket closes.
    ///
    /// # Errors
    /// The error of disk or socket.
    pub async fn run<M: Machine>(self: Arc<Self>, listener: E::Listener, machine: Arc<M>) -> io::Result<()> {
        let env = self.env.clone();
        let mut tasks: Vec<E::Task> = vec![env.spawn(self.clone().tick())];
        let (confirmed, confirmations) = mpsc::unbounded_channel();
        tasks.push(env.spawn(self.clone().read(confirmations)));
        for to in (0..self.members()).filter(|to| *to != self.own) {
            let (member, links) = (self.clone(), self.links.clone());
            tasks.push(env.spawn(links.keep(to, move || member.step(|core| core.lost(to)))));
        }
        tasks.push(env.spawn(self.clone().accept(listener, machine.clone())));
        self.work_off(&*machine, confirmed).await
    }

    /// The number of members.
    pub fn members(&self) -> usize {
        lock(&self.core).members()
    }

    async fn tick(self: Arc<Self>) {
        // Members do not tick in step.
        let mut at = self.env.now().mono + self.env.random() % self.rules.tick;
        loop {
            self.env.sleep_until(at).await;
            let now = self.env.now().mono;
            // Skips ticks that were slept through.
            at += ((now.saturating_sub(at)) / self.rules.tick + 1) * self.rules.tick;
            *lock(&self.ticks) += 1;
            let time = self.time();
            self.step(|core| core.tick(time));
        }
    }

    async fn accept<M: Machine>(self: Arc<Self>, mut listener: E::Listener, machine: Arc<M>) {
        let mut connections: BTreeMap<u64, E::Task> = BTreeMap::new();
        let mut number = 0;
        let (over, mut ended) = mpsc::unbounded_channel();
        // If the socket is gone, the process ends.
        while let Ok(stream) = listener.accept().await {
            while let Ok(number) = ended.try_recv() {
                connections.remove(&number);
            }
            number += 1;
            let (member, machine, over) = (self.clone(), machine.clone(), over.clone());
            let task = async move {
                member.serve(stream, machine).await;
                let _ = over.send(number);
            };
            connections.insert(number, self.env.spawn(task));
        }
    }

    /// Serves a connection from another member.
    async fn serve<M: Machine>(self: Arc<Self>, stream: E::Stream, machine: Arc<M>) {
        let (answers, mut frames) = mpsc::unbounded_channel();
        let mut from = None;
        let member = self.clone();
        let take = move |frame| match (frame, from) {
            (Frame::Hello(member), _) => from = Some(member),
            (Frame::Message(message), Some(from)) => member.hear(from, message),
            (Frame::Ask(number, body), Some(_)) => {
                let (answers, answer) = (answers.clone(), machine.clone().asked(body));
                member.env.spawn_detached(async move {
                    let _ = answers.send(Frame::Answer(number, answer.await).encode());
                });
            }
            _ => {}
        };
        carry(&self.env, Some(self.rules.silence), stream, &mut frames, take).await;
    }

    fn hear(&self, from: usize, message: Message) {
        self.step(|core| core.hear(from, message));
    }

    /// Processes the core's outputs: saves, sends and applies.
    async fn work_off(
        self: &Arc<Self>,
        machine: &impl Machine,
        confirmed: mpsc::UnboundedSender<(u64, Index)>,
    ) -> io::Result<()> {
        let member = self.clone();
        let mut saver = Saver::start(&self.env, move |saved| member.step(|core| core.saved(saved)));
        loop {
            let ready = lock(&self.core).ready();
            let Some(ready) = ready else {
                tokio::select! {
                    biased;
                    error = saver.failed() => return Err(error),
                    () = self.work.notified() => continue,
                }
            };
            if let Some(standing) = ready.standing {
                machine.stands(standing, self.own);
                self.standing.send_replace(standing);
            }
            if ready.leads {
                self.send(&ready.messages);
            }
            for (index, entry) in &ready.committed {
                let why = machine.apply(*index, entry.term, &entry.data);
                let (of_group, of_key) = (|group| machine.holder(group), |key: &str| machine.holder_of(key));
                grants::tell_agreed(*index, (entry.term, &entry.data), why, of_group, of_key);
                self.applied.send_replace(*index);
            }
            if !ready.record.is_empty() {
                saver.save(ready.record, ready.saved);
            }
            if !(ready.leads && self.rules.while_saving == WhileSaving::GoesOn) {
                let says = (self.rules.while_saving == WhileSaving::SaysThatItLeads).then_some(self.rules.heartbeat);
                saver.wait(&self.env, says, || self.send(&lock(&self.core).say_that_it_leads())).await?;
            }
            if !ready.leads {
                self.send(&ready.messages);
            }
            for read in ready.reads {
                // The reading loop ends with the process.
                let _ = confirmed.send(read);
            }
        }
    }

    fn send(&self, messages: &[(usize, Message)]) {
        for (to, message) in messages {
            self.links.send(*to, &Frame::Message(message.clone()));
        }
    }
}
