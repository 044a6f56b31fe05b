//! Bugs of Raft implementations.

use crate::{
    bug::{Bug, Shown},
    types::{NodeId, SECOND},
};

/// A lease anchored at the wrong end of a round trip.
pub const LEASE_FROM_ANSWER: Bug = Bug {
    id: "raft-lease-from-answer",
    protocols: &["raft-core"],
    what: "The leader counts its lease from the majority's answers, while its followers count from the request that \
           they answered.",
    source: "etcd-io/raft issue 166; sofastack/sofa-jraft issues 23 and 25, pull request 26",
    violation: "dual_belief",
    shown: Shown::by("late-answer", "raft-core", 40),
};

/// A lease that survives a handover of leadership.
pub const LEASE_OUTLIVES_TRANSFER: Bug = Bug {
    id: "raft-lease-outlives-transfer",
    protocols: &["raft-core"],
    what: "A leader that has told its successor to stand keeps answering reads by its lease, which the successor does \
           not wait out.",
    source: "databendlabs/openraft issue 1747, fixed by pull request 1749; etcd-io/etcd issue 12704",
    violation: "no_stale_read",
    shown: Shown::by("unheard-transfer", "raft-core", 8),
};

/// A transfer during which the log keeps growing.
pub const WRITES_DURING_TRANSFER: Bug = Bug {
    id: "raft-writes-during-transfer",
    protocols: &["raft-core"],
    what: "A leader that hands over keeps appending entries: its successor never has the whole log, or is refused \
           votes by nodes that have more of it, and nobody leads for one or more election timeouts.",
    source: "hashicorp/raft pull requests 487 and 581 (`raft.go: leaderLoop, leadershipTransferInProgress`)",
    violation: "metrics.dark_ms",
    shown: Shown::by("leadership-transfer", "raft-core", 4).with("--set raft-core.entry-interval=2ms").above(100),
};

/// A vote that is not yet on disk.
pub const ANSWERS_BEFORE_SYNC: Bug = Bug {
    id: "raft-answers-before-sync",
    protocols: &["raft-core"],
    what: "Votes, terms and entries are acknowledged at once, and synced every two minutes: a loss of power takes them back.",
    source: "Jepsen: NATS 2.12.1, JetStream (`sync_interval` is 2 minutes)",
    violation: "elections",
    shown: Shown::by("power-outage", "raft-core", 4),
};

/// A member whose data folder is a copy of another's, including the id.
pub const IDENTITY_COPIED: Bug = Bug {
    id: "raft-identity-copied",
    protocols: &["raft-core"],
    what: "The second candidate runs on a copy of the first one's data folder, and so has its id. It asks for the \
           second member's vote at its own address and answers itself: it votes twice, acknowledges its own entries, \
           and leads alone. Others take it for the first candidate, and give it a vote that they have already given to \
           that one.",
    source: "cloudamqp/lavinmq pull request 1023; moby/swarmkit issue 1148; elastic/elasticsearch issue 32904",
    violation: "phantom_leader",
    shown: Shown::by("isolate-leader", "raft-core", 16),
};

/// Under [`IDENTITY_COPIED`] the first of these has the id of the second.
pub const COPIED: (NodeId, NodeId) = (NodeId(1), NodeId(0));

/// The interval between syncs, nanoseconds.
pub(super) const SYNCED_EVERY: u64 = 120 * SECOND;
