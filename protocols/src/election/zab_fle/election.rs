//! One call of `lookForLeader`: exchanges notifications until a quorum wants the same leader.
//!
//! Two counters must not be confused. The *round* (`logicalclock`, `electionEpoch`) says which election a vote belongs
//! to; it starts at zero with the process, and is not stored. The *epoch* (`peerEpoch`) is part of the vote: the reign
//! that the proposed leader last followed.

use super::quorum::Quorum;
use crate::types::{MILLISECOND, NodeId, SECOND};
use std::collections::BTreeMap;

/// How long a quorum must agree without a better vote, nanoseconds (`finalizeWait`).
pub const FINALIZE_WAIT: u64 = 200 * MILLISECOND;
/// The first interval before notifications are resent, nanoseconds; it doubles (`minNotificationInterval`).
const RESEND_FIRST: u64 = FINALIZE_WAIT;
/// The longest interval before notifications are resent, nanoseconds (`maxNotificationInterval`).
const RESEND_MAX: u64 = 60 * SECOND;

/// A proposed leader, with its credentials. Votes are ordered as in `totalOrderPredicate`: the newest epoch, then the
/// newest transaction, then the highest id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Vote {
    /// The epoch that the proposed leader last followed; once a leader is established, the epoch of its reign.
    pub epoch: u32,
    /// The proposed leader's last transaction.
    pub zxid: u64,
    pub leader: NodeId,
}

/// A candidate's state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    Looking,
    /// Following one.
    Following,
    /// Elected, but perhaps not established yet.
    Leading,
}

/// A candidate's message in an election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Notification {
    /// The sender's state.
    pub state: State,
    /// The sender's vote, or the leader that it follows.
    pub vote: Vote,
    /// The sender's round, or the one in which its leader was elected.
    pub round: u64,
}

/// The result of a notification, or of silence.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Whether to send the proposal to all.
    pub announce: bool,
    /// The leader, if the election is over.
    pub elected: Option<Vote>,
}

/// An election in progress.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Election {
    node: NodeId,
    /// The vote for this node itself, with which every round begins.
    own: Vote,
    pub round: u64,
    /// The current proposal.
    pub proposal: Vote,
    /// The votes of this round (`recvset`). Our own vote is always the proposal.
    received: BTreeMap<NodeId, Notification>,
    /// The votes of nodes that have finished their election, whichever it was (`outofelection`).
    settled: BTreeMap<NodeId, Notification>,
    /// Whether a quorum agrees, and only a better vote is awaited.
    finalizing: bool,
    resend: u64,
}

impl Election {
    /// Begins a round.
    pub fn new(quorum: &Quorum, node: NodeId, own: Vote, round: u64) -> Self {
        let (received, settled) = (BTreeMap::new(), BTreeMap::new());
        let (finalizing, resend) = (false, RESEND_FIRST);
        let mut election = Election { node, own, round, proposal: own, received, settled, finalizing, resend };
        election.count(quorum);
        election
    }

    /// The interval before the proposal is resent, nanoseconds.
    pub fn resend(&self) -> u64 {
        self.resend
    }

    /// Whether a quorum agrees, and only a better vote is awaited.
    pub fn is_finalizing(&self) -> bool {
        self.finalizing
    }

    /// This candidate's notification.
    pub fn notification(&self) -> Notification {
        Notification { state: State::Looking, vote: self.proposal, round: self.round }
    }

    /// `totalOrderPredicate`: a node without weight is never better.
    fn better(quorum: &Quorum, new: Vote, than: Vote) -> bool {
        quorum.weight(new.leader) > 0 && new > than
    }

    /// Checks whether a quorum wants our proposal.
    fn count(&mut self, quorum: &Quorum) {
        let proposed = self.notification();
        let agree = self.received.iter().filter(|(_, said)| same(&proposed, said)).map(|(node, _)| *node);
        self.finalizing = quorum.contains(agree.chain([self.node]));
    }

