//! Open-loop clients of the sequencer: they send requests at their rate, whatever the answers, so that they also
//! measure outages. An unanswered request is retried elsewhere under the same id until its patience ends.
//!
//! They may also read the last number: every other read goes to the client's presumed leader, and the others to all
//! candidates in turn, since stale reads come from clients that still talk to a former leader. A read is sent once.
//!
//! A client that uses an address ([`crate::address`]) asks only its owner.

mod waiting;

use crate::{
    address::Resolver,
    clock::Now,
    core::{Core, Input, Output, TimerId},
    history::{Kind, Outcome},
    message::{Address, Message},
    types::{MILLISECOND, NodeId, RequestId},
};
use std::collections::VecDeque;
use waiting::{State, Waiting};

/// By default, a node that has not answered for this many nanoseconds counts as silent: the client drops the connection
/// to it, and asks the next node.
pub const ATTEMPT_TIMEOUT: u64 = 100 * MILLISECOND;
/// A request is given up this many nanoseconds after it was first made.
pub const PATIENCE: u64 = 1_000 * MILLISECOND;
/// Waiting requests are checked at multiples of this many nanoseconds since the client's start, but only when one of
/// them may have to be sent again.
const SWEEP_INTERVAL: u64 = 25 * MILLISECOND;
/// How often a request moves on at once, after a redirect or a broken connection, before it waits for the next sweep.
const MOVES_MAX: u8 = 2;

const ASK: TimerId = 0;
const SWEEP: TimerId = 1;
const READ: TimerId = 2;
const ADDRESS: TimerId = 3;

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Client {
    me: NodeId,
    candidates: u16,
    attempt_timeout: u64,
    interval: u64,
    phase: u64,
    next_at: u64,
    reads: Option<Reads>,
    target: NodeId,
    number: u64,
    waiting: VecDeque<Waiting>,
    started_at: u64,
    /// When waiting requests are checked next.
    sweep_at: Option<u64>,
    /// When the connection to each candidate was last dropped or broken: earlier requests to it will not be answered.
    renewed_at: Vec<u64>,
    /// Set if it uses an address.
    resolver: Option<Resolver>,
}

/// This client's schedule of reads.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Reads {
    interval: u64,
    phase: u64,
    next_at: u64,
    put: u64,
}

impl Client {
    /// A client of nodes 0..`candidates` with a request every `interval` nanoseconds, the first after `phase`. `starts`
    /// is how often it was started before: its requests must not repeat those of an earlier process.
    pub fn new(me: NodeId, candidates: u16, interval: u64, phase: u64, starts: u32) -> Self {
        let target = NodeId(me.0 % candidates.max(1));
        let (waiting, number) = (VecDeque::new(), u64::from(starts) << 32);
        let (attempt_timeout, renewed_at) = (ATTEMPT_TIMEOUT, vec![0; usize::from(candidates)]);
        let (next_at, started_at, reads, sweep_at, resolver) = (0, 0, None, None, None);
        Client {
            me,
            candidates,
            attempt_timeout,
            interval,
            phase,
            next_at,
            reads,
            target,
            number,
            waiting,
            started_at,
            sweep_at,
            renewed_at,
            resolver,
        }
    }

    /// Sets the timeout after which a node counts as silent, instead of [`ATTEMPT_TIMEOUT`].
    pub fn with_attempt_timeout(self, nanoseconds: u64) -> Self {
        Client { attempt_timeout: nanoseconds, ..self }
    }

    /// Adds reads every `interval` nanoseconds, the first after `phase`.
    pub fn with_reads(self, interval: u64, phase: u64) -> Self {
        Client { reads: Some(Reads { interval, phase, next_at: 0, put: 0 }), ..self }
    }

    /// Makes the client use an address.
    pub fn with_address(self, resolver: Resolver) -> Self {
        Client { resolver: Some(resolver), ..self }
    }

