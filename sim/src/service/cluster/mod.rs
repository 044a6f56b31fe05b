//! Members of a service that agree on a log, whatever the service: terms, votes, entries that a majority has on disk, reads
//! that a majority confirms. Each service's own model is the state machine, and brings its own timings.
//!
//! [`core`] is pure; [`member`] runs it: its log on the process's disk, its messages over connections between members,
//! requests that one member makes to another beside them.
//!
//! **After** etcd-io/raft as etcd 3.4.23 and 3.5.13 have it (`raft/raft.go`, `raft/read_only.go`, `etcdserver/raft.go:
//! start`, `rafthttp/stream.go`), whose rules the others can be told in: a leader sends before it has saved, a follower
//! after; what is read is read at an index that a majority has confirmed.
//!
//! **What is simplified.** The log is kept whole: there are no snapshots. Members do not join or leave. Entries follow each
//! other on one connection a direction, which breaks off after 5 s of silence; a real member has several for different kinds
//! of message. Nothing limits how much is under way. The members have elected before anything begins, as a server that has
//! run for a while; whoever starts later finds out by messages alone.

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

/// What a leader does while its disk is at work. A follower waits for it before it says anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhileSaving {
    /// Nothing: it has sent what it had to send (etcd: `etcdserver/raft.go: start`, one loop for all of it).
    Waits,
    /// It says that it leads, and does nothing else (hashicorp/raft: `replication.go: heartbeat` beside `raft.go:
    /// dispatchLogs`). Nobody replaces it, and nothing is committed, for as long as its disk stalls.
    SaysThatItLeads,
    /// Everything: its followers' disks may be a majority without its own (ZooKeeper: `SyncRequestProcessor.java` beside
    /// `ProposalRequestProcessor.java`).
    GoesOn,
}

/// The rules by which the members of a service elect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// From one look at the clock to the next, nanoseconds.
    pub tick: u64,
    /// Does time pass by ticks alone? Then a process that was stopped has missed none of it.
    pub counts_ticks: bool,
    /// From one heartbeat to the next, nanoseconds.
    pub heartbeat: u64,
    /// Where a follower's patience with a silent leader is drawn from, nanoseconds.
    pub election: (u64, u64),
    /// The same where nobody is known to lead: of who stands, and of who has lost its leader.
    pub vote: (u64, u64),
    /// Does a follower look at its own pace whether it has heard from the leader within the shortest patience? Otherwise every
    /// message of the leader's starts its patience anew.
    pub own_pace: bool,
    /// Nothing heard on a connection for so long: it is given up, nanoseconds.
    pub silence: u64,
    /// Does what a member asks another go over a connection of its own, which nobody gives up for its silence? (etcd:
    /// `rafthttp.NewRoundTripper`; Consul: `agent/pool`.) ZooKeeper's members have one for everything.
    pub questions_apart: bool,
    /// A leader looks every so often whether a majority was heard from within so long, and steps down otherwise; nanoseconds.
    pub quorum: (u64, u64),
    /// Does it count how often it has looked, and not what its clock shows? Then it has missed nobody while it was stopped.
    pub counts_looks: bool,
    /// Does who wants to stand ask first?
    pub pre_vote: bool,
    /// Does who has heard from a leader within the shortest patience keep its vote?
    pub keeps_vote: bool,
    /// Is a leader gone whose connection breaks?
    pub hangs_up: bool,
    /// What does a leader do while its disk is at work?
    pub while_saving: WhileSaving,
    /// Is a read that is asked for again the round that it was before? (etcd until pull request 21399; `docs/bugs.md`, E9.)
    pub retry_keeps_round: bool,
}

/// etcd's defaults: `--heartbeat-interval 100`, `--election-timeout 1000`, drawn from one to two of it by ticks
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

/// ZooKeeper's: `tickTime` 2 s, `syncLimit` 5. A leader pings twice a tick, and looks once, when it has counted another tick,
/// whether a majority was in step `syncLimit` ticks ago or since (`Leader.java: lead`, `LearnerHandler.java: synced`): by its
/// own count, so that a leader that was stopped goes on until its followers' connections are seen to be gone. A follower gives up a leader of which it has read nothing for `syncLimit` ticks
/// (`Learner.java: connectToLeader`), or whose connection ends. An election takes a round of notifications and 200 ms for
/// more of them (`FastLeaderElection.java: finalizeWait`), and is not drawn out by rivals.
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

/// hashicorp/raft's defaults (`config.go: DefaultConfig`): heartbeats a tenth of their timeout of 1 s, or up to twice that; a
/// leader that has not reached a majority for 500 ms steps down (`checkLeaderLease`); a follower looks after one to two
/// heartbeat timeouts whether the last heartbeat is one ago (`runFollower`). Consul multiplies all three by 5
/// unless `raft_multiplier` is 1.
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
