//! A member of a cluster that agrees on a log. The core is pure: inputs step it, and [`Core::ready`] drains its
//! outputs.
//!
//! As in etcd-io/raft, stepping and saving are separate: while the disk works, the core keeps receiving messages, and
//! its answers wait.

mod append;
pub mod drill;
#[cfg(test)]
mod tests;
mod vote;

pub use super::journal::{Hard, Record, Stored};
use super::{
    Rules,
    message::{Entry, Index, Message, Term},
};
use protocols::random::Random;
use std::collections::{BTreeMap, VecDeque};

/// The leader that a member knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    pub term: Term,
    pub leader: Option<usize>,
}

/// What to do now, in this order; but a leader sends before it saves.
#[derive(Default)]
pub struct Ready {
    /// The leader, if it changed.
    pub standing: Option<Standing>,
    /// Whether this member leads.
    pub leads: bool,
    /// Entries to apply.
    pub committed: Vec<(Index, Entry)>,
    /// What to save.
    pub record: Record,
    /// The log's end once `record` is saved.
    pub saved: (Term, Index),
    /// Messages to send.
    pub messages: Vec<(usize, Message)>,
    /// Reads that may proceed once this index is applied.
    pub reads: Vec<(u64, Index)>,
}

enum Role {
    Follower,
    /// A candidate, or with `pre` only asking, with the votes so far.
    Candidate {
        pre: bool,
        votes: Vec<bool>,
    },
    Leader(Leading),
}

struct Leading {
    /// The next index to send to each member.
    next: Vec<Index>,
    /// The last index that each member is known to have on disk.
    matched: Vec<Index>,
    /// When each member was last heard; `None` if its connection was lost since.
    heard: Vec<Option<u64>>,
    /// The time passed, as counted by the looks at who was heard.
    looked: u64,
    /// The last round of reads that each member confirmed.
    confirmed: Vec<u64>,
    /// Rounds of reads so far.
    rounds: u64,
    /// The first round of each read; used only with `retry_keeps_round`.
    first_rounds: BTreeMap<(usize, u64), u64>,
    /// Waiting reads: the member that asked, its name for the read, the round, the index.
    reads: VecDeque<(usize, u64, u64, Index)>,
    heartbeat_at: u64,
    looks_at: u64,
}

impl Leading {
    /// The round in which the read was first asked for; `now` if it is new. A round that has ended must be confirmed
    /// again.
    fn first_round(&mut self, member: usize, read: u64, now: u64) -> u64 {
        let first = *self.first_rounds.entry((member, read)).or_insert(now);
        if !self.reads.iter().any(|(_, _, waits, _)| *waits == first) {
            self.confirmed.iter_mut().for_each(|confirmed| *confirmed = (*confirmed).min(first - 1));
        }
        first
    }
}

/// A member's state.
pub struct Core {
    own: usize,
    count: usize,
    rules: Rules,
    random: Random,
    now: u64,
    hard: Hard,
    log: Vec<Entry>,
    role: Role,
    leader: Option<usize>,
    heard_at: Option<u64>,
    patience_until: u64,
    applied: Index,
    /// The first entry not yet handed over for saving.
    unsaved: Index,
    saved_hard: Hard,
    told: Standing,
    messages: Vec<(usize, Message)>,
    reads: Vec<(u64, Index)>,
    /// Reads that arrived before this leader's first entry was committed.
    early: Vec<(usize, u64)>,
}

impl Core {
    /// Member `own` of `count`, with the contents of its disk.
    pub fn new(own: usize, count: usize, rules: Rules, seed: u64, stored: Stored) -> Core {
        let mut core = Core {
            own,
            count,
            rules,
            random: Random::new(seed),
            now: 0,
            hard: stored.hard,
            unsaved: stored.log.len() as Index + 1,
            log: stored.log,
            role: Role::Follower,
            leader: None,
            heard_at: None,
            patience_until: 0,
            applied: 0,
            saved_hard: stored.hard,
            told: Standing::default(),
            messages: Vec::new(),
            reads: Vec::new(),
            early: Vec::new(),
        };
        core.wait_anew();
        core
    }

