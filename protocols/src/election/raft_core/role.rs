//! A server's roles, and the counting of votes and answers.

use super::message::Index;
use crate::types::NodeId;

/// A server's role in its term.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// Answers, and waits for its election timeout.
    Follower,
    /// Asks for pre-votes, in its old term.
    PreCandidate(Ballot),
    /// Stands for election.
    Candidate(Ballot),
    /// Won the election of its term.
    Leader(Leading),
}

/// Votes or pre-votes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Ballot {
    /// Indexed by server.
    granted: Vec<bool>,
}

impl Ballot {
    /// A ballot with only `node`'s vote for itself.
    pub(super) fn new(servers: usize, node: NodeId) -> Self {
        let mut ballot = Ballot { granted: vec![false; servers] };
        ballot.grant(node);
        ballot
    }

    pub(super) fn grant(&mut self, voter: NodeId) {
        if let Some(vote) = self.granted.get_mut(voter.index()) {
            *vote = true;
        }
    }

    pub(super) fn is_won(&self) -> bool {
        self.granted.iter().filter(|granted| **granted).count() > self.granted.len() / 2
    }
}

/// A leader's view of the others (figure 2, "volatile state on leaders").
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Leading {
    /// When it won.
    pub(super) since: u64,
    /// The entry that started its term.
    pub(super) first: Index,
    /// By server: the next entry to send.
    pub(super) next: Vec<Index>,
    /// By server, itself included: how far that log agrees with its own.
    pub(super) matched: Vec<Index>,
    /// By server: the time from which its last acknowledgement counts.
    acked: Vec<Option<u64>>,
    /// When to send the next heartbeat.
    pub(super) heartbeat_at: u64,
    /// When to append the next entry, if it appends any.
    pub(super) entry_at: u64,
    /// Whether its belief has ended; it does not believe in this term again.
    pub(super) ended: bool,
    /// The successor of a handover, and when the leader gives that up.
    pub(super) hands_over: Option<(NodeId, u64)>,
}

impl Leading {
    pub(super) fn new(servers: usize, first: Index, now: u64) -> Self {
        Leading {
            since: now,
            first,
            next: vec![first; servers],
            matched: vec![0; servers],
            acked: vec![None; servers],
            heartbeat_at: now,
            entry_at: now,
            ended: false,
            hands_over: None,
        }
    }

    pub(super) fn answered(&mut self, server: NodeId, from: u64) {
        if let Some(acked) = self.acked.get_mut(server.index()) {
            *acked = (*acked).max(Some(from));
        }
    }

    /// The time from which a majority, including itself, has acknowledged it; `None` if none has yet. Always `None` for
    /// a single server, which cannot lose its majority.
    pub(super) fn quorum_since(&self) -> Option<u64> {
        let others_needed = self.acked.len() / 2;
        let mut acked: Vec<u64> = self.acked.iter().copied().flatten().collect();
        acked.sort_unstable_by(|a, b| b.cmp(a));
        acked.get(others_needed.checked_sub(1)?).copied()
    }

    /// How far a majority has the log.
    pub(super) fn majority_has(&self) -> Index {
        let mut matched = self.matched.clone();
        matched.sort_unstable_by(|a, b| b.cmp(a));
        matched.get(matched.len() / 2).copied().unwrap_or(0)
    }

    /// The other server with the longest matching log; among equals, the last one that answered.
    pub(super) fn successor(&self, node: NodeId) -> Option<NodeId> {
        let others = (0..self.matched.len()).filter(|server| *server != node.index());
        others.max_by_key(|server| (self.matched[*server], self.acked[*server])).map(|server| NodeId(server as u16))
    }
}
