//! The roles of a server, and who counts votes and answers.

use super::message::Index;
use crate::types::NodeId;

/// A server's part in its term.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// Answers, and waits for its election timeout.
    Follower,
    /// Asks whether it could win, in its old term.
    PreCandidate(Ballot),
    /// Stands.
    Candidate(Ballot),
    /// Won the election of its term.
    Leader(Leading),
}

/// Votes or pre-votes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Ballot {
    /// By server.
    granted: Vec<bool>,
}

impl Ballot {
    /// One in which only `node` has voted, for itself.
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

/// What a leader knows of the others (figure 2, "volatile state on leaders").
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Leading {
    /// When it won.
    pub(super) since: u64,
    /// The entry with which it began its term.
    pub(super) first: Index,
    /// By server: the next entry to send.
    pub(super) next: Vec<Index>,
    /// By server, its own included: up to where that log is its own.
    pub(super) matched: Vec<Index>,
    /// By server: from when its last answer counts.
    acked: Vec<Option<u64>>,
    /// When to say next that it leads.
    pub(super) heartbeat_at: u64,
    /// When to append the next entry, if it appends any.
    pub(super) entry_at: u64,
    /// What it believed is over, or was given up; it is not believed in this term again.
    pub(super) ended: bool,
    /// To whom it hands over, and when it gives that up.
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

    /// From when on a majority, itself counted, has acknowledged it; `None`: none has yet. Never for a server alone, whose
    /// majority cannot be lost.
    pub(super) fn quorum_since(&self) -> Option<u64> {
        let others_needed = self.acked.len() / 2;
        let mut acked: Vec<u64> = self.acked.iter().copied().flatten().collect();
        acked.sort_unstable_by(|a, b| b.cmp(a));
        acked.get(others_needed.checked_sub(1)?).copied()
    }

    /// Up to where a majority has the log.
    pub(super) fn majority_has(&self) -> Index {
        let mut matched = self.matched.clone();
        matched.sort_unstable_by(|a, b| b.cmp(a));
        matched.get(matched.len() / 2).copied().unwrap_or(0)
    }

    /// The other server whose log is the longest that is known to be its own, among those that answered last.
    pub(super) fn successor(&self, node: NodeId) -> Option<NodeId> {
        let others = (0..self.matched.len()).filter(|server| *server != node.index());
        others.max_by_key(|server| (self.matched[*server], self.acked[*server])).map(|server| NodeId(server as u16))
    }
}
