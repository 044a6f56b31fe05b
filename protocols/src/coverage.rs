//! Coverage marks: named places that a run may or may not reach, so that a sweep can list the ones it never reached.
//!
//! A mark is where something rare is decided, off the hot path: `mark!(KraftVotedAlready);`. It only sets a bit of its
//! thread, so it does not affect behaviour, and hardly speed. A simulated run has its own thread, so the thread's marks
//! are the run's. The idea is from SQLite's `testcase()` and FoundationDB's `TEST()` macros.
//!
//! A mark names the protocols whose runs can reach it; none means all.

use std::cell::Cell;

macro_rules! marks {
    ($($mark:ident [$($protocol:literal),*] $text:literal,)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Mark {
            $(#[doc = $text] $mark,)*
        }

        pub static ALL: &[Mark] = &[$(Mark::$mark),*];

        impl Mark {
            /// Where the mark is, and what reaching it means.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Mark::$mark => $text,)*
                }
            }

            /// The protocols whose runs can reach it; empty for all.
            const fn protocols(self) -> &'static [&'static str] {
                match self {
                    $(Mark::$mark => &[$($protocol),*],)*
                }
            }
        }
    };
}

marks! {
    NodeResignWaits [] "node: a resignation waits for the writes under way",
    NodeFencedAtSeal ["redis-fenced", "etcd-election", "zk-election", "zk-selector", "kafka-zk-controller", "raft", "kraft", "zab-fle", "etcd-key", "consul-session", "k8s-lease", "raft-core", "db-row", "db-row-node-clock", "object-lease", "redis-sentinel"] "node: fenced at the seal",
    NodeFencedAtWrite ["redis-fenced", "etcd-election", "zk-election", "zk-selector", "kafka-zk-controller", "raft", "kraft", "zab-fle", "etcd-key", "consul-session", "k8s-lease", "raft-core", "db-row", "db-row-node-clock", "object-lease", "redis-sentinel"] "node: fenced at a write",
    NodeFencedAtRead ["redis-fenced", "etcd-election", "zk-election", "zk-selector", "kafka-zk-controller", "raft", "kraft", "zab-fle", "etcd-key", "consul-session", "k8s-lease", "raft-core", "db-row", "db-row-node-clock", "object-lease", "redis-sentinel"] "node: fenced at a read",
    NodeOldSeal [] "node: a seal is answered that nobody waits for any more",
    NodeReadFromMemory ["redis-lease", "redis-fenced", "etcd-election", "etcd-key", "raft", "kraft", "zab-fle", "redlock", "raft-core", "db-row", "object-lease", "dynamodb-lock", "redis-sentinel"] "node: a read is answered from memory",
    OutboxGap [] "outbox: a write before this one was lost, so all are sent again",
    OutboxOverdue [] "outbox: everything unanswered is sent again over a new connection",
    LedgerFenced ["redis-fenced", "etcd-election", "zk-election", "zk-selector", "kafka-zk-controller", "raft", "kraft", "zab-fle", "etcd-key", "consul-session", "k8s-lease", "raft-core", "db-row", "db-row-node-clock", "object-lease", "redis-sentinel"] "ledger: a write of an older leader is refused",
    LedgerGap [] "ledger: a write out of turn is refused",
    LedgerDuplicate [] "ledger: a request comes again",
    LedgerBurnt [] "ledger: a number is burnt by a request that was applied before",
    RaftExpired ["raft"] "raft: the belief ends by the clock",
    RaftLateRound ["raft"] "raft: a round is acknowledged too late to be worth anything",
    RaftNewerTerm ["raft"] "raft: a newer term is won while an older one is believed in",
    RaftChangeAgain ["raft"] "raft: a change of the members is asked for again",
    RaftLeaderLeaves ["raft"] "raft: the leader itself is to leave",
    RaftHandsOver ["raft"] "raft: leadership is handed over",
    RaftWaitsAfterStart ["raft"] "raft: a voter waits for a lease after its restart",
    RaftTornJournal ["raft"] "raft: the journal ends in a record that is not whole",
    RaftJournalAnew ["raft"] "raft: the journal is written anew",
    RaftLogCut ["raft"] "raft: the log is cut back",
    RaftSnapshot ["raft"] "raft: a snapshot is installed",
    RaftCorePreVoteRefused ["raft-core"] "raft-core: a pre-vote is refused, for there is a leader",
    RaftCoreStandsBy ["raft-core"] "raft-core: a vote is refused, for there is a leader",
    RaftCoreVotedAlready ["raft-core"] "raft-core: a vote is refused, it was given already",
    RaftCoreLogBehind ["raft-core"] "raft-core: a vote is refused, the log is behind",
    RaftCoreLogCut ["raft-core"] "raft-core: a log is cut back",
    RaftCoreQuorumLost ["raft-core"] "raft-core: the belief ends by the clock",
    RaftCoreOutbid ["raft-core"] "raft-core: a follower's answer has a higher term than the leader",
    RaftCoreHandsOver ["raft-core"] "raft-core: leadership is handed over",
    RaftCoreWaitsAfterStart ["raft-core"] "raft-core: a server keeps its vote for a timeout after its restart",
    KraftVotedAlready ["kraft"] "kraft: vote refused, already voted",
    KraftLogBehind ["kraft"] "kraft: vote refused, the log is behind",
    KraftPreVoteRefused ["kraft"] "kraft: a pre-vote is refused",
    KraftSuccession ["kraft"] "kraft: the leader names successors",
    KraftFetchRefused ["kraft"] "kraft: a fetch is refused",
    KraftDiverged ["kraft"] "kraft: a log that has diverged is cut off",
    KraftResignedAtStart ["kraft"] "kraft: a former leader restarts as resigned",
    KraftCandidateAtStart ["kraft"] "kraft: a former candidate stands again after its restart",
    KraftQuorumLost ["kraft"] "kraft: the leader has lost its quorum",
    KraftPreVoteLost ["kraft"] "kraft: the pre-vote is lost",
    ZabExpired ["zab-fle"] "zab-fle: the belief ends by the clock",
    ZabBehind ["zab-fle"] "zab-fle: somebody is in an older round",
    ZabNewerRound ["zab-fle"] "zab-fle: somebody is in a newer round",
    ZabFinalizingUpset ["zab-fle"] "zab-fle: a better vote comes while the election is about to end",
    ZabJoinsRound ["zab-fle"] "zab-fle: joins a leader elected in its own round",
    ZabJoinsReign ["zab-fle"] "zab-fle: joins a leader elected in another round",
    ZabSaidAgain ["zab-fle"] "zab-fle: silence, so the vote is said again",
    ZabFollowerAhead ["zab-fle"] "zab-fle: a follower has seen more than the leader",
    ZabQuorumTooSlow ["zab-fle"] "zab-fle: the quorum followed too late",
    ZabQuorumGone ["zab-fle"] "zab-fle: the leader has lost its quorum",
    ZabStrayConnect ["zab-fle"] "zab-fle: a connect of before the one that there is",
    ZabFollowerSilent ["zab-fle"] "zab-fle: a follower is silent for too long",
    ZabRefused ["zab-fle"] "zab-fle: the elected leader does not listen yet",
    ZabGivesUp ["zab-fle"] "zab-fle: the elected leader never listens",
    ZabOldEpoch ["zab-fle"] "zab-fle: a leader offers an epoch that is too old",
    ZabAcceptedBefore ["zab-fle"] "zab-fle: an epoch is offered that was accepted before",
    EtcdLeaseGone ["etcd-election", "etcd-key"] "etcd: a keepalive says that the lease is gone",
    EtcdRejected ["etcd-election", "etcd-key"] "etcd: a request of the campaign is refused",
    EtcdWonTooLate ["etcd-election", "etcd-key"] "etcd: won after the lease was over",
    EtcdOwnKeyDeleted ["etcd-election", "etcd-key"] "etcd: the leader's own key is deleted",
    EtcdWatchEnded ["etcd-election", "etcd-key"] "etcd: the watch on the one in front ends",
    EtcdKeepaliveEnded ["etcd-election", "etcd-key"] "etcd: the stream of keepalives ends",
    EtcdKeepaliveAgain ["etcd-election", "etcd-key"] "etcd: a keepalive is not answered",
    EtcdQueues ["etcd-election"] "etcd-election: queues behind another",
    EtcdKeyTaken ["etcd-key"] "etcd-key: the one key is another's",
    EtcdHandsOver ["etcd-election"] "etcd-election: hands over to a named successor",
    EtcdHeirGone ["etcd-election"] "etcd-election: the named successor is not in the queue, or the queue has changed",
    EtcdKeyGone ["etcd-election"] "etcd-election: the own key is gone before the win",
    EtcdResigned ["etcd-election", "etcd-key"] "etcd: a resignation deletes the key and queues again",
    EtcdAgain ["etcd-election", "etcd-key"] "etcd: a step of the campaign is tried again",
    ObjectTaken ["object-lease"] "object-lease: the leader finds another's object, or none",
    ObjectTooLate ["object-lease"] "object-lease: written so late that nothing is left to believe",
    ObjectUnsure ["object-lease"] "object-lease: a write has no answer",
    ObjectExpired ["object-lease"] "object-lease: the belief ends by the clock",
    DynamoDbCalledAgain ["dynamodb-lock"] "dynamodb-lock: a call to acquireLock ends without the lock",
    DynamoDbTooLate ["dynamodb-lock"] "dynamodb-lock: written so late that nothing is left to believe",
    DynamoDbForgotten ["dynamodb-lock"] "dynamodb-lock: a heartbeat is refused, and no more are sent",
    DynamoDbUnsure ["dynamodb-lock"] "dynamodb-lock: a heartbeat has no answer",
    DynamoDbExpired ["dynamodb-lock"] "dynamodb-lock: the belief ends by the clock",
    K8sSlowPath ["k8s-lease"] "k8s-lease: a renewal by what was seen last fails, and the record is read first",
    K8sLeadsOn ["k8s-lease"] "k8s-lease: a leader sees another's record, and leads on until its deadline",
    K8sDeadline ["k8s-lease"] "k8s-lease: the renew deadline is over",
    K8sReleases ["k8s-lease"] "k8s-lease: who stops gives back what it still has",
    ConsulLockLost ["consul-session"] "consul-session: the watch says that the lock is another's, or nobody's",
    ConsulDelayed ["consul-session"] "consul-session: refused although nobody has the key: a lock-delay lasts",
    ConsulLockFails ["consul-session"] "consul-session: a step of taking the lock fails",
    ConsulMonitorFails ["consul-session"] "consul-session: the leader's watch fails, so it lets go",
    ConsulSessionGone ["consul-session"] "consul-session: a renewal finds no session, and nobody is told",
    ConsulRenewalGivenUp ["consul-session"] "consul-session: renewals have failed for a whole time to live, and end",
    RedisLeftover ["redis-lease", "redis-fenced", "redis-sentinel"] "redis: an acquisition without an answer may have left a key",
    RedisTooLate ["redis-lease", "redis-fenced", "redis-sentinel"] "redis: acquired so late that nothing is left to believe",
    RedisRenewalRefused ["redis-lease", "redis-fenced", "redis-sentinel"] "redis: a renewal finds another's key, or none",
    RedisExpired ["redis-lease", "redis-fenced", "redis-sentinel", "redlock"] "redis: the belief ends by the clock",
    RedisHeldOff ["redis-lease", "redis-fenced", "redis-sentinel", "redlock"] "redis: lets others go first",
    RedisCleansUp ["redis-lease", "redis-fenced", "redis-sentinel"] "redis: cleans up before it tries again",
    RedlockNoQuorum ["redlock"] "redlock: a try gets no majority, and unlocks all",
    RedlockExtensionFails ["redlock"] "redlock: an extension fails, and the lock is given up",
    BullyNobodyHigher ["bully"] "bully: nobody higher is left to ask",
    BullyOverslept ["bully"] "bully: a leader wakes up after its silence was noticed",
    BullyBullied ["bully"] "bully: a leader hears of a higher one",
    BullyAnswered ["bully"] "bully: somebody higher answers",
    RingAside ["ring-lelann", "ring-chang-roberts"] "ring: a leader that resigned lets a candidate pass",
    RingLapLost ["ring-lelann", "ring-chang-roberts"] "ring: a leader's laps do not come home",
    RingLeaderDefends ["ring-lelann", "ring-chang-roberts"] "ring: a worse candidate meets the leader",
    RingLapAgain ["ring-lelann", "ring-chang-roberts"] "ring: a lap comes round twice",
    RingSkips ["ring-lelann", "ring-chang-roberts"] "ring: a successor that does not acknowledge is skipped",
    RingReturns ["ring-lelann", "ring-chang-roberts"] "ring: a skipped successor is heard again",
    LowestIdBetter ["lowest-id", "lowest-id-phi", "stonith"] "lowest-id: a leader hears of a better one",
    LowestIdDefends ["lowest-id", "lowest-id-phi", "stonith"] "lowest-id: a leader hears of a worse one",
    LowestIdReleased ["lowest-id", "lowest-id-phi", "stonith"] "lowest-id: a leader lets go",
    PhiPatient ["lowest-id-phi"] "phi: others wait for a leader twice as long as usual",
    SwimIndirect ["swim"] "swim: others are asked to probe",
    SwimProbeFailed ["swim"] "swim: a probe fails",
    SwimSuspectDies ["swim"] "swim: a suspicion is not refuted in time",
    SwimRelayed ["swim"] "swim: a probe is answered through a helper",
    SwimReconnects ["swim"] "swim: a dead member is tried again",
    StonithShoots ["stonith"] "stonith: the device is asked to cut power",
    StonithNoQuorum ["stonith"] "stonith: a leader has no quorum any more",
    StonithNotQuiet ["stonith"] "stonith: a node that grants led a moment ago",
    StonithBeforeCut ["stonith"] "stonith: something arrives that was sent before the cut",
    StonithFenced ["stonith"] "stonith: the device says that it is off",
    PowerFromTheDead ["stonith"] "power: asked by a machine that is off",
    PowerAgain ["stonith"] "power: asked again for what is done",
    RedisPartialSync ["redis-sentinel"] "redis server: a replica goes on where it was",
    RedisFullSync ["redis-sentinel"] "redis server: a replica is sent everything",
    SentinelTilt ["redis-sentinel"] "sentinel: the clock jumped, or it was stopped, and nothing is trusted for a while",
    SentinelFailover ["redis-sentinel"] "sentinel: a failover begins",
    RedisServerRestarts ["redis-naive", "redis-lease", "redis-fenced", "redis-sentinel", "redlock"] "redis server: starts again with what it had on disk",
    RedisKeyGone ["redis-naive", "redis-lease", "redis-fenced", "redis-sentinel", "redlock"] "redis server: a key is deleted",
    EtcdServerLeaseExpired ["etcd-election", "etcd-key"] "etcd server: a lease expires",
    EtcdServerLateKeepalive ["etcd-election", "etcd-key"] "etcd server: a keepalive for a lease that there is not",
    EtcdServerTxnFailed ["etcd-election", "etcd-key"] "etcd server: a transaction takes its other branch",
    EtcdServerWatchCancelled ["etcd-election", "etcd-key"] "etcd server: a watch is cancelled",
    EtcdServerWatchLate ["etcd-election", "etcd-key"] "etcd server: a watch starts in the past",
    CuratorRetries ["zk-election", "zk-selector"] "curator: a request is tried again",
    CuratorGivesUp ["zk-election", "zk-selector"] "curator: a session is given up after a whole timeout without a connection",
    CuratorExpired ["zk-election", "zk-selector"] "curator: the server says that the session is over",
    ZkEntryGivenUp ["zk-election", "zk-selector"] "zk-election: the creation of a node is given up",
    ZkFoundAgain ["zk-election", "zk-selector"] "zk-election: a node whose creation was not answered is found",
    ZkNodeGone ["zk-election", "zk-selector"] "zk-election: the own node is not in the queue any more",
    ZkNodeOfBefore ["zk-election"] "zk-election: the node in front is of a session before",
    ZkComesBack ["zk-election"] "zk-election: a former leader comes back within its session",
    KafkaAsksAgain ["kafka-zk-controller"] "kafka: what was lost with the connection is asked again",
    KafkaReplaced ["kafka-zk-controller"] "kafka: a controller hears that another one is",
    KafkaLosesTheRace ["kafka-zk-controller"] "kafka: the race for the node is refused",
    KafkaHadWon ["kafka-zk-controller"] "kafka: a race without an answer had been won",
    KafkaExpired ["kafka-zk-controller"] "kafka: the server says that the session is over",
    ZookeeperServerSessionOver ["zk-election", "zk-selector", "kafka-zk-controller"] "zookeeper server: a client comes back with a session that is over",
    ZookeeperServerExpired ["zk-election", "zk-selector", "kafka-zk-controller"] "zookeeper server: a session's time is up",
    WorldHeld ["redis-naive", "redis-lease", "redis-fenced", "redlock", "etcd-election", "zk-election", "zk-selector", "kafka-zk-controller", "raft", "consul-session", "k8s-lease", "object-lease", "dynamodb-lock", "redis-sentinel", "db-row", "db-row-node-clock", "pg-advisory", "pg-advisory-pooled"] "world: a segment meets silence",
    WorldResent ["redis-naive", "redis-lease", "redis-fenced", "redlock", "etcd-election", "zk-election", "zk-selector", "kafka-zk-controller", "raft", "consul-session", "k8s-lease", "object-lease", "dynamodb-lock", "redis-sentinel", "db-row", "db-row-node-clock", "pg-advisory", "pg-advisory-pooled"] "world: a held segment is sent again",
    WorldRefused ["redis-naive", "redis-lease", "redis-fenced", "redlock", "etcd-election", "zk-election", "zk-selector", "kafka-zk-controller", "raft", "consul-session", "k8s-lease", "object-lease", "dynamodb-lock", "redis-sentinel", "db-row", "db-row-node-clock", "pg-advisory", "pg-advisory-pooled"] "world: a connect is refused",
    WorldReset ["redis-naive", "redis-lease", "redis-fenced", "redlock", "etcd-election", "zk-election", "zk-selector", "kafka-zk-controller", "raft", "consul-session", "k8s-lease", "object-lease", "dynamodb-lock", "redis-sentinel", "db-row", "db-row-node-clock", "pg-advisory", "pg-advisory-pooled"] "world: a connection is reset",
    ConsulServerPromoted ["consul-session"] "consul server: it starts, with all sessions' time anew",
    ConsulServerSessionExpired ["consul-session"] "consul server: a session's time is up",
    ConsulServerLateRenewal ["consul-session"] "consul server: a renewal for a session that there is not",
    ConsulServerLockDelay ["consul-session"] "consul server: a lock-delay keeps a key from everybody",
    K8sServerUpdateCreates ["k8s-lease"] "apiserver: an update makes an object that there is not",
    K8sServerConflict ["k8s-lease"] "apiserver: an update names a version that is not the object's",
    WorldKeepaliveReset ["consul-session", "k8s-lease", "object-lease", "dynamodb-lock"] "world: a keepalive probe finds that the server has started again",
    WorldKeepaliveSilence ["consul-session", "k8s-lease", "object-lease", "dynamodb-lock"] "world: so many keepalive probes find silence that the connection is given up",
    DbRowLeftover ["db-row"] "db-row: an attempt without an answer may have taken the row",
    DbRowTooLate ["db-row"] "db-row: taken so late that nothing is left to believe",
    DbRowRenewalRefused ["db-row"] "db-row: an extension finds the row another's, or over",
    DbRowExpired ["db-row"] "db-row: the belief ends by the clock",
    DbRowHeldOff ["db-row"] "db-row: lets others go first",
    DbRowCleansUp ["db-row"] "db-row: cleans up before it tries again",
    CheckInTaken ["db-row-node-clock"] "db-row-node-clock: takes the row of somebody who was not seen for long",
    CheckInRefused ["db-row-node-clock"] "db-row-node-clock: the leader finds the row another's",
    CheckInLate ["db-row-node-clock"] "db-row-node-clock: was late itself, and is patient with the others",
    CheckInExpired ["db-row-node-clock"] "db-row-node-clock: the belief ends by the clock",
    CheckInUnknown ["db-row-node-clock"] "db-row-node-clock: nobody knows whether the row was written",
    AdvisoryGone ["pg-advisory", "pg-advisory-pooled"] "pg-advisory: the leader's connection is gone",
    AdvisoryHalfOpen ["pg-advisory", "pg-advisory-pooled"] "pg-advisory: a ping is not answered, and the leader goes on",
    PostgresSilence ["db-row", "db-row-node-clock", "pg-advisory"] "postgres server: gives a silent connection up",
    PostgresLockWaits ["db-row", "db-row-node-clock", "pg-advisory"] "postgres server: a statement waits for a lock",
    WorldPausedAtPoint [] "world: a process is stopped at a point, in the middle of a step",
    WorldResumedAtPoint [] "world: a process goes on in the middle of a step",
    WorldInbox [] "world: what came during a pause is taken up",
    WorldOverdue [] "world: what fell due during a pause is done",
    WorldUnsynced ["raft"] "world: a loss of power takes bytes that were not synced",
    WorldReplaceLost ["kraft", "zab-fle", "raft", "raft-core"] "world: a crash falls into the replacing of a file",
    WorldSyncLost ["kraft", "zab-fle", "raft", "raft-core"] "world: a loss of power falls into a sync",
    WorldFaultWaits [] "world: a fault waits for a leader",
    WorldLost [] "world: a message is lost",
    WorldTwice [] "world: a message arrives twice",
    WorldAstray [] "world: a message is reordered",
}

