//! One copy: the primary that its node's leader writes to, or a follower of another copy's primary.
//!
//! Where leaderships have tokens, a copy follows the newest and promises to follow nobody older. It does not stop its
//! own leader until it hears of a newer one, since a copy cannot refuse what it does not see. Without tokens, a copy
//! follows the leader that its node observes.

mod committing;

use super::{
    guard::Guard,
    log::{Disk, Durable, Entry, Segment},
    message::Message,
    mode::Copies,
    primary::{Primary, follow, rewind},
    taking_over::{TakingOver, fenced, refuse},
};
use crate::{
    clock::Now,
    core::Output,
    history::Kind,
    message::Message as ToLeader,
    node::Standing,
    payload::Payload,
    types::{Incarnation, NodeId},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

#[derive(Debug)]
pub(super) struct Replica {
    node: NodeId,
    copies: u16,
    mode: Copies,
    disk: Disk,
    /// In majority mode there is one committed log: how far the history has recorded it. Only for the history.
    told: Arc<AtomicU64>,
    /// Its settings for LeaseGuard, if that is on.
    guard: Option<Guard>,
    /// How far it knows the log to be committed. Only kept with LeaseGuard.
    commit: u64,
    now: Now,
    role: Role,
}

/// A copy's role.
#[derive(Debug)]
enum Role {
    Follower,
    TakingOver(TakingOver),
    Primary(Primary),
}

impl Replica {
    /// The copy of `node`, one of `copies`; it starts as a follower.
    pub fn new(
        node: NodeId,
        copies: u16,
        mode: Copies,
        disk: Disk,
        told: Arc<AtomicU64>,
        guard: Option<Guard>,
    ) -> Self {
        Replica { node, copies, mode, disk, told, guard, commit: 0, now: Now::default(), role: Role::Follower }
    }

    fn others(&self) -> impl Iterator<Item = NodeId> + use<> {
        let node = self.node;
        (0..self.copies).map(NodeId).filter(move |other| *other != node)
    }

    /// Whether it has messages to repeat.
    pub fn beats(&self) -> bool {
        !matches!(self.role, Role::Follower)
    }

    /// Takes note of a change in the node's leadership.
    pub fn settle(&mut self, standing: &Standing) {
        let by = match &self.role {
            Role::Follower => return,
            Role::TakingOver(taking_over) => taking_over.by,
            Role::Primary(primary) => primary.by,
        };
        if standing.incarnation != Some(by) {
            self.role = Role::Follower;
        }
    }

    /// Handles a request of the node's leader.
    pub fn asked(&mut self, message: ToLeader, out: &mut Vec<Output>) {
        let Some(by) = self.asks(&message) else { return };
        match &mut self.role {
            Role::Primary(primary) if primary.by == by => self.decide(by, message, out),
            Role::TakingOver(taking_over) if taking_over.by == by => taking_over.ask(message),
            _ if matches!(message, ToLeader::Seal { .. }) && promise(&mut self.disk.open(), by) => {
                self.promote(by, message, out);
            }
            _ => refuse(&self.disk.open(), by, message, out),
        }
    }

    /// The leadership that a message to the store belongs to.
    fn asks(&self, message: &ToLeader) -> Option<Incarnation> {
        let (token, generation) = match message {
            ToLeader::Seal { token, generation, .. } | ToLeader::ReadStore { token, generation, .. } => {
                (*token, *generation)
            }
            ToLeader::Write(write) => (write.token, write.generation),
            _ => return None,
        };
        Some(Incarnation { token, node: self.node, generation })
    }

    fn promote(&mut self, by: Incarnation, message: ToLeader, out: &mut Vec<Output>) {
        if self.mode == Copies::Async {
            self.lead(by, vec![message], out);
            return;
        }
        let mut taking_over = TakingOver::new(by, usize::from(self.copies));
        taking_over.ask(message);
        self.role = Role::TakingOver(taking_over);
        self.tell_all(Message::Prepare { primary: by }, out);
        let (followed, length) = self.standing();
        self.promised(self.node, by, followed, length, out);
    }

    /// The leadership that it last followed, and the length of its log.
    fn standing(&self) -> (Option<Incarnation>, u64) {
        let log = self.disk.open();
        (log.followed, log.len())
    }

    fn tell_all(&self, message: Message, out: &mut Vec<Output>) {
        out.extend(self.others().map(|to| tell(to, message.clone())));
    }

    /// Becomes the primary: its log is the newest of a majority.
    fn lead(&mut self, by: Incarnation, asked: Vec<ToLeader>, out: &mut Vec<Output>) {
        let (after, length) = {
            let mut log = self.disk.open();
            log.followed = Some(by);
            (log.by(log.len()), log.len())
        };
        out.push(Output::Record(Kind::Promoted { incarnation: by, after }));
        let mut primary = Primary::new(by, self.others(), length);
        primary.inherited = self.guard.as_ref().map(|guard| guard.inherits(&self.disk.open()));
        self.role = Role::Primary(primary);
        asked.into_iter().for_each(|message| self.decide(by, message, out));
    }

    /// Follows a newer primary; its own leader's pending requests are refused.
    fn step_aside(&mut self, newer: Incarnation, out: &mut Vec<Output>) {
        if let Role::Primary(primary) = std::mem::replace(&mut self.role, Role::Follower) {
            let waiting = primary.give_up().map(|reply| fenced(reply, newer.token));
            out.extend(waiting.map(|message| Output::Send { to: self.node, message }));
        }
    }

    /// Handles another copy's message. `standing` is that of this copy's node.
    pub fn told(&mut self, from: NodeId, message: Message, standing: &Standing, out: &mut Vec<Output>) {
        match message {
            Message::Stream { primary, round, after, by, entries, commit } => {
                if self.follows(from, primary, standing, out)
                    && self.stream(from, primary, round, (after, by), &entries, out)
                {
                    self.commit = self.commit.max(commit.min(after + entries.len() as u64));
                }
            }
            Message::Prepare { primary } => {
                if self.follows(from, primary, standing, out) {
                    let (followed, length) = self.standing();
                    out.push(tell(from, Message::Promised { primary, followed, length }));
                }
            }
            Message::Fetch { primary, segments } => {
                let log = self.disk.open();
                if log.promised == Some(primary) {
                    let after = log.common(&segments);
                    let entries = log.behind(after, usize::MAX).to_vec();
                    out.push(tell(from, Message::Fetched { primary, after, entries }));
                }
            }
            Message::Promised { primary, followed, length } => self.promised(from, primary, followed, length, out),
            Message::Fetched { primary, after, entries } => self.fetched(primary, after, &entries, out),
            Message::Have { primary, round, up_to } => {
                let Some(own) = self.primary_of(primary) else { return };
                own.has(from, round, up_to);
                let committed = self.count(out);
                self.stream_on(committed, out);
            }
            Message::Differs { primary, segments } => self.differs(from, primary, &segments, out),
            Message::Newer { refused, promised } => {
                let own = match &self.role {
                    Role::Follower => return,
                    Role::TakingOver(taking_over) => taking_over.by,
                    Role::Primary(primary) => primary.by,
                };
                if own == refused {
                    self.disk.open().promised = Some(promised);
                    self.step_aside(promised, out);
                }
            }
        }
    }

    /// Whether it follows that primary. It follows a newer one, and tells an older one that there is a newer one.
    fn follows(&mut self, from: NodeId, primary: Incarnation, standing: &Standing, out: &mut Vec<Output>) -> bool {
        let promised = self.disk.open().promised;
        if primary.token == 0 && promised.is_none() {
            return standing.incarnation.is_none() && standing.observed == Some(primary.node);
        }
        if !promise(&mut self.disk.open(), primary) {
            let newer = promised.map(|promised| Message::Newer { refused: primary, promised });
            out.extend(newer.map(|message| tell(from, message)));
            return false;
        }
        if self.primary_or_taking_over().is_some_and(|own| own != primary) {
            self.step_aside(primary, out);
        }
        true
    }

    fn primary_or_taking_over(&self) -> Option<Incarnation> {
        match &self.role {
            Role::Follower => None,
            Role::TakingOver(taking_over) => Some(taking_over.by),
            Role::Primary(primary) => Some(primary.by),
        }
    }

    fn primary_of(&mut self, by: Incarnation) -> Option<&mut Primary> {
        match &mut self.role {
            Role::Primary(primary) if primary.by == by => Some(primary),
            _ => None,
        }
    }

    /// Takes a primary's entries; returns whether they continue this log.
    fn stream(
        &mut self,
        from: NodeId,
        primary: Incarnation,
        round: u64,
        (after, by): (u64, Option<Incarnation>),
        entries: &[Entry],
        out: &mut Vec<Output>,
    ) -> bool {
        let mut log = self.disk.open();
        if after > log.len() || log.by(after) != by {
            let segments = log.segments();
            out.push(tell(from, Message::Differs { primary, segments }));
            return false;
        }
        out.extend(follow(&mut log, self.node, primary, after, entries).map(Output::Record));
        log.followed = Some(primary);
        self.forget_told(&mut log);
        out.push(tell(from, Message::Have { primary, round, up_to: after + entries.len() as u64 }));
        true
    }

    fn forget_told(&self, log: &mut Durable) {
        match self.mode {
            Copies::Async => log.is_told(log.len()),
            Copies::Majority => log.is_told(self.told.load(Ordering::Relaxed)),
        }
    }

    fn differs(&mut self, from: NodeId, primary: Incarnation, segments: &[Segment], out: &mut Vec<Output>) {
        let common = self.disk.open().common(segments);
        let Some(own) = self.primary_of(primary) else { return };
        own.parts(from, common);
        self.stream_on(false, out);
    }

    fn promised(
        &mut self,
        from: NodeId,
        primary: Incarnation,
        followed: Option<Incarnation>,
        length: u64,
        out: &mut Vec<Output>,
    ) {
        let Role::TakingOver(taking_over) = &mut self.role else { return };
        if taking_over.by != primary {
            return;
        }
        let Some(newest) = taking_over.promised(from, followed, length) else { return };
        if newest == self.node {
            let asked = std::mem::take(&mut taking_over.asked);
            return self.lead(primary, asked, out);
        }
        taking_over.fetching = Some((newest, 0));
        self.fetch(out);
    }

    fn fetch(&self, out: &mut Vec<Output>) {
        let Role::TakingOver(TakingOver { by: primary, fetching: Some((holder, _)), .. }) = &self.role else { return };
        let segments = self.disk.open().segments();
        out.push(tell(*holder, Message::Fetch { primary: *primary, segments }));
    }

    fn fetched(&mut self, primary: Incarnation, after: u64, entries: &[Entry], out: &mut Vec<Output>) {
        let Role::TakingOver(taking_over) = &mut self.role else { return };
        if taking_over.by != primary || taking_over.fetching.is_none() {
            return;
        }
        let asked = std::mem::take(&mut taking_over.asked);
        let mut log = self.disk.open();
        let onto = entries.last().map_or(primary, |entry| entry.by);
        out.extend(rewind(&mut log, self.node, onto, after).map(Output::Record));
        entries.iter().for_each(|entry| log.take(*entry));
        self.forget_told(&mut log);
        drop(log);
        self.lead(primary, asked, out);
    }

    /// Repeats messages that may have been lost.
    pub fn beat(&mut self, out: &mut Vec<Output>) {
        match &mut self.role {
            Role::Follower => {}
            Role::Primary(_) => {
                self.keep_lease(out);
                self.stream_on(true, out);
            }
            Role::TakingOver(taking_over) => {
                let primary = taking_over.by;
                match taking_over.starts_over() {
                    true => self.tell_all(Message::Prepare { primary }, out),
                    false => self.fetch(out),
                }
            }
        }
    }

    fn stream_on(&mut self, beat: bool, out: &mut Vec<Output>) {
        let Role::Primary(primary) = &mut self.role else { return };
        let log = self.disk.open();
        out.extend(primary.streams(&log, self.commit, beat).into_iter().map(|(to, message)| tell(to, message)));
    }
}

/// Promises to follow nobody older than `by`, unless a newer one has that promise.
fn promise(log: &mut Durable, by: Incarnation) -> bool {
    let newer = |promised: Incarnation| promised.token > by.token || (promised.token == by.token && promised != by);
    if by.token > 0 || log.promised.is_some() {
        if log.promised.is_some_and(newer) {
            return false;
        }
        log.promised = Some(by);
    }
    true
}

fn tell(to: NodeId, message: Message) -> Output {
    Output::Tell { to, message: message.erase() }
}
