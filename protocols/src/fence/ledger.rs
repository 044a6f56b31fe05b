//! The ledger: the state by which a protected resource refuses former leaders.
//!
//! It orders (token, seq) lexicographically, allows one owner per token, is sealed before its state is read, and
//! answers repeated requests from memory. Source: the fencing rules of the project's protocol facts, after Kleppmann,
//! "How to do distributed locking" (2016), and Chubby's sequencers (Burrows, OSDI 2006, §2.4).

use super::{
    checks::FORGED,
    plans::{Plan, Plans},
};
use crate::{
    message::{Write, WriteVerdict},
    types::{NodeId, Operation, Payload, RequestId},
};
use std::collections::VecDeque;

/// How many of a client's latest requests a resource remembers. An older retry is refused as `Failed`.
pub const REMEMBERED_REQUESTS: usize = 1 << 16;

/// A ledger's state apart from its requests: everything that a restart has to restore.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct State {
    /// The highest accepted token; 0 before the first.
    pub highest: u64,
    /// That token's owner: node and generation.
    pub owner: Option<(NodeId, u32)>,
    pub seq: u64,
    /// The number of writes applied, plus those that burnt their number: used it up without being applied.
    pub version: u64,
    /// The last recorded payload.
    pub payload: Option<Payload>,
}

/// A ledger's memory of the requests it has applied.
pub trait Memory {
    /// What is known of `request`.
    fn recall(&self, request: RequestId) -> Recall;

    /// Remembers that `request` was applied as number `seq`.
    fn remember(&mut self, request: RequestId, seq: u64);
}

/// What memory knows of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recall {
    /// It was not applied.
    New,
    /// It was applied, with this number.
    Applied(u64),
    /// It is older than the memory reaches.
    TooOld,
}

/// What a store decides by: this module's [`Ledger`], or in the simulation one of [`super::ablated`].
pub trait Fence {
    /// Fences off everything older than `token` (rule 2: before the state is read). Returns whether it was accepted;
    /// sealing twice in the same leadership is harmless.
    fn seal(&mut self, node: NodeId, generation: u32, token: u64) -> bool;

    /// Decides on a read, which is refused where a write would be, so that the answer goes to the newest leader.
    fn read(&self, node: NodeId, generation: u32, token: u64) -> WriteVerdict;

    /// Decides on a write, and applies it if it is `Ok`.
    fn write(&mut self, node: NodeId, write: &Write) -> WriteVerdict;

    fn state(&self) -> State;

    fn plans(&self) -> &Plans;

    /// The highest accepted token; 0 before the first.
    fn highest(&self) -> u64 {
        self.state().highest
    }

    fn seq(&self) -> u64 {
        self.state().seq
    }

    /// The version: the number of writes applied, plus those that burnt their number.
    fn version(&self) -> u64 {
        self.state().version
    }

    fn payload(&self) -> Option<Payload> {
        self.state().payload
    }

    /// The plans removed by the last deletion, in order of creation.
    fn deleted(&self) -> &[Plan] {
        self.plans().deleted()
    }
}

/// One resource's ledger, with every check. With the default memory, its size is bounded by clients ×
/// [`REMEMBERED_REQUESTS`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ledger<M = Window> {
    pub(super) state: State,
    pub(super) memory: M,
    plans: Plans,
}

/// Remembers each client's latest [`REMEMBERED_REQUESTS`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Window {
    clients: Vec<Client>,
}

/// The sequence numbers of a client's latest requests. A client's requests arrive nearly in order, so a sliding window
/// is enough.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Client {
    client: NodeId,
    /// Requests below this number are forgotten.
    oldest: u64,
    /// The request at the front of `seqs`; no earlier one in the window was applied.
    first: u64,
    /// 0 for a request that was not applied.
    seqs: VecDeque<u64>,
}

impl Ledger {
    /// An empty resource.
    pub fn new() -> Self {
        Ledger::default()
    }
}

impl<M: Memory> Ledger<M> {
    /// A ledger with this state and memory, and without plans.
    pub fn restore(state: State, memory: M) -> Self {
        Ledger { state, memory, plans: Plans::default() }
    }

    /// Adds plans.
    pub fn with_plans(self, plans: Plans) -> Self {
        Ledger { plans, ..self }
    }

    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Refuses everything older from now on.
    pub(super) fn raise(&mut self, token: u64, owner: (NodeId, u32)) {
        self.state.highest = token;
        self.state.owner = Some(owner);
    }

    fn is_owner(&self, token: u64, leadership: (NodeId, u32)) -> bool {
        token == self.state.highest && self.state.owner == Some(leadership)
    }

    /// A protocol without tokens gives a ledger nothing to check. Once a token has been seen, it is required.
    pub(super) fn is_tokenless(&self, token: u64) -> bool {
        token == 0 && self.state.highest == 0
    }

    /// Refuses a former leader's write.
    pub(super) fn refuse(&self) -> WriteVerdict {
        crate::mark!("ledger: a write of an older leader is refused");
        WriteVerdict::Fenced { highest: self.state.highest }
    }

    /// Refuses a write whose number is beyond the next one.
    #[inline]
    pub(super) fn refuse_early(&self, write: &Write) -> Option<WriteVerdict> {
        let expected = self.state.seq + 1;
        (write.seq > expected).then(|| {
            crate::mark!("ledger: a write out of turn is refused");
            WriteVerdict::Failed { expected }
        })
    }

