//! The coverage marks that there are, as the committed baseline of the swarm names them: those that its runs reached, by
//! protocol, and rare ones, which need a reason.

use super::Baseline;
use protocols::election::Protocol;
use reports::invariant::Entry;
use std::collections::BTreeSet;

/// The prefix of an invariant's name.
pub(super) const VIOLATES: &str = "violates ";
/// Separates a figure's name from a limit.
pub(super) const ABOVE: &str = " above ";

/// Coverage marks that a sweep may miss, and why. The recorded runs reached many of them, but CI's sweep is a tenth.
const RARE: &[(&str, &str)] = &[
    (
        "object-lease: the leader finds another's object, or none",
        "2,000 plans never reached it; why it is rare was not looked into",
    ),
    (
        "db-row-node-clock: nobody knows whether the row was written",
        "2,000 plans never reached it; why it is rare was not looked into",
    ),
    (
        "dynamodb-lock: written so late that nothing is left to believe",
        "2,000 plans never reached it; why it is rare was not looked into",
    ),
    (
        "outbox: a write before this one was lost, so all are sent again",
        "connections deliver in order; datagrams (`--net hostile`) do not",
    ),
    ("ledger: a write out of turn is refused", "connections deliver in order; datagrams (`--net hostile`) do not"),
    ("node: fenced at the seal", "a newer leader has to seal between an election and its own seal, a trip later"),
    (
        "raft: a round is acknowledged too late to be worth anything",
        "a leader has to stand still while its answer is on its way",
    ),
    (
        "raft: a newer term is won while an older one is believed in",
        "openraft gives an old term up before it wins a newer one",
    ),
    ("raft: the journal is written anew", "a run is too short for 32 KiB of journal"),
    ("raft: the log is cut back", "only changes of the members are logged, so logs hardly ever differ"),
    ("raft: a snapshot is installed", "a run is too short for a hundred entries"),
    ("kraft: a log that has diverged is cut off", "a leader has to die between writing its record and telling anybody"),
    (
        "kraft: the leader has lost its quorum",
        "a leader has to be cut off for three leases without hearing of its successor",
    ),
    (
        "zab-fle: a follower has seen more than the leader",
        "the better vote is elected, unless votes are lost at the wrong moment",
    ),
    ("zab-fle: the quorum followed too late", "following takes a trip and a sync, and the limit is a lease"),
    (
        "zab-fle: the leader has lost its quorum",
        "the belief ends before its followers are missed, unless they hang up first",
    ),
    ("zab-fle: a connect of before the one that there is", "two connects have to overtake each other"),
    ("zab-fle: a leader offers an epoch that is too old", "two leaders have to be elected in one round"),
    ("etcd: a request of the campaign is refused", "the lease has to end between two requests of one campaign"),
    ("etcd: won after the lease was over", "an answer has to come after the lease, and requests time out before"),
    ("etcd-election: the own key is gone before the win", "the key has to go between two looks at the queue"),
    (
        "redis: acquired so late that nothing is left to believe",
        "an answer has to come after the lease, and requests time out before",
    ),
    ("raft-core: a vote is refused, the log is behind", "logs have one entry a term, so they hardly ever differ"),
    ("raft-core: a log is cut back", "logs have one entry a term, so they hardly ever differ"),
    (
        "raft-core: a follower's answer has a higher term than the leader",
        "pre-votes keep those who cannot win from raising the term",
    ),
    ("zab-fle: a follower is silent for too long", "the belief ends before a follower is missed, unless others speak"),
    (
        "etcd-election: the named successor is not in the queue, or the queue has changed",
        "the queue has to change between two requests of one handover",
    ),
    (
        "object-lease: written so late that nothing is left to believe",
        "an answer has to come after the lease, and requests time out before",
    ),
    (
        "db-row: taken so late that nothing is left to believe",
        "an answer has to come after the lease, and requests time out before",
    ),
    (
        "stonith: a leader has no quorum any more",
        "a cut has to last longer than the leader waits, and shorter than its successor shoots",
    ),
    ("redis server: a replica goes on where it was", "a link has to break and both servers to live on"),
    (
        "sentinel: the clock jumped, or it was stopped, and nothing is trusted for a while",
        "a sentinel has to be stopped, or its clock set, by more than 2 s",
    ),
    ("sentinel: a failover begins", "the primary has to be away for two leases"),
    ("zk-election: the creation of a node is given up", "leadership has to be given up while a creation is under way"),
    (
        "zk-election: a node whose creation was not answered is found",
        "the connection has to break while a creation's answer is on its way",
    ),
    (
        "zk-election: the node in front is of a session before",
        "a former session has to be alive still when the next one queues up",
    ),
    (
        "kafka: a race without an answer had been won",
        "the connection has to break while the answer to a won race is on its way",
    ),
    (
        "world: so many keepalive probes find silence that the connection is given up",
        "a cut has to last for minutes, as keepalive's defaults have it",
    ),
    ("stonith: something arrives that was sent before the cut", "a heartbeat has to be on its way when the power goes"),
    ("power: asked by a machine that is off", "two nodes have to shoot at each other"),
    ("power: asked again for what is done", "the device's answer has to be lost"),
    ("etcd server: a transaction takes its other branch", "a key has to be there that its owner does not know of"),
    ("etcd server: a watch is cancelled", "the client closes the stream, which ends its watches"),
    (
        "world: a crash falls into the replacing of a file",
        "a process has to die within the half millisecond that a write takes",
    ),
    ("world: a loss of power falls into a sync", "power has to go within the half millisecond that a sync takes"),
];

/// Why a sweep may miss a mark.
pub fn rare(mark: &str) -> Option<&'static str> {
    RARE.iter().find(|(rare, _)| *rare == mark).map(|(_, why)| *why)
}

/// The names of the marks that a sweep may miss.
pub fn rarities() -> impl Iterator<Item = String> {
    RARE.iter().map(|(mark, _)| (*mark).to_owned())
}

/// The names that violations of these invariants have among shares.
pub fn invariants(invariants: &[&'static Entry]) -> impl Iterator<Item = String> {
    invariants.iter().map(|entry| format!("{VIOLATES}{}", entry.name))
}

/// Whether this name of a share is a mark's.
pub(super) fn is_mark(name: &str) -> bool {
    !name.starts_with(VIOLATES) && !name.contains(ABOVE)
}

impl Baseline {
    /// The marks that existed when this was recorded, reached or not.
    pub fn marks(&self) -> impl Iterator<Item = &String> {
        self.knows.iter().filter(|name| is_mark(name))
    }

    /// The marks that recorded runs of these protocols reached; of all recorded protocols, also those that none did.
    pub fn marks_of(&self, protocols: &[&Protocol]) -> BTreeSet<String> {
        let reached = |cell: &str| {
            self.shares.get(cell).into_iter().flat_map(|shares| shares.keys()).filter(|name| is_mark(name))
        };
        let mut marks: BTreeSet<String> =
            protocols.iter().flat_map(|protocol| reached(protocol.name)).cloned().collect();
        if self.shares.keys().all(|recorded| protocols.iter().any(|protocol| protocol.name == recorded)) {
            marks.extend(self.marks().cloned());
        }
        marks
    }
}