    /// The initial disk of a member if `leader` was elected beforehand.
    pub fn founded(leader: usize) -> Stored {
        Stored { hard: Hard { term: 1, vote: Some(leader), commit: 0 }, log: Vec::new() }
    }

    /// Takes the role that follows from that election.
    pub fn found(&mut self, now: u64, leader: usize) {
        self.now = now;
        match leader == self.own {
            true => self.lead(),
            false => self.follow_leader(leader),
        }
    }

    /// The leader that the core has heard of; [`Ready::standing`] may lag behind.
    pub fn leader(&self) -> Option<usize> {
        self.leader
    }

    pub fn term(&self) -> Term {
        self.hard.term
    }

    /// The number of members.
    pub fn members(&self) -> usize {
        self.count
    }

    /// Sets the time.
    pub fn at(&mut self, now: u64) {
        self.now = now;
    }

    fn majority(&self) -> usize {
        self.count / 2 + 1
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.own;
        (0..self.count).filter(move |member| *member != own)
    }

    fn last(&self) -> Index {
        self.log.len() as Index
    }

    fn term_at(&self, index: Index) -> Term {
        index.checked_sub(1).and_then(|place| self.log.get(place as usize)).map_or(0, |entry| entry.term)
    }

    fn send(&mut self, to: usize, message: Message) {
        self.messages.push((to, message));
    }

    fn wait_anew(&mut self) {
        let (min, max) = if self.heard_at.is_some() { self.rules.election } else { self.rules.vote };
        self.patience_until = self.now + min + self.random.next_u64() % (max - min).max(1);
    }

    /// Time has advanced to `now`.
    pub fn tick(&mut self, now: u64) {
        self.now = now;
        let majority = self.majority();
        match &mut self.role {
            Role::Leader(leading) => {
                let (every, within) = self.rules.quorum;
                if now >= leading.looks_at {
                    leading.looks_at = now + every;
                    leading.looked += every;
                    let time = if self.rules.counts_looks { leading.looked } else { now };
                    let is_heard = |at: &Option<u64>| at.is_some_and(|at| at + within > time);
                    let heard = leading.heard.iter().enumerate();
                    let heard = heard.filter(|(member, at)| *member == self.own || is_heard(at)).count();
                    if heard < majority {
                        return self.step_down(self.hard.term, None);
                    }
                }
                if now >= leading.heartbeat_at {
                    leading.heartbeat_at = now + self.rules.heartbeat;
                    self.append_all(true);
                }
            }
            _ if now < self.patience_until => {}
            _ if self.rules.own_pace && self.heard_at.is_some_and(|at| now < at + self.rules.election.0) => {
                self.wait_anew();
            }
            _ => self.stand(self.rules.pre_vote),
        }
    }

    pub fn hear(&mut self, from: usize, message: Message) {
        if let Role::Leader(leading) = &mut self.role {
            leading.heard[from] = Some(if self.rules.counts_looks { leading.looked } else { self.now });
        }
        match message {
            Message::Vote { term, pre, last } => self.asked(from, term, pre, last),
            Message::Voted { term, pre, granted } => self.voted(from, term, pre, granted),
            Message::Append { term, prev, commit, read, entries } => {
                self.append(from, term, prev, commit, read, entries);
            }
            Message::Appended { term, success, index, read } => self.appended(from, term, success, index, read),
            Message::Propose(data) => drop(self.propose(data)),
            Message::AskRead(read) => self.read_for(from, read),
            Message::ReadAt(read, index) => self.reads.push((read, index)),
        }
    }

    /// The connection to a member was lost.
    pub fn lost(&mut self, member: usize) {
        if !self.rules.hangs_up {
            return;
        }
        match &mut self.role {
            Role::Leader(leading) => leading.heard[member] = None,
            _ if self.leader == Some(member) => {
                self.leader = None;
                self.heard_at = None;
                self.wait_anew();
            }
            _ => {}
        }
    }