    /// The address's owner; `None` without an address, `Some(None)` if it is not known yet.
    fn by_address(&self) -> Option<Option<NodeId>> {
        self.resolver.as_ref().map(Resolver::leader)
    }

    fn ask(&mut self, now: Now, out: &mut Vec<Output>) {
        self.number += 1;
        let request = RequestId { client: self.me, number: self.number };
        out.push(Output::Record(Kind::Invoke { request }));
        let to = self.by_address().unwrap_or(Some(self.target));
        out.extend(to.map(|to| Output::Send { to, message: Message::Next { request } }));
        self.wait(now, false, to.unwrap_or(self.target), out);
        if let (None, Some(waiting)) = (to, self.waiting.back_mut()) {
            waiting.state = State::Refused { unsure: false };
        }
        // Open loop: the schedule does not slip when the client itself was held up.
        self.next_at += self.interval;
        out.push(Output::SetTimer { id: ASK, at: self.next_at });
    }

    fn wait(&mut self, now: Now, read: bool, asked: NodeId, out: &mut Vec<Output>) {
        let at = now.mono;
        self.sweep_when(at + self.attempt_timeout.min(PATIENCE), now, out);
        self.waiting.push_back(Waiting {
            read,
            asked,
            turn: asked,
            asked_at: at,
            first_at: at,
            moves: 0,
            state: State::Clean,
        });
    }

    /// Plans a sweep at the first possible time at or after `due`, unless an earlier one is planned.
    fn sweep_when(&mut self, due: u64, now: Now, out: &mut Vec<Output>) {
        let since = due.max(now.mono + 1) - self.started_at;
        let at = self.started_at + since.next_multiple_of(SWEEP_INTERVAL);
        if self.sweep_at.is_none_or(|planned| at < planned) {
            self.sweep_at = Some(at);
            out.push(Output::SetTimer { id: SWEEP, at });
        }
    }

    /// When a waiting request must be checked, if it is not answered before.
    fn due(&self, waiting: &Waiting) -> Option<u64> {
        match waiting.state {
            State::Done => None,
            // No other node can be asked.
            State::Refused { .. } if self.resolver.is_some() => Some(waiting.asked_at + self.attempt_timeout),
            State::Refused { .. } => Some(0),
            _ if waiting.asked_at < self.renewed_at[waiting.asked.index()] => Some(0),
            _ if waiting.read => Some(waiting.asked_at + self.attempt_timeout),
            _ => Some((waiting.asked_at + self.attempt_timeout).min(waiting.first_at + PATIENCE)),
        }
    }

    /// Plans the next sweep, after any change to waiting requests other than an answer.
    fn plan_sweep(&mut self, now: Now, out: &mut Vec<Output>) {
        if let Some(due) = self.waiting.iter().filter_map(|waiting| self.due(waiting)).min() {
            self.sweep_when(due, now, out);
        }
    }

    fn read(&mut self, now: Now, out: &mut Vec<Output>) {
        let Some(reads) = &mut self.reads else { return };
        let in_turn = NodeId((reads.put / 2 % u64::from(self.candidates.max(1))) as u16);
        let by_address = self.resolver.as_ref().map(Resolver::leader);
        let asked = by_address.unwrap_or(Some(if reads.put % 2 == 0 { self.target } else { in_turn }));
        reads.put += 1;
        reads.next_at += reads.interval;
        out.push(Output::SetTimer { id: READ, at: reads.next_at });
        let Some(asked) = asked else { return };
        self.number += 1;
        let request = RequestId { client: self.me, number: self.number };
        out.push(Output::Record(Kind::ReadInvoke { request }));
        out.push(Output::Send { to: asked, message: Message::Read { request } });
        self.wait(now, true, asked, out);
    }

    /// Ends a read.
    fn read_ended(&mut self, from: NodeId, request: RequestId, outcome: Outcome, out: &mut Vec<Output>) {
        let Some(waiting) = self.find(request).filter(|w| w.read && w.asked == from) else { return };
        waiting.state = State::Done;
        out.push(Output::Record(Kind::ReadReply { request, node: from, outcome }));
        self.forget_done();
    }

