//! A member as it runs: a core, its log on disk, its connections, and the state machine that is fed with what is committed.
//!
//! As `etcdserver/raft.go: start` has it, one loop saves, sends and applies, and waits for the disk; messages are heard
//! meanwhile, and what follows from them waits for the loop. So a member whose disk stalls may know in its core that another
//! one leads, and its state machine does not.

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

/// How long a request waits for the agreement (etcd's `ReqTimeout`: 5 s and two election timeouts), nanoseconds.
pub const PATIENCE: u64 = 7 * SECOND;
/// What comes of a question of another member.
pub type Answered = Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>;

/// The state machine.
pub trait Machine: Send + Sync + 'static {
    /// An entry is committed. One without data begins a term. How has a leadership of candidates ended that is over by it?
    fn apply(&self, index: Index, term: Term, data: &[u8]) -> GrantEnd;
    /// Who holds a group's leadership, by what is applied.
    fn holder(&self, group: u16) -> Option<Holder>;
    /// Who leads has changed, as far as this member knows.
    fn stands(&self, standing: Standing, own: usize);
    /// Another member asks something.
    fn asked(self: Arc<Self>, body: Vec<u8>) -> Answered;
}

/// Why a read cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unread {
    /// No majority has confirmed it in time.
    TimedOut,
    /// Another member has become leader meanwhile.
    LeaderChanged,
}

type Waiting = oneshot::Sender<Result<Index, Unread>>;

/// A member that runs.
pub struct Member<E: Env> {
    env: E,
    /// Its place.
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

/// Where a member listens for the others, and who they are.
pub struct Place {
    /// Its own place among them.
    pub own: usize,
    /// Where each listens.
    pub peers: Vec<Endpoint>,
    /// Who was elected before anything began, if anybody was.
    pub founder: Option<usize>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<E: Env> Member<E> {
    /// Reads the disk, and is what it was when it stopped.
    ///
    /// # Errors
    /// The disk's.
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

    /// Who leads, as far as the state machine was told.
    pub fn standing(&self) -> Standing {
        *self.standing.borrow()
    }

    /// Does this member lead, as far as its state machine was told?
    pub fn leads(&self) -> bool {
        self.standing().leader == Some(self.own)
    }

    /// Who leads, as far as the core has heard.
    pub fn heard_leader(&self) -> Option<usize> {
        lock(&self.core).leader()
    }

    /// Tells of changes of who leads.
    pub fn changes(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    /// Up to where the state machine has come.
    pub fn applied(&self) -> Index {
        *self.applied.borrow()
    }

    /// Waits until an index is applied.
    pub async fn wait_applied(&self, index: Index) {
        // The sender lives as long as the member.
        let _ = self.applied.subscribe().wait_for(|applied| *applied >= index).await;
    }

    /// Waits until a leader is known, at most so long.
    pub async fn wait_leader(&self, timeout: u64) -> Option<usize> {
        let mut changes = self.changes();
        let known = async { changes.wait_for(|standing| standing.leader.is_some()).await.ok().and_then(|s| s.leader) };
        self.env.timeout(timeout, known).await.flatten()
    }

    /// Proposes an entry as soon as somebody leads; `false` when nobody does for that long.
    pub async fn propose(&self, data: Vec<u8>, timeout: u64) -> bool {
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

    /// Proposes an entry if this member leads, as far as its core knows.
    pub fn propose_leading(&self, data: Vec<u8>) -> bool {
        self.step(|core| core.propose_leading(data.into()))
    }

    /// The end of this member's log, whatever is committed of it.
    pub fn end(&self) -> Index {
        lock(&self.core).end()
    }

    /// The index from which on may be read what is up to date, confirmed by a majority.
    ///
    /// # Errors
    /// Why it cannot be told.
    pub async fn read_index(&self) -> Result<Index, Unread> {
        let (sender, answer) = oneshot::channel();
        lock(&self.waiting).push(sender);
        self.wants.notify_one();
        answer.await.unwrap_or(Err(Unread::TimedOut))
    }

    /// The same, and waits until the state machine has come so far.
    ///
    /// # Errors
    /// As for [`Member::read_index`].
    pub async fn catch_up(&self) -> Result<(), Unread> {
        let index = self.read_index().await?;
        self.wait_applied(index).await;
        Ok(())
    }

    /// Asks another member something.
    pub async fn ask(&self, member: usize, body: Vec<u8>) -> Option<Vec<u8>> {
        self.links.ask(member, body).await
    }

    /// Is there a connection to a member?
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

    /// Runs until the disk fails, or the socket is gone.
    ///
    /// # Errors
    /// Which.
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

    /// How many members there are.
    pub fn members(&self) -> usize {
        lock(&self.core).members()
    }

    async fn tick(self: Arc<Self>) {
        // Members do not tick together.
        let mut at = self.env.now().mono + self.env.random() % self.rules.tick;
        loop {
            self.env.sleep_until(at).await;
            let now = self.env.now().mono;
            // Ticks that were slept through are left out.
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
        // A socket that is gone takes the process with it.
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

    /// One connection of another member.
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

    /// Saves, sends and applies what there is to be.
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
                grants::tell_agreed(*index, (entry.term, &entry.data), why, |group| machine.holder(group));
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
                // The loop of reads ends with the process.
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