    /// Handles a notification of another candidate in the fleet.
    pub fn heard(&mut self, quorum: &Quorum, from: NodeId, said: Notification) -> Outcome {
        if self.finalizing {
            // Of whatever round: the round is checked only once the vote is taken up.
            if !Self::better(quorum, said.vote, self.proposal) {
                return Outcome::default();
            }
            crate::mark!("zab-fle: a better vote comes while the election is about to end");
            self.finalizing = false;
        }
        match said.state {
            State::Looking => Outcome { announce: self.looking(quorum, from, said), elected: None },
            State::Following | State::Leading => {
                Outcome { announce: false, elected: self.has_settled(quorum, from, said) }
            }
        }
    }

    /// Handles the vote of another looking node. Returns whether to send our proposal to all.
    fn looking(&mut self, quorum: &Quorum, from: NodeId, said: Notification) -> bool {
        if said.round < self.round {
            return false;
        }
        let newer = said.round > self.round;
        if newer {
            crate::mark!("zab-fle: somebody is in a newer round");
            // No other node knows yet that this candidate votes in that round.
            self.round = said.round;
            self.received.clear();
            self.proposal = self.own;
        }
        let adopts = Self::better(quorum, said.vote, self.proposal);
        if adopts {
            self.proposal = said.vote;
        }
        self.received.insert(from, said);
        self.count(quorum);
        newer || adopts
    }

    /// Handles the vote of a node that leads or follows. Returns its leader if a quorum leads or follows with it and it
    /// has confirmed that it leads.
    fn has_settled(&mut self, quorum: &Quorum, from: NodeId, said: Notification) -> Option<Vote> {
        if said.round == self.round {
            self.received.insert(from, said);
            let agree = self.received.iter().filter(|(_, other)| same(&said, other)).map(|(node, _)| *node);
            let own = (self.proposal == said.vote).then_some(self.node);
            if quorum.contains(agree.chain(own)) && self.leads(&self.received, said) {
                crate::mark!("zab-fle: joins a leader elected in its own round");
                return Some(said.vote);
            }
        }
        self.settled.insert(from, said);
        // Followers of the same leader may differ in their votes' transaction and round (ZOOKEEPER-1805).
        let same_reign =
            |other: &Notification| (other.vote.leader, other.vote.epoch) == (said.vote.leader, said.vote.epoch);
        let agree = self.settled.iter().filter(|(_, other)| same_reign(other)).map(|(node, _)| *node);
        if quorum.contains(agree) && self.leads(&self.settled, said) {
            crate::mark!("zab-fle: joins a leader elected in another round");
            self.round = said.round;
            return Some(said.vote);
        }
        None
    }

    /// `checkLeader`: a dead leader keeps its followers' votes for a while, but no longer confirms that it leads.
    fn leads(&self, votes: &BTreeMap<NodeId, Notification>, said: Notification) -> bool {
        match said.vote.leader {
            leader if leader == self.node => self.round == said.round,
            leader => votes.get(&leader).is_some_and(|v| v.state == State::Leading),
        }
    }

    /// Handles `FINALIZE_WAIT` without a better vote, or the time to resend the proposal.
    pub fn silence(&mut self, quorum: &Quorum) -> Outcome {
        if self.finalizing {
            return Outcome { announce: false, elected: Some(self.proposal) };
        }
        crate::mark!("zab-fle: silence, so the vote is said again");
        self.resend = (self.resend * 2).min(RESEND_MAX);
        // The reference also hears itself, and counts once more.
        self.count(quorum);
        Outcome { announce: true, elected: None }
    }
}

/// Whether two votes of a round support each other (`Vote.equals`, if one of the two has a format version, as those of
/// `recvset` do not: among settled nodes only the leader counts).
fn same(one: &Notification, other: &Notification) -> bool {
    if one.state == State::Looking || other.state == State::Looking {
        (one.vote, one.round) == (other.vote, other.round)
    } else {
        one.vote.leader == other.vote.leader
    }
}