    fn find(&mut self, request: RequestId) -> Option<&mut Waiting> {
        let first = self.number + 1 - self.waiting.len() as u64;
        let waiting = self.waiting.get_mut(request.number.checked_sub(first)? as usize)?;
        (request.client == self.me && waiting.state != State::Done).then_some(waiting)
    }

    fn forget_done(&mut self) {
        while self.waiting.front().is_some_and(|w| w.state == State::Done) {
            self.waiting.pop_front();
        }
    }

    fn answered(&mut self, from: NodeId, request: RequestId, token: u64, seq: u64, out: &mut Vec<Output>) {
        let Some(waiting) = self.find(request).filter(|w| !w.read) else { return };
        waiting.state = State::Done;
        out.push(Output::Record(Kind::Reply { request, outcome: Outcome::Ok { token, seq } }));
        self.target = from;
        self.forget_done();
    }

    fn refused(&mut self, now: Now, from: NodeId, request: RequestId, leader: Option<NodeId>, out: &mut Vec<Output>) {
        let candidates = if self.resolver.is_some() { 0 } else { self.candidates };
        let Some(waiting) = self.find(request) else { return };
        if waiting.read {
            return self.read_ended(from, request, Outcome::Rejected, out);
        }
        if waiting.asked != from {
            return;
        }
        // Nodes that were paused may refuse the same request several times in a row.
        let unsure = matches!(waiting.state, State::Unsure | State::Refused { unsure: true });
        waiting.state = State::Refused { unsure };
        let leader = leader.filter(|l| *l != from && l.0 < candidates);
        if let Some(leader) = leader
            && waiting.moves < MOVES_MAX
        {
            waiting.moves += 1;
            waiting.asked = leader;
            waiting.asked_at = now.mono;
            waiting.state = if unsure { State::Unsure } else { State::Clean };
            out.push(Output::Send { to: leader, message: Message::Next { request } });
            self.target = leader;
        } else {
            // With an address, no other node can be asked meanwhile.
            let due = if candidates == 0 { waiting.asked_at + self.attempt_timeout } else { 0 };
            self.sweep_when(due, now, out);
        }
    }

    fn next_after(&self, node: NodeId) -> NodeId {
        NodeId((node.0 + 1) % self.candidates)
    }

    /// The connection to `peer` broke: its requests are sent elsewhere at once.
    fn disconnected(&mut self, now: Now, peer: NodeId, out: &mut Vec<Output>) {
        let (next, elsewhere) = (self.next_after(peer), self.resolver.is_none());
        let Some(renewed_at) = self.renewed_at.get_mut(peer.index()) else { return };
        *renewed_at = now.mono;
        let first = self.number + 1 - self.waiting.len() as u64;
        for (index, waiting) in self.waiting.iter_mut().enumerate() {
            if waiting.read || !waiting.is_under_way() || waiting.asked != peer {
                continue;
            }
            if waiting.moves >= MOVES_MAX || !elsewhere {
                waiting.state = State::Refused { unsure: true };
                continue;
            }
            // A redirect is not part of the rotation, which continues from where it was, so that no node is left out.
            if waiting.turn == peer {
                waiting.turn = next;
            }
            (waiting.asked, waiting.asked_at, waiting.state) = (next, now.mono, State::Unsure);
            waiting.moves += 1;
            let request = RequestId { client: self.me, number: first + index as u64 };
            out.push(Output::Send { to: next, message: Message::Next { request } });
        }
        if self.target == peer {
            self.target = next;
        }
        self.plan_sweep(now, out);
    }