    /// Proposes an entry, here or at the leader; `false` if there is no leader.
    pub fn propose(&mut self, data: std::sync::Arc<[u8]>) -> bool {
        match (&self.role, self.leader) {
            (Role::Leader(_), _) => {
                self.log.push(Entry { term: self.hard.term, data });
                self.append_all(false);
                true
            }
            (_, Some(leader)) => {
                self.send(leader, Message::Propose(data));
                true
            }
            _ => false,
        }
    }

    /// Proposes an entry if this member believes that it leads; returns whether it does.
    pub fn propose_leading(&mut self, data: std::sync::Arc<[u8]>) -> bool {
        matches!(self.role, Role::Leader(_)) && self.propose(data)
    }

    /// The messages by which a leader announces itself, without entries.
    pub fn say_that_it_leads(&self) -> Vec<(usize, Message)> {
        let bare = |_| Message::Append { term: self.hard.term, prev: (0, 0), commit: 0, read: 0, entries: Vec::new() };
        let followers = self.others().filter(|_| matches!(self.role, Role::Leader(_)));
        followers.map(|to| (to, bare(to))).collect()
    }

    /// The index of the last entry.
    pub fn end(&self) -> Index {
        self.last()
    }

    /// Requests a read; it may proceed once a majority has confirmed that nobody else leads.
    pub fn read(&mut self, read: u64) {
        match self.leader {
            Some(leader) if leader != self.own => self.send(leader, Message::AskRead(read)),
            Some(_) => self.read_for(self.own, read),
            None => {}
        }
    }

    fn read_for(&mut self, member: usize, read: u64) {
        let in_term = self.term_at(self.hard.commit) == self.hard.term;
        let Role::Leader(leading) = &mut self.role else { return };
        if !in_term {
            return self.early.push((member, read));
        }
        leading.rounds += 1;
        let mut round = leading.rounds;
        if self.rules.retry_keeps_round {
            round = leading.first_round(member, read, round);
        }
        if !leading.reads.iter().any(|(_, _, waits, _)| *waits == round) {
            leading.reads.push_back((member, read, round, self.hard.commit));
        }
        self.append_all(true);
        self.confirm();
    }

    /// What was handed over is on disk, up to this entry.
    pub fn saved(&mut self, (term, index): (Term, Index)) {
        let (own, is_there) = (self.own, self.term_at(index) == term);
        if let Role::Leader(leading) = &mut self.role
            && is_there
        {
            leading.matched[own] = leading.matched[own].max(index);
            self.advance();
        }
    }

    /// What to do now; `None` if nothing is left.
    pub fn ready(&mut self) -> Option<Ready> {
        let standing = Standing { term: self.hard.term, leader: self.leader };
        let standing = (standing != self.told).then_some(standing);
        let commit = self.hard.commit.min(self.last());
        let committed =
            (self.applied + 1..=commit).map(|index| (index, self.log[index as usize - 1].clone())).collect();
        let hard = (self.hard != self.saved_hard).then_some(self.hard);
        let entries =
            (self.unsaved <= self.last()).then(|| (self.unsaved, self.log[self.unsaved as usize - 1..].to_vec()));
        let votes = (self.hard.term, self.hard.vote) != (self.saved_hard.term, self.saved_hard.vote);
        let record = Record { sync: votes || entries.is_some(), hard, entries };
        let ready = Ready {
            standing,
            leads: matches!(self.role, Role::Leader(_)),
            committed,
            record,
            saved: (self.term_at(self.last()), self.last()),
            messages: std::mem::take(&mut self.messages),
            reads: std::mem::take(&mut self.reads),
        };
        self.told = Standing { term: self.hard.term, leader: self.leader };
        (self.applied, self.saved_hard, self.unsaved) = (commit, self.hard, self.last() + 1);
        let nothing = ready.standing.is_none() && ready.committed.is_empty() && ready.record.is_empty();
        (!nothing || !ready.messages.is_empty() || !ready.reads.is_empty()).then_some(ready)
    }
}
