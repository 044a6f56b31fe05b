//! One call of `lookForLeader`: notifications go round until a quorum wants the same leader.
//!
//! Two counters must not be mixed up. The *round* (`logicalclock`, `electionEpoch`) says which election a vote belongs to; it
//! starts at zero with the process and is nowhere on disk. The *epoch* (`peerEpoch`) is part of what is voted for: the reign
//! that the proposed leader has followed last.

use super::quorum::Quorum;
use crate::types::{MILLISECOND, NodeId, SECOND};
use std::collections::BTreeMap;

/// A quorum that agrees is believed when so many nanoseconds brought no better vote (`finalizeWait`).
pub const FINALIZE_WAIT: u64 = 200 * MILLISECOND;
/// The first silence after which notifications are sent again, nanoseconds; it doubles (`minNotificationInterval`).
const RESEND_FIRST: u64 = FINALIZE_WAIT;
/// The longest such silence, nanoseconds (`maxNotificationInterval`).
const RESEND_MAX: u64 = 60 * SECOND;

/// Whom somebody wants to lead, and why. Votes are ordered as `totalOrderPredicate` has it: the newest epoch, then the newest
/// transaction, then the highest id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Vote {
    /// The epoch that the proposed leader has followed last; once a leader is established, the epoch of its reign.
    pub epoch: u32,
    /// The proposed leader's last transaction.
    pub zxid: u64,
    /// The proposed leader.
    pub leader: NodeId,
}

/// What a candidate is doing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Looking for a leader.
    Looking,
    /// Following one.
    Following,
    /// Elected, though perhaps not established yet.
    Leading,
}

/// What candidates say to each other in an election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Notification {
    /// What the sender is doing.
    pub state: State,
    /// Whom it votes for, or follows.
    pub vote: Vote,
    /// Its round, or the one in which its leader was elected.
    pub round: u64,
}

/// What a notification, or silence, leads to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// The proposal is to be told to everybody.
    pub announce: bool,
    /// The election is over, and this is the leader.
    pub elected: Option<Vote>,
}

/// An election under way.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Election {
    node: NodeId,
    /// The vote for oneself, with which every round begins.
    own: Vote,
    /// The round (`logicalclock`).
    pub round: u64,
    /// Whom this candidate wants now.
    pub proposal: Vote,
    /// Of this round (`recvset`). Our own vote is always the proposal.
    received: BTreeMap<NodeId, Notification>,
    /// Of those who are done with their election, whichever it was (`outofelection`).
    settled: BTreeMap<NodeId, Notification>,
    /// A quorum agrees, and a better vote is waited for.
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

    /// For so many nanoseconds the proposal is not told again.
    pub fn resend(&self) -> u64 {
        self.resend
    }

    /// Does a quorum agree, so that only a better vote is waited for?
    pub fn is_finalizing(&self) -> bool {
        self.finalizing
    }

    /// What this candidate says.
    pub fn notification(&self) -> Notification {
        Notification { state: State::Looking, vote: self.proposal, round: self.round }
    }

    /// `totalOrderPredicate`: nobody without weight is ever better.
    fn better(quorum: &Quorum, new: Vote, than: Vote) -> bool {
        quorum.weight(new.leader) > 0 && new > than
    }

    /// Does a quorum want what we propose?
    fn count(&mut self, quorum: &Quorum) {
        let proposed = self.notification();
        let agree = self.received.iter().filter(|(_, said)| same(&proposed, said)).map(|(node, _)| *node);
        self.finalizing = quorum.contains(agree.chain([self.node]));
    }

    /// A candidate of the fleet, other than this one, says something.
    pub fn heard(&mut self, quorum: &Quorum, from: NodeId, said: Notification) -> Outcome {
        if self.finalizing {
            // Whatever its round: that is looked at only when it is taken up again.
            if !Self::better(quorum, said.vote, self.proposal) {
                return Outcome::default();
            }
            crate::mark!(ZabFinalizingUpset);
            self.finalizing = false;
        }
        match said.state {
            State::Looking => Outcome { announce: self.looking(quorum, from, said), elected: None },
            State::Following | State::Leading => {
                Outcome { announce: false, elected: self.has_settled(quorum, from, said) }
            }
        }
    }

    /// Somebody else is looking too. True when our proposal is to be told to everybody.
    fn looking(&mut self, quorum: &Quorum, from: NodeId, said: Notification) -> bool {
        if said.round < self.round {
            return false;
        }
        let newer = said.round > self.round;
        if newer {
            crate::mark!(ZabNewerRound);
            // Nobody knows yet that this candidate votes in that round.
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

    /// Somebody leads or follows. Gives back the leader when a quorum does so under it, and it says that it leads.
    fn has_settled(&mut self, quorum: &Quorum, from: NodeId, said: Notification) -> Option<Vote> {
        if said.round == self.round {
            self.received.insert(from, said);
            let agree = self.received.iter().filter(|(_, other)| same(&said, other)).map(|(node, _)| *node);
            let own = (self.proposal == said.vote).then_some(self.node);
            if quorum.contains(agree.chain(own)) && self.leads(&self.received, said) {
                crate::mark!(ZabJoinsRound);
                return Some(said.vote);
            }
        }
        self.settled.insert(from, said);
        // Transaction and round of a vote may differ among those who follow the same leader (ZOOKEEPER-1805).
        let same_reign =
            |other: &Notification| (other.vote.leader, other.vote.epoch) == (said.vote.leader, said.vote.epoch);
        let agree = self.settled.iter().filter(|(_, other)| same_reign(other)).map(|(node, _)| *node);
        if quorum.contains(agree) && self.leads(&self.settled, said) {
            crate::mark!(ZabJoinsReign);
            self.round = said.round;
            return Some(said.vote);
        }
        None
    }

    /// `checkLeader`: a leader that died keeps its followers' votes for a while, but no longer says that it leads.
    fn leads(&self, votes: &BTreeMap<NodeId, Notification>, said: Notification) -> bool {
        match said.vote.leader {
            leader if leader == self.node => self.round == said.round,
            leader => votes.get(&leader).is_some_and(|v| v.state == State::Leading),
        }
    }

    /// Nothing better was heard for `FINALIZE_WAIT`, or it is time to tell the proposal again.
    pub fn silence(&mut self, quorum: &Quorum) -> Outcome {
        if self.finalizing {
            return Outcome { announce: false, elected: Some(self.proposal) };
        }
        crate::mark!(ZabSaidAgain);
        self.resend = (self.resend * 2).min(RESEND_MAX);
        // The reference also hears itself, and counts once more.
        self.count(quorum);
        Outcome { announce: true, elected: None }
    }
}

/// Do two votes of one round support each other? (`Vote.equals`, where one of the two carries a format version, as those of
/// `recvset` do not: among the settled only the leader counts.)
fn same(one: &Notification, other: &Notification) -> bool {
    if one.state == State::Looking || other.state == State::Looking {
        (one.vote, one.round) == (other.vote, other.round)
    } else {
        one.vote.leader == other.vote.leader
    }
}
