//! Consensus for any service with several members: terms, votes, entries committed by a majority of disks, reads
//! confirmed by a majority. Each service's model is the state machine, and has its own timings.
//!
//! [`core`] is pure. [`member`] runs it: with its log on the process's disk, messages over connections between members,
//! and separate requests from one member to another.
//!
//! **Modelled on** etcd-io/raft as in etcd 3.4.23 and 3.5.13 (`raft/raft.go`, `raft/read_only.go`, `etcdserver/raft.go:
//! start`, `rafthttp/stream.go`), in whose terms the other services' rules can be expressed: a leader sends before it
//! has saved, a follower afterwards; reads happen at an index that a majority has confirmed.
//!
//! **Simplifications.** The log is kept whole, without snapshots. Members do not join or leave. All entries use one
//! connection per direction, which breaks after 5 s of silence; real members have several for different kinds of
//! message. Messages in flight are not limited. The members have elected a leader beforehand, like servers that have
//! run for a while; a member that starts later learns of it by messages alone.

pub mod core;
mod frames;
mod journal;
mod links;
pub mod member;
pub mod message;
mod questions;
mod saver;
pub(in crate::service) mod seat;

use protocols::types::{MILLISECOND, SECOND};

/// What a leader does while its disk is saving. A follower waits for its disk before it sends anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhileSaving {
    /// Nothing: it has already sent its messages (etcd: `etcdserver/raft.go: start`, one loop for everything).
    Waits,
    /// It only announces that it leads (hashicorp/raft: `replication.go: heartbeat` beside `raft.go: dispatchLogs`).
    /// While its disk stalls, nobody replaces it, and nothing is committed.
    SaysThatItLeads,
    /// It carries on: its followers' disks may be a majority without its own (ZooKeeper: `SyncRequestProcessor.java`
    /// beside `ProposalRequestProcessor.java`).
    GoesOn,
}

/// The election rules of a service's members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The interval at which a member looks at the clock, in nanoseconds.
    pub tick: u64,
    /// Whether time passes by ticks alone; a stopped process then does not notice the time it missed.
    pub counts_ticks: bool,
    /// The heartbeat interval, in nanoseconds.
    pub heartbeat: u64,
    /// The range of a follower's election timeout while it knows a leader, in nanoseconds.
    pub election: (u64, u64),
    /// The same while it knows none: for candidates, and after the leader was lost.
    pub vote: (u64, u64),
    /// Whether a follower checks at its own pace that it has heard from the leader within the shortest timeout.
    /// Otherwise every message from the leader restarts the timeout.
    pub own_pace: bool,
    /// A connection that is silent this long is closed, in nanoseconds.
    pub silence: u64,
    /// Whether members ask questions over separate connections, which nobody closes for their silence (etcd:
    /// `rafthttp.NewRoundTripper`; Consul: `agent/pool`). ZooKeeper's members use one connection for everything.
    pub questions_apart: bool,
    /// A leader checks at the first interval whether it has heard from a majority within the second, or else steps
    /// down; nanoseconds.
    pub quorum: (u64, u64),
    /// Whether it measures that by the number of its checks instead of its clock. A stopped leader then misses nobody.
    pub counts_looks: bool,
    /// Whether a candidate asks before it stands.
    pub pre_vote: bool,
    /// Whether a member that has heard from a leader within the shortest timeout refuses its vote.
    pub keeps_vote: bool,
    /// Whether a follower gives up a leader whose connection breaks.
    pub hangs_up: bool,
    pub while_saving: WhileSaving,
    /// Whether a retried read keeps its round (etcd until pull request 21399; `docs/bugs.md`, E9).
    pub retry_keeps_round: bool,
}

/// etcd's defaults: `--heartbeat-interval 100`, `--election-timeout 1000`, drawn from one to two of it in ticks
/// (`resetRandomizedElectionTimeout`); `CheckQuorum`; `PreVote` since 3.5.
pub const ETCD: Rules = Rules {
    tick: 100 * MILLISECOND,
    counts_ticks: true,
    heartbeat: 100 * MILLISECOND,
    election: (SECOND, 2 * SECOND),
    vote: (SECOND, 2 * SECOND),
    own_pace: false,
    silence: 5 * SECOND,
    questions_apart: true,
    quorum: (SECOND, SECOND),
    counts_looks: false,
    pre_vote: true,
    keeps_vote: true,
    hangs_up: false,
    while_saving: WhileSaving::Waits,
    retry_keeps_round: false,
};

/// ZooKeeper's: `tickTime` 2 s, `syncLimit` 5. A leader pings twice per tick. Once per tick, by its own count of ticks,
/// it checks whether a majority was in step within the last `syncLimit` ticks (`Leader.java: lead`,
/// `LearnerHandler.java: synced`); so a leader that was stopped carries on until it notices that its followers'
/// connections are gone. A follower gives up a leader from which it has read nothing for `syncLimit` ticks
/// (`Learner.java: connectToLeader`), or whose connection ends. An election takes a round of notifications plus 200 ms
/// in which to receive more (`FastLeaderElection.java: finalizeWait`); rivals do not prolong it.
pub const ZOOKEEPER: Rules = Rules {
    tick: 100 * MILLISECOND,
    counts_ticks: false,
    heartbeat: SECOND,
    election: (10 * SECOND, 10 * SECOND + 200 * MILLISECOND),
    vote: (200 * MILLISECOND, 700 * MILLISECOND),
    own_pace: false,
    silence: 10 * SECOND,
    questions_apart: false,
    quorum: (2 * SECOND, 12 * SECOND),
    counts_looks: true,
    pre_vote: true,
    keeps_vote: true,
    hangs_up: true,
    while_saving: WhileSaving::GoesOn,
    retry_keeps_round: false,
};

/// hashicorp/raft's defaults (`config.go: DefaultConfig`). Heartbeats are sent every tenth to fifth of their timeout of
/// 1 s; a leader that has not reached a majority for 500 ms steps down (`checkLeaderLease`); a follower checks after
/// one to two heartbeat timeouts whether the last heartbeat is one timeout old (`runFollower`). Consul multiplies all
/// three by 5 unless `raft_multiplier` is 1.
pub const CONSUL: Rules = Rules {
    tick: 50 * MILLISECOND,
    counts_ticks: false,
    heartbeat: 100 * MILLISECOND,
    election: (SECOND, 2 * SECOND),
    vote: (SECOND, 2 * SECOND),
    own_pace: true,
    silence: 10 * SECOND,
    questions_apart: true,
    quorum: (50 * MILLISECOND, 500 * MILLISECOND),
    counts_looks: false,
    pre_vote: false,
    keeps_vote: true,
    hangs_up: false,
    while_saving: WhileSaving::SaysThatItLeads,
    retry_keeps_round: false,
};
