//! A Raft node: openraft on its journal, and the server for its peers.
//!
//! **A restarted node stays silent for one leader lease.** openraft's followers grant no vote within
//! `election_timeout_max` of the leader's last message (`openraft/src/engine/engine_impl.rs: handle_vote_req`), and a
//! leader's belief rests on that. The time of that message is in memory only: `openraft/src/storage/helper.rs:
//! get_initial_state` starts with a lease of zero, and a comment there says that this breaks lease reads. So a node
//! that has voted before does not take part until any lease that it may have granted has expired on its own clock.
//!
//! **A restarted leader starts a new term**: `enable_leader_restore`, on by default, would let it continue in its old
//! one, but a term's token belongs to one incarnation of one process.

use super::{
    journal::{Journal, State},
    network::Links,
    runtime::Scope,
    store::{Log, Machine, Raft},
    wire::{Answer, Change, Frames, Numbered, Request, Snapshot, frame},
};
use crate::env::{Env, Listener};
use openraft::{
    ChangeMembers, Config, EmptyNode, EntryPayload, RaftMetrics, SnapshotPolicy, StepDownPolicy,
    async_runtime::WatchReceiver, raft::TransferLeaderRequest,
};
use protocols::types::MILLISECOND;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{
    io::AsyncWriteExt,
    sync::{mpsc, watch},
};

/// A snapshot is taken and the log truncated after this many entries. An election appends one.
const SNAPSHOT_ENTRIES: u64 = 100;
/// Entries kept before a snapshot, for followers that lag slightly.
const KEPT_ENTRIES: u64 = 20;

/// No node's id.
pub const NOBODY: u64 = u64::MAX;

/// A node's identity and timers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaftSettings {
    pub id: u64,
    /// The cluster's initial voters; any of them may start first.
    pub founders: BTreeSet<u64>,
    /// The port for its peers.
    pub port: u16,
    /// The shortest and longest election timeout, nanoseconds; rounded down to milliseconds.
    pub election_timeout: (u64, u64),
    /// The heartbeat interval, nanoseconds; rounded down to milliseconds.
    pub heartbeat: u64,
    /// Of a fleet whose voters are the founders for ever: what its nodes recognize each other by. Such a node stands
    /// for election only when it is told to.
    pub fleet: Option<u64>,
}

impl RaftSettings {
    /// The leader lease: how long followers grant no vote after the leader's last message, nanoseconds.
    pub fn lease(&self) -> u64 {
        self.election_timeout.1 / MILLISECOND * MILLISECOND
    }

    fn config(&self) -> Result<Config, StartError> {
        let config = Config {
            cluster_name: "fencepost".to_owned(),
            election_timeout_min: self.election_timeout.0 / MILLISECOND,
            election_timeout_max: self.election_timeout.1 / MILLISECOND,
            heartbeat_interval: (self.heartbeat / MILLISECOND).max(1),
            enable_elect: self.fleet.is_none(),
            enable_pre_vote: Some(true),
            enable_leader_restore: Some(false),
            // A departing leader hands over first, and gives up its belief before that.
            removed_leader_step_down: StepDownPolicy::Never,
            snapshot_policy: SnapshotPolicy::LogsSinceLast(SNAPSHOT_ENTRIES),
            max_in_snapshot_log_to_keep: KEPT_ENTRIES,
            ..Config::default()
        };
        config.validate().map_err(|e| StartError(e.to_string()))
    }

