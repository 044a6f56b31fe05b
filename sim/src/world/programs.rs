//! What unmodified programs do in the world beside what history and trace have: the lines that they print, the sends that
//! they make, and who of them leads, as far as their effects or their lines tell.

use super::World;
use protocols::{
    elector::Deposed,
    history::{Kind, UNKNOWN_VERSION},
    message::{Write, WriteVerdict},
    types::{Incarnation, NodeId, Operation, Resource, SECOND},
};
use std::{collections::BTreeMap, task::Waker};
use xxhash_rust::xxh3::xxh3_64;

/// A line that a process printed, or the sentence that refused something it called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// True time, in nanoseconds.
    pub now: u64,
    pub node: NodeId,
    /// How many times the process had been started before.
    pub starts: u32,
    pub from: From,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    Output,
    Error,
    /// A call that is not simulated.
    Refused,
    /// The end of a process that ended by itself.
    End,
}

/// A send of a process, before which it could have been stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// True time, in nanoseconds.
    pub now: u64,
    pub node: NodeId,
    /// Its first bytes, at most 512.
    pub head: Vec<u8>,
}

/// What is kept of programs during a run.
#[derive(Default)]
pub struct Programs {
    pub(crate) printed: Vec<Line>,
    /// Their sends, if they are counted.
    pub(crate) sent: Option<Vec<Sent>>,
    /// The first bytes of the send before which a process stands.
    pub(super) sending: Option<Vec<u8>>,
    /// Whose write the store accepted last, while that process lives.
    acting: Option<NodeId>,
    /// What each process has said about its leaderships.
    said: BTreeMap<NodeId, Said>,
    /// How a process stood when it began the request that is under way on a connection to the store.
    began: BTreeMap<u32, Began>,
    /// Whether lines say who leads.
    observed: bool,
    /// What models refused because they do not know it, each once.
    pub(crate) refused: Vec<String>,
    /// Writes that the store accepted without a token, and nobody said that leads.
    pub(crate) untold: u64,
    /// Writes that a store which is a program has accepted.
    accepted: u64,
    /// Turns of such writers: nodes that wrote after another.
    turns: u32,
    /// How often the wall clock of each node was stepped, and who waits for that.
    steps: BTreeMap<NodeId, (u32, Option<Waker>)>,
}

#[derive(Default)]
struct Said {
    /// The last one.
    last: Option<Incarnation>,
    leads: bool,
    /// When it said that it stopped.
    stopped: u64,
}

/// How a process stood when it began a request.
#[derive(Clone, Copy)]
struct Began {
    /// The leadership that it had said last; `None` if it never said that it leads.
    last: Option<Incarnation>,
    /// It had said that it stopped for longer than what it had begun then may take.
    late: bool,
}

/// What a program begins may be under way for so long after it has said that it stopped, nanoseconds.
const UNDER_WAY: u64 = SECOND;

impl World {
    /// How often the node's wall clock has been stepped. The next step wakes the waker.
    pub fn clock_steps(&mut self, node: NodeId, waker: &Waker) -> u32 {
        let (steps, waiting) = self.programs.steps.entry(node).or_default();
        *waiting = Some(waker.clone());
        *steps
    }

    /// A thread that sleeps until a time on the wall clock has to look at it again.
    pub(super) fn clock_was_stepped(&mut self, node: NodeId) {
        let waiting = self.programs.steps.get_mut(&node).and_then(|(steps, waiting)| {
            *steps += 1;
            waiting.take()
        });
        self.wake(waiting);
    }

    /// A process printed a line.
    pub fn print(&mut self, node: NodeId, from: From, text: String) {
        let starts = self.processes[node.index()].starts - 1;
        let words = [xxh3_64(text.as_bytes()), u64::from(node.0) << 8 | from as u64, u64::from(starts)];
        self.trace.note(self.now, words, || format!("{node:?} prints {text:?}"));
        self.programs.printed.push(Line { now: self.now, node, starts, from, text });
    }

    /// A model does not know what it was asked.
    pub(crate) fn refuses(&mut self, sentence: String) {
        if !self.programs.refused.contains(&sentence) {
            self.programs.refused.push(sentence);
        }
    }

    /// Counts the sends of programs from now on.
    pub fn count_sends(&mut self) {
        self.programs.sent.get_or_insert_default();
    }

    pub fn counts_sends(&self) -> bool {
        self.programs.sent.is_some()
    }

    /// A process is about to send this; of a long text, these are the first bytes.
    pub fn sends(&mut self, node: NodeId, head: Vec<u8>) {
        if let Some(sent) = &mut self.programs.sent {
            sent.push(Sent { now: self.now, node, head: head.clone() });
        }
        self.programs.sending = Some(head);
    }

    /// Lines of programs say who leads.
    pub fn observe(&mut self) {
        self.programs.observed = true;
    }

    /// A process said that it leads, with this token if it named one. The same token is the same leadership.
    pub fn says_it_leads(&mut self, node: NodeId, token: u64) {
        self.says_it_stopped(node);
        let said = self.programs.said.entry(node).or_default();
        let incarnation = match said.last {
            Some(last) if token > 0 && last.token == token => last,
            last => Incarnation { token, node, generation: last.map_or(0, |last| last.generation) + 1 },
        };
        (said.last, said.leads) = (Some(incarnation), true);
        self.record(Kind::Elected(incarnation));
    }

