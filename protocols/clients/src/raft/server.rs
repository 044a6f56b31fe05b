//! A Raft node: openraft on its journal, and what it answers to its peers.
//!
//! **A restarted node keeps quiet for one leader lease.** openraft's followers grant no vote within `election_timeout_max`
//! of the leader's last message (`openraft/src/engine/engine_impl.rs: handle_vote_req`), which is what a leader's belief
//! rests on. The time of that message is in memory alone: `openraft/src/storage/helper.rs: get_initial_state` starts with
//! a lease of zero, and says in a comment that lease reads are broken by it. So a node that has voted before takes part in
//! nothing until any lease that it may have granted is over by its own clock.
//!
//! **A restarted leader starts a new term**: `enable_leader_restore`, on by default, would let it go on in its old one, and
//! a term's token belongs to one life of one process.

use super::{
    journal::Journal,
    network::Links,
    runtime::Scope,
    store::{Log, Machine, Raft},
    types::Snapshot,
    wire::{Answer, Change, Frames, Numbered, Request, frame},
};
use crate::env::{Env, Listener};
use openraft::{
    ChangeMembers, Config, EmptyNode, RaftMetrics, SnapshotPolicy, StepDownPolicy, async_runtime::WatchReceiver,
};
use protocols::types::MILLISECOND;
use std::{collections::BTreeSet, io, sync::Arc};
use tokio::{
    io::AsyncWriteExt,
    sync::{mpsc, watch},
};

/// A snapshot is taken, and the log before it forgotten, every so many entries. An election makes one.
const SNAPSHOT_ENTRIES: u64 = 100;
/// Entries that stay behind a snapshot, for followers that lag a little.
const KEPT_ENTRIES: u64 = 20;

/// Who a node is, and its timers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaftSettings {
    /// Its id.
    pub id: u64,
    /// The voters that the cluster begins with; each of them may be the first to start.
    pub founders: BTreeSet<u64>,
    /// The port that it answers on.
    pub port: u16,
    /// Shortest and longest time that a follower waits before it stands, nanoseconds; used as whole milliseconds.
    pub election_timeout: (u64, u64),
    /// From one heartbeat to the next, nanoseconds; used as whole milliseconds.
    pub heartbeat: u64,
}

impl RaftSettings {
    /// The leader lease: for so long after the leader's last message do followers grant no vote, nanoseconds.
    pub fn lease(&self) -> u64 {
        self.election_timeout.1 / MILLISECOND * MILLISECOND
    }

    fn config(&self) -> Result<Config, StartError> {
        let config = Config {
            cluster_name: "fencepost".to_owned(),
            election_timeout_min: self.election_timeout.0 / MILLISECOND,
            election_timeout_max: self.election_timeout.1 / MILLISECOND,
            heartbeat_interval: (self.heartbeat / MILLISECOND).max(1),
            enable_pre_vote: Some(true),
            enable_leader_restore: Some(false),
            // A leader that leaves hands over first, and ends its belief before that.
            removed_leader_step_down: StepDownPolicy::Never,
            snapshot_policy: SnapshotPolicy::LogsSinceLast(SNAPSHOT_ENTRIES),
            max_in_snapshot_log_to_keep: KEPT_ENTRIES,
            ..Config::default()
        };
        config.validate().map_err(|e| StartError(e.to_string()))
    }
}

/// Why a node does not start: one sentence.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

/// A node that runs. Dropping it stops it answering; [`RaftServer::stop`] ends it.
pub struct RaftServer<E: Env> {
    id: u64,
    raft: Raft,
    links: Links<E>,
    _answering: E::Task,
}

impl<E: Env> RaftServer<E> {
    /// Starts a node from its journal: recovers, waits if it must, and founds the cluster if it is new. To be called in
    /// `scope`.
    ///
    /// # Errors
    /// One sentence: the settings make no sense, the disk or the port fails.
    pub async fn start(env: E, scope: Scope, settings: &RaftSettings, links: Links<E>) -> Result<Self, StartError> {
        let config = Arc::new(settings.config()?);
        let started = env.now().mono;
        let journal =
            Journal::open(env.disk()).await.map_err(|e| StartError(format!("the journal cannot be opened: {e}")))?;
        let journal = Arc::new(journal);
        let has_voted = journal.state().vote.is_some_and(|vote| vote.leader_id.term > 0);
        if has_voted {
            protocols::mark!(RaftWaitsAfterStart);
            env.sleep_until(started.saturating_add(settings.lease())).await;
        }
        let (log, machine) = (Log::new(journal.clone(), Arc::new(env.clone())), Machine::new(journal));
        let raft = Raft::new(settings.id, config, links.clone(), log, machine).await;
        let raft = raft.map_err(|e| StartError(e.to_string()))?;
        let port = settings.port;
        let listener = env.listen(port).await.map_err(|e| StartError(format!("cannot listen on port {port}: {e}")))?;
        let answering = answer_all(env.clone(), scope.clone(), listener, raft.clone());
        let answering = env.spawn(scope.run(answering));
        if settings.founders.contains(&settings.id) {
            let members: std::collections::BTreeMap<u64, EmptyNode> =
                settings.founders.iter().map(|id| (*id, EmptyNode {})).collect();
            // Every founder writes the same first entry, of term 0, so it does not matter who does, nor how many. A node
            // that has a log refuses, as it should.
            let _ = raft.initialize(members).await;
        }
        Ok(RaftServer { id: settings.id, raft, links, _answering: answering })
    }