impl Mark {
    /// Whether a run of this protocol can reach it.
    pub fn is_of(self, protocol: &str) -> bool {
        self.protocols().is_empty() || self.protocols().contains(&protocol)
    }
}

/// A set of marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks([u128; 2]);

/// Marks per word.
const WORD: usize = u128::BITS as usize;

const _: () = assert!(ALL.len() <= 2 * WORD, "there are more marks than bits");

impl Marks {
    /// The set with only this mark.
    pub const fn of(mark: Mark) -> Marks {
        let mut words = [0; 2];
        words[mark as usize / WORD] = 1 << (mark as usize % WORD);
        Marks(words)
    }

    pub const fn has(self, mark: Mark) -> bool {
        self.0[mark as usize / WORD] >> (mark as usize % WORD) & 1 == 1
    }

    /// The union.
    #[must_use]
    pub const fn and(self, other: Marks) -> Marks {
        Marks([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }

    /// Whether all of the other's marks are in this set.
    pub const fn contains(self, other: Marks) -> bool {
        other.0[0] & !self.0[0] == 0 && other.0[1] & !self.0[1] == 0
    }

    /// Its marks, in their order.
    pub fn iter(self) -> impl Iterator<Item = Mark> {
        ALL.iter().copied().filter(move |mark| self.has(*mark))
    }

    pub const fn len(self) -> usize {
        (self.0[0].count_ones() + self.0[1].count_ones()) as usize
    }

    pub const fn is_empty(self) -> bool {
        self.0[0] == 0 && self.0[1] == 0
    }
}

thread_local! {
    static MARKED: Cell<Marks> = const { Cell::new(Marks([0; 2])) };
}

/// This thread has come to a mark; see [`mark!`](crate::mark).
#[inline]
pub fn mark(mark: Mark) {
    // A thread that is ending needs no more marks.
    let _ = MARKED.try_with(|marked| marked.set(marked.get().and(Marks::of(mark))));
}

/// The marks that this thread has reached since it started or since the last call.
pub fn take() -> Marks {
    MARKED.with(Cell::take)
}

/// Marks this place as reached: `mark!(KraftVotedAlready)`.
#[macro_export]
macro_rules! mark {
    ($mark:ident) => {
        $crate::coverage::mark($crate::coverage::Mark::$mark)
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election;
    use std::collections::BTreeSet;

    #[test]
    fn marks_are_of_the_thread_that_made_them() {
        mark!(LedgerGap);
        let other = std::thread::spawn(|| {
            mark!(OutboxGap);
            mark!(OutboxGap);
            take()
        });
        assert_eq!(other.join().ok(), Some(Marks::of(Mark::OutboxGap)));
        assert_eq!(take().iter().collect::<Vec<_>>(), [Mark::LedgerGap]);
        assert!(take().is_empty());
    }

    #[test]
    fn texts_differ_and_protocols_exist() {
        let texts: BTreeSet<&str> = ALL.iter().map(|mark| mark.text()).collect();
        assert_eq!(texts.len(), ALL.len());
        for mark in ALL {
            for protocol in mark.protocols() {
                assert!(election::find(protocol).is_some(), "{mark:?} is of `{protocol}`, which there is not");
            }
        }
    }
}