    /// A process said that it leads no more.
    pub fn says_it_stopped(&mut self, node: NodeId) {
        let now = self.now;
        let Some(said) = self.programs.said.get_mut(&node) else { return };
        if let (true, Some(incarnation)) = (std::mem::take(&mut said.leads), said.last) {
            said.stopped = now;
            self.record(Kind::Deposed { incarnation, reason: Deposed::Lost });
        }
    }

    /// The processes that a name stands for: one, or all members of a service, as behind a headless service's name.
    pub fn named(&self, name: &str) -> Vec<NodeId> {
        match self.topology.services().iter().find(|service| service.name == name) {
            Some(service) => service.nodes().collect(),
            None => self.find(name).into_iter().collect(),
        }
    }

    pub fn is_store(&self, node: NodeId) -> bool {
        node == self.topology.store()
    }

    /// A process begins a request to the store on this connection.
    pub(crate) fn begins_request(&mut self, node: NodeId, conn: u32) {
        if self.programs.observed {
            let said = self.programs.said.get(&node);
            let last = said.and_then(|said| said.last);
            let late = said.is_none_or(|said| !said.leads && self.now - said.stopped > UNDER_WAY);
            self.programs.began.insert(conn, Began { last, late });
        }
    }

    /// Whether the write on this connection was begun in, or clearly after, what its process says of its leadership: so that
    /// it can be told whether it was meant to be sent. What arrives from a stopped process was sent before it stopped.
    pub(crate) fn is_told(&self, node: NodeId, conn: u32) -> bool {
        let process = &self.processes[node.index()];
        if !process.up || process.paused {
            return false;
        }
        let leads = || self.programs.said.get(&node).is_some_and(|said| said.leads);
        self.programs.began.get(&conn).is_some_and(|began| began.late || leads())
    }

    /// The leadership of a write on this connection, which has this token, or 0. It is the one that its process had said
    /// that it leads when it began the request: a leader that shows another token is the same leader. Who has no token
    /// and says nothing is numbered by turns, and the run shows nothing.
    pub(crate) fn leadership_of(&self, node: NodeId, conn: u32, token: u64) -> Incarnation {
        let generation = match self.programs.began.get(&conn).map(|began| began.last) {
            Some(Some(said)) => return said,
            _ if token > 0 => 0,
            _ if self.programs.acting == Some(node) => self.programs.turns.max(1),
            _ => self.programs.turns + 1,
        };
        Incarnation { token, node, generation }
    }

    /// A write whose token says nothing arrived on this connection: notes that nobody can tell to which leadership it belongs,
    /// unless its process has said that it leads.
    pub(crate) fn does_not_tell(&mut self, (_, conn): (NodeId, u32)) -> bool {
        let said = self.programs.began.get(&conn).is_some_and(|began| began.last.is_some());
        self.programs.untold += u64::from(!said);
        !said
    }

    /// The store accepted a write of this leadership.
    pub(crate) fn took_effect(&mut self, incarnation: Incarnation) {
        let node = incarnation.node;
        let said = self.programs.said.get(&node).is_some_and(|said| said.last.is_some());
        if incarnation.token == 0 && !said {
            (self.programs.untold, self.programs.turns) = (self.programs.untold + 1, incarnation.generation);
        }
        if self.programs.acting.replace(node).is_none() {
            self.leader_appeared(0);
        }
    }

    /// The store, which is a program, said that it has accepted this write.
    pub(crate) fn accepts(&mut self, node: &str, token: u64, seq: u64) {
        let Some(node) = self.find(node).filter(|node| self.topology.is_candidate(*node)) else {
            // Nobody knows whose it is.
            self.programs.untold += 1;
            return;
        };
        let said = self.programs.said.get(&node).and_then(|said| said.last);
        let of = match said.filter(|said| said.token == token || said.token == 0) {
            Some(said) => said,
            None if token == 0 => {
                self.programs.untold += 1;
                return;
            }
            None => self.leadership_of(node, u32::MAX, token),
        };
        self.programs.accepted += 1;
        let write = Write {
            resource: Resource(0),
            operation: Operation::Record,
            generation: of.generation,
            token: of.token,
            seq,
            read_version: UNKNOWN_VERSION,
            client: node,
            number: self.programs.accepted,
            payload: None,
        };
        self.record(Kind::Apply { node, write, verdict: WriteVerdict::Ok, version: UNKNOWN_VERSION });
        self.took_effect(of);
    }

    /// Who leads, by its effects.
    pub(super) fn acting(&self) -> Option<NodeId> {
        self.programs.acting
    }

    /// A process is gone.
    pub(super) fn forget_program(&mut self, node: NodeId) {
        let programs = &mut self.programs;
        programs.acting = programs.acting.filter(|acting| *acting != node);
        if let Some(said) = programs.said.get_mut(&node) {
            (said.leads, said.stopped) = (false, self.now);
        }
    }
}