    /// What openraft tells of itself; changes at every step that it takes.
    pub fn metrics(&self) -> openraft::alias::WatchReceiverOf<super::types::Types, RaftMetrics<super::types::Types>> {
        self.raft.metrics()
    }

    /// openraft's handle.
    pub fn raft(&self) -> Raft {
        self.raft.clone()
    }

    /// Ends the node. It answers nobody from here on.
    pub async fn stop(self) {
        drop(self._answering);
        let _ = self.raft.shutdown().await;
    }

    /// Has the leader change the members, whoever that is; waits for it to be committed, up to `ttl` nanoseconds per step.
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
pub fn other_voters(metrics: &RaftMetrics<super::types::Types>, id: u64) -> impl Iterator<Item = u64> {
    metrics.membership_config.voter_ids().filter(move |voter| *voter != id)
}

/// The voter besides the leader itself that has most of the log, and among those the one that was heard of last.
pub fn best_successor(metrics: &RaftMetrics<super::types::Types>) -> Option<u64> {
    let matched = |voter: &u64| metrics.replication.as_ref().and_then(|r| r.get(voter).copied().flatten());
    let heard = |voter: &u64| metrics.heartbeat.as_ref().and_then(|h| h.get(voter).copied().flatten());
    // Of equals, the lowest id.
    other_voters(metrics, metrics.id).max_by_key(|voter| (matched(voter), heard(voter), std::cmp::Reverse(*voter)))
}

/// Was the node elected while its predecessor was removing it? Then the voters that are to be do not include it.
fn is_leaving(metrics: &RaftMetrics<super::types::Types>) -> bool {
    let voters = metrics.membership_config.membership().get_joint_config();
    voters.last().is_some_and(|voters| !voters.contains(&metrics.id))
}

async fn change_members(raft: &Raft, change: Change) -> Answer {
    // Another change would bridge to voters without it while it goes on leading them, which openraft's assertions do not
    // allow. It hands over first, as leaders that leave do.
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

async fn answer_all<E: Env>(env: E, scope: Scope, mut listener: E::Listener, raft: Raft) {
    // When this ends, so does every connection. A peer would go on asking on the one that it has, and be refused by a node that
    // has failed although another runs in its place.
    let (_open, closed) = watch::channel(());
    while let Ok(stream) = listener.accept().await {
        let connection = converse(env.clone(), scope.clone(), stream, raft.clone(), closed.clone());
        env.spawn_detached(scope.run(async move { drop(connection.await) }));
    }
}

/// Answers on one connection until it ends, or until the node does. Requests are worked on side by side: a heartbeat does
/// not wait for the disk behind entries that came before it.
async fn converse<E: Env>(
    env: E,
    scope: Scope,
    stream: E::Stream,
    raft: Raft,
    mut closed: watch::Receiver<()>,
) -> io::Result<()> {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut frames = Frames::new(reader);
    let (answered, mut answers) = mpsc::unbounded_channel::<Numbered<Answer>>();
    loop {
        tokio::select! {
            biased;
            _ = closed.changed() => return Ok(()),
            Some(answer) = answers.recv() => {
                writer.write_all(&frame(&answer)?).await?;
                writer.flush().await?;
            }
            request = frames.next::<Numbered<Request>>() => {
                let Numbered { number, body } = request?;
                let (raft, answered) = (raft.clone(), answered.clone());
                env.spawn_detached(scope.run(async move {
                    // Whoever asked may have hung up.
                    let _ = answered.send(Numbered { number, body: answer(&raft, body).await });
                }));
            }
        }
    }
}

async fn answer(raft: &Raft, request: Request) -> Answer {
    fn or_refused<T, X: ToString>(result: Result<T, X>, answer: impl FnOnce(T) -> Answer) -> Answer {
        result.map_or_else(|error| Answer::Refused(error.to_string()), answer)
    }
    match request {
        Request::Append(rpc) => or_refused(raft.append_entries(rpc).await, Answer::Append),
        Request::Vote(rpc) => or_refused(raft.vote(rpc).await, Answer::Vote),
        Request::PreVote(rpc) => or_refused(raft.pre_vote(rpc).await, Answer::Vote),
        Request::Transfer(rpc) => or_refused(raft.handle_transfer_leader(rpc).await, Answer::Transfer),
        Request::Snapshot { vote, meta } => {
            protocols::mark!(RaftSnapshot);
            let snapshot = Snapshot { meta, snapshot: () };
            or_refused(raft.install_full_snapshot(vote, snapshot).await, Answer::Snapshot)
        }
        Request::Members(change) => change_members(raft, change).await,
    }
}
