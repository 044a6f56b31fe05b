//! A server's part in an election, and as a follower.

use super::{
    Output, RaftCore,
    message::{Index, Message, Term},
    role::Role,
};
use crate::{clock::Now, elector::Deposed, point::Point, types::NodeId};

impl RaftCore {
    /// Stands for election, after the election timeout or at the leader's request.
    pub(super) fn stand(&mut self, now: Now, transfer: bool) {
        if !std::mem::replace(&mut self.campaigning, true) {
            self.held.push(Output::Campaign);
            self.held.push(Output::Point(Point::BeforeCampaign));
        }
        self.observe(None);
        // The last term has no successor to stand in.
        let Some(next) = self.state.term.checked_add(1) else { return self.wait_anew(now) };
        match self.rules().pre_vote && !transfer {
            true => {
                self.role = Role::PreCandidate(self.own_ballot());
                self.ask(now, next, true, false);
            }
            false => self.become_candidate(now, next, transfer),
        }
    }

    fn become_candidate(&mut self, now: Now, next: Term, transfer: bool) {
        self.enter(next);
        self.vote_for(self.setup.node);
        self.role = Role::Candidate(self.own_ballot());
        self.ask(now, next, false, transfer);
    }

    fn ask(&mut self, now: Now, term: Term, pre_vote: bool, transfer: bool) {
        let (last_index, last_term) = (self.state.last_index(), self.state.last_term());
        self.send_all(&Message::RequestVote { term, pre_vote, transfer, last_index, last_term });
        self.wait_anew(now);
        self.count_votes(now);
    }

    /// Advances from pre-candidate to candidate to leader, according to the votes.
    fn count_votes(&mut self, now: Now) {
        match &self.role {
            Role::PreCandidate(ballot) if ballot.is_won() => {
                if let Some(next) = self.state.term.checked_add(1) {
                    self.become_candidate(now, next, false);
                }
            }
            Role::Candidate(ballot) if ballot.is_won() => self.become_leader(now),
            _ => {}
        }
    }

    /// Enters a term. A vote is valid only in its term; the promise to a leader that was heard holds across terms.
    pub(super) fn enter(&mut self, term: Term) {
        self.state.term = term;
        self.state.voted = None;
    }

    /// A vote in the current term, reported only once it is on disk.
    fn vote_for(&mut self, candidate: NodeId) {
        self.state.voted = Some(candidate);
        self.held.push(Output::Voted { candidate, token: self.state.term });
        self.held.push(Output::Point(Point::Voted));
    }

    /// Follows a higher term, whatever this server's role was.
    pub(super) fn adopt(&mut self, now: Now, term: Term) {
        if term > self.state.term {
            self.enter(term);
            self.step_down(now, Deposed::Lost);
        }
    }

    /// Whether this server has a leader to stand by.
    fn has_leader(&self, now: Now) -> bool {
        match &self.role {
            Role::Leader(leading) => !leading.ended,
            _ if self.is_hashicorp() => self.leader.is_some(),
            _ => self.heard_within(now, self.shortest()),
        }
    }

    /// Answers a pre-vote: would this server vote for `from` in `term`? Changes nothing.
    pub(super) fn asked_before(&mut self, now: Now, from: NodeId, term: Term, up_to_date: bool) {
        let stands_by = self.has_leader(now) && !(self.is_hashicorp() && self.leader == Some(from));
        let free = term > self.state.term || self.is_free_for(from);
        let granted = term >= self.state.term && free && up_to_date && !stands_by;
        if stands_by {
            crate::mark!("raft-core: a pre-vote is refused, for there is a leader");
        }
        let term = if granted { term } else { self.state.term };
        self.send(from, Message::Vote { term, pre_vote: true, granted });
    }

    fn is_free_for(&self, candidate: NodeId) -> bool {
        self.state.voted.is_none_or(|voted| self.id_of(voted) == self.id_of(candidate))
    }

    /// Answers `from`'s request for a vote in `term`.
    pub(super) fn asked(&mut self, now: Now, from: NodeId, term: Term, up_to_date: bool, transfer: bool) {
        let stands_by = self.rules().check_quorum && !transfer && self.has_leader(now);
        // A leader that has restarted no longer leads.
        let stands_by = stands_by && !(self.is_hashicorp() && self.leader == Some(from));
        if stands_by {
            crate::mark!("raft-core: a vote is refused, for there is a leader");
        } else {
            self.adopt(now, term);
        }
        let granted = !stands_by && term == self.state.term && self.is_free_for(from) && up_to_date;
        if granted && self.state.voted.is_none() {
            self.vote_for(from);
            self.observe(None);
            if self.is_hashicorp() {
                self.heard_at = Some(now.mono);
            } else {
                self.wait_anew(now);
            }
        } else if term == self.state.term && !granted && !stands_by {
            match up_to_date {
                true => crate::mark!("raft-core: a vote is refused, it was given already"),
                false => crate::mark!("raft-core: a vote is refused, the log is behind"),
            }
        }
        self.send(from, Message::Vote { term: self.state.term, pre_vote: false, granted });
    }

    /// Handles `from`'s vote.
    pub(super) fn voted(&mut self, now: Now, from: NodeId, term: Term, pre_vote: bool, granted: bool) {
        let asked = if pre_vote { self.state.term.saturating_add(1) } else { self.state.term };
        if !granted {
            return self.adopt(now, term);
        }
        match &mut self.role {
            Role::PreCandidate(ballot) if pre_vote && term == asked => ballot.grant(from),
            Role::Candidate(ballot) if !pre_vote && term == asked => ballot.grant(from),
            _ => return,
        }
        self.count_votes(now);
    }
}

// The follower's side of AppendEntries (figure 2).

impl RaftCore {
    /// Handles `from`'s claim to lead in `term`; returns whether this server follows.
    pub(super) fn follow(&mut self, now: Now, from: NodeId, term: Term) -> bool {
        // A term has one leader, so another server's claim is not valid.
        let leads_itself = term == self.state.term && matches!(self.role, Role::Leader(_));
        if term < self.state.term || leads_itself {
            return false;
        }
        self.adopt(now, term);
        if !matches!(self.role, Role::Follower) {
            self.step_down(now, Deposed::Lost);
        }
        self.campaigning = false;
        self.heard_at = Some(now.mono);
        if !self.is_hashicorp() {
            self.wait_anew(now);
        }
        self.observe(Some(from));
        true
    }

    /// Takes the leader's entries. Returns whether the log had the entry before them, and how far it agrees with the
    /// leader's, or else where it ends.
    pub(super) fn append(
        &mut self,
        prev_index: Index,
        prev_term: Term,
        entries: &[Term],
        commit: Index,
    ) -> (bool, Index) {
        let rises = entries.first().is_none_or(|first| *first >= prev_term)
            && entries.windows(2).all(|pair| pair[0] <= pair[1])
            && entries.last().is_none_or(|last| *last <= self.state.term);
        if self.state.term_at(prev_index) != Some(prev_term) || !rises {
            // Beyond the committed entries, the log may disagree anywhere.
            return (false, self.state.last_index().min(prev_index.saturating_sub(1)));
        }
        if self.state.append(prev_index, entries) {
            crate::mark!("raft-core: a log is cut back");
        }
        let matched = prev_index + entries.len() as Index;
        self.commit = self.commit.max(commit.min(matched));
        (true, matched)
    }
}
