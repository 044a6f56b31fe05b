//! Candidacies and votes.

use super::{Core, Leading, Role};
use crate::service::cluster::message::{Entry, Index, Message, Term};
use std::collections::{BTreeMap, VecDeque};

impl Core {
    /// Stands for election, or with `pre` asks first whether it would win.
    pub(super) fn stand(&mut self, pre: bool) {
        self.leader = None;
        self.heard_at = None;
        self.wait_anew();
        let mut votes = vec![false; self.count];
        votes[self.own] = true;
        let mut term = self.hard.term + 1;
        if !pre {
            self.hard.term = term;
            self.hard.vote = Some(self.own);
        }
        self.role = Role::Candidate { pre, votes };
        if self.majority() == 1 {
            return if pre { self.stand(false) } else { self.lead() };
        }
        term = if pre { term } else { self.hard.term };
        let last = (self.last(), self.term_at(self.last()));
        for to in self.others() {
            self.send(to, Message::Vote { term, pre, last });
        }
    }

    pub(super) fn asked(&mut self, from: usize, term: Term, pre: bool, last: (Index, Term)) {
        let heard = self.heard_at.is_some_and(|at| self.now < at + self.rules.election.0);
        let follows = self.leader.is_some() && (self.leader == Some(self.own) || heard);
        if self.rules.keeps_vote && follows && term > self.hard.term {
            return;
        }
        if term > self.hard.term && !pre {
            self.step_down(term, None);
        }
        let (own_last, own_term) = (self.last(), self.term_at(self.last()));
        let as_good = last.1 > own_term || (last.1 == own_term && last.0 >= own_last);
        let free = match pre {
            true => term > self.hard.term,
            false => term == self.hard.term && self.hard.vote.is_none_or(|vote| vote == from) && self.leader.is_none(),
        };
        let granted = free && as_good;
        if granted && !pre {
            self.hard.vote = Some(from);
            self.wait_anew();
        }
        let term = if pre && granted { term } else { self.hard.term };
        self.send(from, Message::Voted { term, pre, granted });
    }

    pub(super) fn voted(&mut self, from: usize, term: Term, pre: bool, granted: bool) {
        if term > self.hard.term && !(pre && granted) {
            return self.step_down(term, None);
        }
        let (own_term, majority) = (self.hard.term, self.majority());
        let Role::Candidate { pre: asks, votes } = &mut self.role else { return };
        let counts = *asks == pre && granted && term == if pre { own_term + 1 } else { own_term };
        if !counts {
            return;
        }
        votes[from] = true;
        if votes.iter().filter(|vote| **vote).count() >= majority {
            if pre { self.stand(false) } else { self.lead() }
        }
    }

    /// Becomes leader, and announces that with the first entry of its term.
    pub(super) fn lead(&mut self) {
        let (count, now, next) = (self.count, self.now, self.last() + 1);
        let heard = if self.rules.counts_looks { 0 } else { now };
        self.role = Role::Leader(Leading {
            next: vec![next; count],
            matched: vec![0; count],
            heard: vec![Some(heard); count],
            looked: 0,
            confirmed: vec![0; count],
            rounds: 0,
            first_rounds: BTreeMap::new(),
            reads: VecDeque::new(),
            heartbeat_at: now + self.rules.heartbeat,
            looks_at: now + self.rules.quorum.0,
        });
        self.leader = Some(self.own);
        self.early.clear();
        self.log.push(Entry { term: self.hard.term, data: [].into() });
        self.append_all(true);
    }

    /// Follows in that term, whoever leads.
    pub(super) fn step_down(&mut self, term: Term, leader: Option<usize>) {
        if term > self.hard.term {
            (self.hard.term, self.hard.vote) = (term, None);
        }
        self.role = Role::Follower;
        self.leader = leader;
        self.heard_at = self.heard_at.filter(|_| leader.is_some());
        self.early.clear();
        self.wait_anew();
    }

    pub(super) fn follow_leader(&mut self, leader: usize) {
        let known = self.leader == Some(leader) && matches!(self.role, Role::Follower);
        self.role = Role::Follower;
        self.leader = Some(leader);
        self.heard_at = Some(self.now);
        if !(known && self.rules.own_pace) {
            self.wait_anew();
        }
    }
}