    /// Drops the connections to nodes that have not answered in time.
    fn give_up_silent(&mut self, now: Now, out: &mut Vec<Output>) {
        for index in 0..self.waiting.len() {
            let Waiting { asked, asked_at, .. } = self.waiting[index];
            let silent = self.waiting[index].is_under_way() && now.mono - asked_at >= self.attempt_timeout;
            if silent && asked_at >= self.renewed_at[asked.index()] {
                self.renewed_at[asked.index()] = now.mono;
                out.push(Output::Redial { to: asked });
                if self.target == asked {
                    self.target = self.next_after(asked);
                }
            }
        }
    }

    fn sweep(&mut self, now: Now, out: &mut Vec<Output>) {
        self.sweep_at = None;
        self.give_up_silent(now, out);
        let by_address = self.by_address();
        let first = self.number + 1 - self.waiting.len() as u64;
        for (index, waiting) in self.waiting.iter_mut().enumerate() {
            let request = RequestId { client: self.me, number: first + index as u64 };
            let late = now.mono - waiting.asked_at >= self.attempt_timeout;
            // A request on a dropped connection will not be answered.
            let lost = late || waiting.asked_at < self.renewed_at[waiting.asked.index()];
            if waiting.read {
                if waiting.state != State::Done && lost {
                    waiting.state = State::Done;
                    let (node, outcome) = (waiting.asked, Outcome::Unknown);
                    out.push(Output::Record(Kind::ReadReply { request, node, outcome }));
                }
                continue;
            }
            let over = now.mono - waiting.first_at >= PATIENCE;
            let unsure = match waiting.state {
                State::Done => continue,
                State::Refused { .. } if by_address.is_some() && !late && !over => continue,
                State::Refused { unsure } => unsure,
                State::Clean | State::Unsure if lost || over => true,
                State::Clean | State::Unsure => continue,
            };
            if over {
                waiting.state = State::Done;
                let outcome = if unsure { Outcome::Unknown } else { Outcome::Rejected };
                out.push(Output::Record(Kind::Reply { request, outcome }));
                continue;
            }
            let next = |node: NodeId| NodeId((node.0 + 1) % self.candidates);
            waiting.asked_at = now.mono;
            if by_address == Some(None) {
                continue;
            }
            waiting.turn = next(waiting.turn);
            if waiting.turn == waiting.asked {
                waiting.turn = next(waiting.turn);
            }
            waiting.asked = by_address.flatten().unwrap_or(waiting.turn);
            waiting.moves = 0;
            waiting.state = if unsure { State::Unsure } else { State::Clean };
            out.push(Output::Send { to: waiting.asked, message: Message::Next { request } });
        }
        self.forget_done();
        self.plan_sweep(now, out);
    }
}

impl Core for Client {
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Start => {
                self.started_at = now.mono;
                self.next_at = now.mono + self.phase;
                self.resolver.iter_mut().for_each(|resolver| resolver.ask(now, ADDRESS, out));
                out.push(Output::SetTimer { id: ASK, at: self.next_at });
                if let Some(reads) = &mut self.reads {
                    reads.next_at = now.mono + reads.phase;
                    out.push(Output::SetTimer { id: READ, at: reads.next_at });
                }
            }
            Input::Timer(READ) => self.read(now, out),
            Input::Timer(ASK) => self.ask(now, out),
            Input::Timer(ADDRESS) => self.resolver.iter_mut().for_each(|resolver| resolver.ask(now, ADDRESS, out)),
            Input::Timer(SWEEP) => self.sweep(now, out),
            Input::Disconnected { peer } => self.disconnected(now, peer, out),
            Input::Message { from, message: Message::NextIs { request, token, seq } } => {
                self.answered(from, request, token, seq, out);
            }
            Input::Message { from, message: Message::ReadIs { request, token, seq } } => {
                self.read_ended(from, request, Outcome::Ok { token, seq }, out);
            }
            Input::Message { from, message: Message::NotLeader { request, leader } } => {
                self.refused(now, from, request, leader, out);
            }
            Input::Message { message: Message::Address(Address::Is(node)), .. } => {
                self.resolver.iter_mut().for_each(|resolver| resolver.told(now, ADDRESS, node, out));
            }
            _ => {}
        }
    }
}