    /// Whether the journal's voters are the founders, if it has any.
    fn is_of(&self, state: &State) -> Result<(), StartError> {
        let members = state.log.values().rev().find_map(|entry| match &entry.payload {
            EntryPayload::Membership(members) => Some(members),
            _ => None,
        });
        let members = members.or(state.snapshot.as_ref().map(|meta| meta.last_membership.membership()));
        match members {
            Some(members) if !members.voter_ids().eq(self.founders.iter().copied()) => {
                Err(StartError("the journal is of a fleet with other members".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

/// Why a node cannot start, in one sentence.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

/// A running node. Dropping it stops its answers; [`RaftServer::stop`] shuts it down.
pub struct RaftServer<E: Env> {
    id: u64,
    raft: Raft,
    /// The founders, to be written by whoever stands first.
    founds: Option<BTreeSet<u64>>,
    /// Whether it takes the leadership that is handed to it.
    stands: Arc<AtomicBool>,
    links: Links<E>,
    _answering: E::Task,
}

impl<E: Env> RaftServer<E> {
    /// Starts a node from its journal: recovers, waits if it must, and founds a new cluster, unless it is one of a
    /// fleet. Call it in `scope`.
    ///
    /// # Errors
    /// Invalid settings, or a failed disk or port, as one sentence.
    pub async fn start(env: E, scope: Scope, settings: &RaftSettings, links: Links<E>) -> Result<Self, StartError> {
        let config = Arc::new(settings.config()?);
        let started = env.now().mono;
        let journal =
            Journal::open(env.disk()).await.map_err(|e| StartError(format!("the journal cannot be opened: {e}")))?;
        let journal = Arc::new(journal);
        if settings.fleet.is_some() {
            settings.is_of(&journal.state())?;
        }
        let has_voted = journal.state().vote.is_some_and(|vote| vote.leader_id.term > 0);
        if has_voted {
            protocols::mark!("raft: a voter waits for a lease after its restart");
            env.sleep_until(started.saturating_add(settings.lease())).await;
        }
        let (log, machine) = (Log::new(journal.clone(), Arc::new(env.clone())), Machine::new(journal));
        let raft = Raft::new(settings.id, config, links.clone(), log, machine).await;
        let raft = raft.map_err(|e| StartError(e.to_string()))?;
        let port = settings.port;
        let listener = env.listen(port).await.map_err(|e| StartError(format!("cannot listen on port {port}: {e}")))?;
        let stands = Arc::new(AtomicBool::new(settings.fleet.is_none()));
        let answers = Answers { raft: raft.clone(), fleet: settings.fleet, stands: stands.clone() };
        let answering = answer_all(env.clone(), scope.clone(), listener, answers);
        let answering = env.spawn(scope.run(answering));
        let founds = Some(settings.founders.clone()).filter(|founders| founders.contains(&settings.id));
        let mut server = RaftServer { id: settings.id, raft, founds, stands, links, _answering: answering };
        if settings.fleet.is_none() {
            server.found().await;
        }
        Ok(server)
    }

    /// Founds the cluster, if it is new and this is a founder, and stands for election there.
    async fn found(&mut self) {
        let Some(founders) = self.founds.take() else { return };
        let members: BTreeMap<u64, EmptyNode> = founders.into_iter().map(|id| (id, EmptyNode {})).collect();
        // Every founder writes the same first entry, of term 0, so several may do so. A node whose log is not empty
        // refuses, as it should.
        let _ = self.raft.initialize(members).await;
    }

    /// Whether the node of a fleet stands for election.
    pub async fn stand(&mut self, stands: bool) {
        self.stands.store(stands, Ordering::Relaxed);
        self.raft.runtime_config().elect(stands);
        if stands {
            self.found().await;
        }
    }

    /// openraft's metrics, updated at every step.
    pub fn metrics(&self) -> openraft::alias::WatchReceiverOf<super::wire::Types, RaftMetrics<super::wire::Types>> {
        self.raft.metrics()
    }

    pub fn raft(&self) -> Raft {
        self.raft.clone()
    }

    /// Shuts the node down. It no longer answers.
    pub async fn stop(self) {
        drop(self._answering);
        let _ = self.raft.shutdown().await;
    }

    /// Has the leader, on whichever node, change the members; waits for the commit, up to `ttl` nanoseconds per step.
    pub fn change(&self, change: Change, ttl: u64) -> impl Future<Output = Answer> + Send + use<E> {
        let (raft, links, id) = (self.raft.clone(), self.links.clone(), self.id);
        async move {
            let leader = raft.metrics().borrow_watched().current_leader;
            match leader {
                None => Answer::Refused("nobody leads".to_owned()),
                Some(leader) if leader == id => change_members(&raft, change).await,
                Some(leader) => {
                    let answer = links.ask(leader, Request::Members(change), ttl).await;
                    answer.unwrap_or_else(|e| Answer::Refused(e.to_string()))
                }
            }
        }
    }
}

/// The voters besides `id`.
pub fn other_voters(metrics: &RaftMetrics<super::wire::Types>, id: u64) -> impl Iterator<Item = u64> {
    metrics.membership_config.voter_ids().filter(move |voter| *voter != id)
}

/// The voter that stands, other than the leader itself, with the longest matching log; among equals, the one heard from
/// last.
pub fn best_successor(metrics: &RaftMetrics<super::wire::Types>, stands: impl Fn(u64) -> bool) -> Option<u64> {
    let matched = |voter: &u64| metrics.replication.as_ref().and_then(|r| r.get(voter).copied().flatten());
    let heard = |voter: &u64| metrics.heartbeat.as_ref().and_then(|h| h.get(voter).copied().flatten());
    // Among equals, the lowest id.
    let standing = other_voters(metrics, metrics.id).filter(|voter| stands(*voter));
    standing.max_by_key(|voter| (matched(voter), heard(voter), std::cmp::Reverse(*voter)))
}

/// Whether the node was elected while its predecessor was removing it: the new configuration then lacks it.
fn is_leaving(metrics: &RaftMetrics<super::wire::Types>) -> bool {
    let voters = metrics.membership_config.membership().get_joint_config();
    voters.last().is_some_and(|voters| !voters.contains(&metrics.id))
}

async fn change_members(raft: &Raft, change: Change) -> Answer {
    // Another change would move to voters without this node while it keeps leading, which fails openraft's assertions.
    // Like every departing leader, it hands over first.
    if is_leaving(&raft.metrics().borrow_watched()) {
        return Answer::Refused("this leader is being removed itself".to_owned());
    }
    let changed = match change {
        Change::Add(id) => match raft.add_learner(id, EmptyNode {}, true).await {
            Ok(_) => raft.change_membership(ChangeMembers::AddVoterIds([id].into()), true).await,
            Err(error) => Err(error),
        },
        Change::Remove(id) if id == *raft.node_id() => {
            return Answer::Refused("a leader hands over before it leaves".to_owned());
        }
        Change::Remove(id) => raft.change_membership(ChangeMembers::RemoveVoters([id].into()), false).await,
    };
    match changed {
        Ok(_) => Answer::Changed,
        Err(error) => Answer::Refused(error.to_string()),
    }
}

/// What a node answers its peers with.
#[derive(Clone)]
struct Answers {
    raft: Raft,
    fleet: Option<u64>,
    stands: Arc<AtomicBool>,
}

async fn answer_all<E: Env>(env: E, scope: Scope, mut listener: E::Listener, answers: Answers) {
    // Every connection ends with this function. Otherwise a peer would keep asking on its open connection and be
    // refused by a failed node, although a new one runs in its place.
    let (_open, closed) = watch::channel(());
    while let Ok(stream) = listener.accept().await {
        let connection = converse(env.clone(), scope.clone(), stream, answers.clone(), closed.clone());
        env.spawn_detached(scope.run(async move { drop(connection.await) }));
    }
}

/// Answers on one connection until it or the node ends. Requests are handled concurrently: a heartbeat does not wait
/// behind earlier entries for the disk.
async fn converse<E: Env>(
    env: E,
    scope: Scope,
    stream: E::Stream,
    answers: Answers,
    mut closed: watch::Receiver<()>,
) -> io::Result<()> {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut frames = Frames::new(reader);
    let fleet = answers.fleet;
    let (answered, mut ready) = mpsc::unbounded_channel::<Numbered<Answer>>();
    loop {
        tokio::select! {
            biased;
            _ = closed.changed() => return Ok(()),
            Some(answer) = ready.recv() => {
                writer.write_all(&frame(&answer)?).await?;
                writer.flush().await?;
            }
            request = frames.next::<Numbered<Request>>() => {
                let Numbered { number, fleet: theirs, body, .. } = request?;
                if theirs != fleet {
                    // Their terms and votes must not count here.
                    let body = Answer::Refused("it is of another fleet: the lists of members, ttl and tokens_above must be the same".to_owned());
                    let _ = answered.send(Numbered { number, fleet, stands: None, body });
                    continue;
                }
                let (answers, answered) = (answers.clone(), answered.clone());
                env.spawn_detached(scope.run(async move {
                    // The peer may have hung up.
                    let _ = answered.send(Numbered { number, fleet, stands: answers.stands(), body: answers.answer(body).await });
                }));
            }
        }
    }
}

impl Answers {
    fn stands(&self) -> Option<bool> {
        self.fleet.map(|_| self.stands.load(Ordering::Relaxed))
    }

    async fn answer(&self, request: Request) -> Answer {
        fn or_refused<T, X: ToString>(result: Result<T, X>, answer: impl FnOnce(T) -> Answer) -> Answer {
            result.map_or_else(|error| Answer::Refused(error.to_string()), answer)
        }
        let raft = &self.raft;
        match request {
            // The former leader's lease is over, and nobody here follows it.
            Request::Transfer(rpc) if !self.stands.load(Ordering::Relaxed) => {
                let to_another = TransferLeaderRequest::new(*rpc.from_leader(), NOBODY, rpc.last_log_id().copied());
                or_refused(raft.handle_transfer_leader(to_another).await, Answer::Transfer)
            }
            Request::Append(rpc) => or_refused(raft.append_entries(rpc).await, Answer::Append),
            Request::Vote(rpc) => or_refused(raft.vote(rpc).await, Answer::Vote),
            Request::PreVote(rpc) => or_refused(raft.pre_vote(rpc).await, Answer::Vote),
            Request::Transfer(rpc) => or_refused(raft.handle_transfer_leader(rpc).await, Answer::Transfer),
            Request::Snapshot { vote, meta } => {
                protocols::mark!("raft: a snapshot is installed");
                let snapshot = Snapshot { meta, snapshot: () };
                or_refused(raft.install_full_snapshot(vote, snapshot).await, Answer::Snapshot)
            }
            Request::Members(change) => change_members(raft, change).await,
        }
    }
}
