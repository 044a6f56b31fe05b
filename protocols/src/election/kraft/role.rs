//! A voter's roles (`EpochState.java` and its implementations), and the counting of votes and fetches.

use super::message::{Ask, Epoch, Offset};
use crate::types::NodeId;

/// A voter's role in its epoch.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// Knows no leader; waits for one or for its election timeout.
    Unattached,
    /// Asks for pre-votes; its epoch does not change (KIP-996).
    Prospective(Ballot),
    /// Stands for election in its own epoch.
    Candidate(Ballot),
    /// Fetches from the leader.
    Follower {
        /// Whether a fetch from this leader has succeeded in this epoch.
        has_fetched: bool,
    },
    /// Won the election of its epoch.
    Leader(Leading),
    /// Has led and resigned; does not vote in this epoch.
    Resigned {
        /// Best first.
        successors: Vec<NodeId>,
        /// The voters that have not answered yet.
        unacknowledged: Vec<NodeId>,
    },
}

/// Votes or pre-votes (`EpochElection.java`).
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Ballot {
    /// Indexed by voter.
    votes: Vec<Option<bool>>,
}

impl Ballot {
    /// A ballot with only `node`'s vote for itself.
    pub(super) fn new(voters: usize, node: NodeId) -> Self {
        let mut ballot = Ballot { votes: vec![None; voters] };
        ballot.record(node, true);
        ballot
    }

    pub(super) fn record(&mut self, voter: NodeId, granted: bool) {
        if let Some(vote) = self.votes.get_mut(voter.index()) {
            *vote = Some(granted);
        }
    }

    fn majority(&self) -> usize {
        self.votes.len() / 2 + 1
    }

    fn count(&self, vote: Option<bool>) -> usize {
        self.votes.iter().filter(|v| **v == vote).count()
    }

    pub(super) fn is_granted(&self) -> bool {
        self.count(Some(true)) >= self.majority()
    }

    /// Whether the others' answers can no longer grant it.
    pub(super) fn is_rejected(&self) -> bool {
        self.count(Some(true)) + self.count(None) < self.majority()
    }

    pub(super) fn unrecorded(&self) -> impl Iterator<Item = NodeId> {
        let voters = self.votes.iter().enumerate();
        voters.filter(|(_, vote)| vote.is_none()).map(|(voter, _)| NodeId(voter as u16))
    }
}

/// A leader's view of the others (`LeaderState.java`).
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Leading {
    node: NodeId,
    /// The leader change's offset.
    pub(super) epoch_start: Offset,
    pub(super) high_watermark: Option<Offset>,
    /// By voter, itself included: how far that voter's log is on disk.
    ends: Vec<Option<Offset>>,
    /// By voter: the time of its last fetch.
    last_fetch: Vec<Option<u64>>,
    /// The voters that have fetched since a majority last had.
    fetched: Vec<bool>,
    /// When to look again for voters that do not know of this leader.
    pub(super) begin_at: u64,
    /// Fetches waiting for something new.
    pub(super) parked: Vec<Parked>,
}

/// A fetch waiting for something new.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Parked {
    pub(super) from: NodeId,
    pub(super) correlation: u32,
    pub(super) epoch: Epoch,
    pub(super) ask: Ask,
    pub(super) until: u64,
}

impl Leading {
    pub(super) fn new(voters: usize, node: NodeId, epoch_start: Offset, now: u64) -> Self {
        Leading {
            node,
            epoch_start,
            high_watermark: None,
            ends: vec![None; voters],
            last_fetch: vec![None; voters],
            fetched: vec![false; voters],
            begin_at: now,
            parked: Vec::new(),
        }
    }

    /// Records a follower's fetch. Returns true if a majority, counting this voter, has fetched since that was last so
    /// (`updateCheckQuorumForFollowingVoter`).
    pub(super) fn note_fetch(&mut self, voter: NodeId, end: Offset, now: u64) -> bool {
        self.note_end(voter, end);
        if let (Some(last), Some(fetched)) =
            (self.last_fetch.get_mut(voter.index()), self.fetched.get_mut(voter.index()))
        {
            *last = Some(now);
            *fetched = true;
        }
        let majority = self.fetched.iter().filter(|fetched| **fetched).count() >= self.fetched.len() / 2;
        if majority {
            self.fetched.fill(false);
        }
        majority
    }

    pub(super) fn note_end(&mut self, voter: NodeId, end: Offset) {
        if let Some(slot) = self.ends.get_mut(voter.index()) {
            *slot = Some(end);
        }
    }

    /// Raises the high watermark to what a majority has, once that includes a record of this epoch; returns whether it
    /// moved (`maybeUpdateHighWatermark`).
    pub(super) fn update_high_watermark(&mut self) -> bool {
        let mut ends = self.ends.clone();
        ends.sort_unstable_by(|a, b| b.cmp(a));
        let reached = ends.get(ends.len() / 2).copied().flatten().filter(|end| *end > self.epoch_start);
        let moves = reached > self.high_watermark;
        if moves {
            self.high_watermark = reached;
        }
        moves
    }

    /// The voters that have not fetched for `interval` (`needToSendBeginQuorumRequests`).
    pub(super) fn silent(&self, now: u64, interval: u64) -> Vec<NodeId> {
        let others = (0..self.ends.len() as u16).map(NodeId).filter(|voter| *voter != self.node);
        let is_silent = |voter: &NodeId| self.last_fetch[voter.index()].is_none_or(|at| now - at >= interval);
        others.filter(is_silent).collect()
    }

    /// The others, the longest log first (`nonLeaderVotersByDescendingFetchOffset`).
    pub(super) fn successors(&self) -> Vec<NodeId> {
        let mut others: Vec<_> = (0..self.ends.len() as u16).map(NodeId).filter(|v| *v != self.node).collect();
        others.sort_by_key(|voter| std::cmp::Reverse(self.ends[voter.index()]));
        others
    }
}