    /// Decides on the newest leader's write by what is remembered of its request.
    #[inline]
    pub(super) fn write_once(&mut self, node: NodeId, write: &Write, in_turn: bool) -> WriteVerdict {
        match (self.memory.recall(write.request()), in_turn) {
            (Recall::Applied(seq), in_turn) => {
                crate::mark!("ledger: a request comes again");
                // The number that the leader had meant for it is burnt, or its next write would be out of turn.
                if in_turn {
                    crate::mark!("ledger: a number is burnt by a request that was applied before");
                    self.take(write.seq);
                }
                WriteVerdict::Duplicate { seq }
            }
            (Recall::New, true) => {
                self.apply(node, write);
                self.memory.remember(write.request(), write.seq);
                WriteVerdict::Ok
            }
            // Burnt as well; otherwise an old request would block all later ones of this leader.
            (Recall::TooOld, true) => {
                self.take(write.seq);
                WriteVerdict::Failed { expected: self.state.seq + 1 }
            }
            (Recall::New | Recall::TooOld, false) => WriteVerdict::Failed { expected: self.state.seq + 1 },
        }
    }

    /// Applies a write of an external party, which knows no tokens: only its key is checked, if it has one.
    pub(super) fn write_keyed(&mut self, node: NodeId, write: &Write, keyed: bool) -> WriteVerdict {
        self.take(write.seq);
        if keyed && let Recall::Applied(seq) = self.memory.recall(write.request()) {
            return WriteVerdict::Duplicate { seq };
        }
        self.record(node, write);
        if keyed {
            self.memory.remember(write.request(), write.seq);
        }
        WriteVerdict::Ok
    }

    /// Applies a write without any check.
    pub(super) fn apply(&mut self, node: NodeId, write: &Write) {
        self.take(write.seq);
        self.record(node, write);
    }

    /// Uses the number up.
    fn take(&mut self, seq: u64) {
        self.state.seq = seq;
        self.state.version += 1;
    }

    /// Records the write's payload, and carries out its operation.
    #[inline]
    pub(super) fn record(&mut self, node: NodeId, write: &Write) {
        if write.payload.is_some() {
            self.state.payload = write.operation.leaves(self.state.payload, write.payload);
        }
        if write.operation != Operation::Record {
            self.plans.carry_out(node, write);
        }
    }
}

impl<M: Memory> Fence for Ledger<M> {
    fn seal(&mut self, node: NodeId, generation: u32, token: u64) -> bool {
        if token == FORGED {
            return false;
        }
        if token > self.state.highest {
            self.raise(token, (node, generation));
            return true;
        }
        self.is_tokenless(token) || self.is_owner(token, (node, generation))
    }

    fn read(&self, node: NodeId, generation: u32, token: u64) -> WriteVerdict {
        match self.is_owner(token, (node, generation)) || self.is_tokenless(token) {
            true => WriteVerdict::Ok,
            false => WriteVerdict::Fenced { highest: self.state.highest },
        }
    }

    #[inline]
    fn write(&mut self, node: NodeId, write: &Write) -> WriteVerdict {
        if self.is_tokenless(write.token) {
            return self.write_keyed(node, write, write.operation == Operation::Effect);
        }
        if !self.is_owner(write.token, (node, write.generation)) {
            return self.refuse();
        }
        if let Some(early) = self.refuse_early(write) {
            return early;
        }
        self.write_once(node, write, write.seq == self.state.seq + 1)
    }

    fn state(&self) -> State {
        self.state
    }

    fn plans(&self) -> &Plans {
        &self.plans
    }
}

impl Memory for Window {
    #[inline]
    fn recall(&self, request: RequestId) -> Recall {
        let Some(memory) = self.clients.iter().find(|m| m.client == request.client) else { return Recall::New };
        if request.number < memory.oldest {
            return Recall::TooOld;
        }
        let place = request.number.checked_sub(memory.first);
        match place.and_then(|place| memory.seqs.get(place as usize)) {
            Some(0) | None => Recall::New,
            Some(seq) => Recall::Applied(*seq),
        }
    }

    fn remember(&mut self, request: RequestId, seq: u64) {
        let known = self.clients.iter().position(|m| m.client == request.client);
        let place = known.unwrap_or_else(|| {
            self.clients.push(Client { client: request.client, oldest: 0, first: 0, seqs: VecDeque::new() });
            self.clients.len() - 1
        });
        self.clients[place].insert(request.number, seq);
    }
}

impl Client {
    fn insert(&mut self, number: u64, seq: u64) {
        const WINDOW: u64 = REMEMBERED_REQUESTS as u64;
        // A number far ahead (a client that restarted with another origin) restarts the window. The first request seen
        // need not be the oldest under way, so there is room before it.
        if self.seqs.is_empty() || number >= self.oldest + 2 * WINDOW {
            self.seqs.clear();
            (self.oldest, self.first) = (number.saturating_sub(WINDOW / 2), number);
        }
        if number < self.oldest {
            return;
        }
        while number < self.first {
            self.seqs.push_front(0);
            self.first -= 1;
        }
        let index = (number - self.first) as usize;
        if index == self.seqs.len() {
            // Nearly always.
            self.seqs.push_back(seq);
        } else {
            if index > self.seqs.len() {
                self.seqs.resize(index + 1, 0);
            }
            self.seqs[index] = seq;
        }
        let end = self.first + self.seqs.len() as u64;
        self.oldest = self.oldest.max(end.saturating_sub(WINDOW));
        while self.first < self.oldest {
            self.seqs.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
