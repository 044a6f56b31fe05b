//! The ledger: what a protected resource remembers so that it can refuse the past.
//!
//! It orders (token, seq) lexicographically and allows one owner per token, it is sealed before its state is read, and it
//! answers a request that it has applied before from memory. Source: the fencing rules of the project's protocol facts,
//! after Kleppmann, "How to do distributed locking" (2016), and Chubby's sequencers (Burrows, OSDI 2006, §2.4).

use super::{
    checks::{Checks, FORGED},
    plans::{Plan, Plans},
    rows::Rows,
};
use crate::{
    message::{Write, WriteVerdict},
    types::{NodeId, Operation, Payload, RequestId},
};
use std::collections::VecDeque;

/// How many of a client's latest requests a resource remembers. A retry that is older is refused as `Failed`.
pub const REMEMBERED_REQUESTS: usize = 1 << 16;

/// What a ledger holds besides its requests: everything that a restart has to bring back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct State {
    /// The highest token that was accepted; 0 before the first.
    pub highest: u64,
    /// Whose token that is: node and generation.
    pub owner: Option<(NodeId, u32)>,
    /// The last sequence number.
    pub seq: u64,
    /// How many writes have been applied or have burnt their number.
    pub version: u64,
    /// What was recorded last.
    pub payload: Option<Payload>,
}

/// What a ledger remembers of the requests that it has applied.
pub trait Memory {
    /// Was `request` applied before?
    fn recall(&self, request: RequestId) -> Recall;

    /// `request` was applied as number `seq`.
    fn remember(&mut self, request: RequestId, seq: u64);
}

/// What memory knows of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recall {
    /// It was not applied.
    New,
    /// It was applied, as this number.
    Applied(u64),
    /// Older than memory reaches: nobody can tell.
    TooOld,
}

/// One resource's ledger. With the usual memory it is bounded by clients × [`REMEMBERED_REQUESTS`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ledger<M = Window> {
    checks: Checks,
    state: State,
    memory: M,
    plans: Plans,
    rows: Rows,
}

/// A memory of each client's latest [`REMEMBERED_REQUESTS`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Window {
    clients: Vec<Client>,
}

/// The sequence numbers that a client's latest requests got. Requests of one client come nearly in order, so a window
/// that slides is enough.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Client {
    client: NodeId,
    /// Requests with a lower number are forgotten.
    oldest: u64,
    /// The request whose sequence number comes first in `seqs`; none before it was applied.
    first: u64,
    /// 0 for a request that was not applied.
    seqs: VecDeque<u64>,
}

impl Ledger {
    /// An empty resource. With fewer checks than all it accepts what they would refuse: the ablations that show what each
    /// is for.
    pub fn new(checks: impl Into<Checks>) -> Self {
        Ledger::restore(checks, State::default(), Window::default())
    }
}

impl<M: Memory> Ledger<M> {
    /// The ledger that had this state and this memory, as if it had never been away; it had no plans.
    pub fn restore(checks: impl Into<Checks>, state: State, memory: M) -> Self {
        Ledger { checks: checks.into(), state, memory, plans: Plans::default(), rows: Rows::default() }
    }

    /// The same with these plans.
    pub fn with_plans(self, plans: Plans) -> Self {
        Ledger { plans, ..self }
    }

    /// What [`Ledger::restore`] needs besides the memory.
    pub fn state(&self) -> State {
        self.state
    }

    /// What it remembers.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The highest token that was accepted; 0 before the first.
    pub fn highest(&self) -> u64 {
        self.state.highest
    }

    /// The last sequence number.
    pub fn seq(&self) -> u64 {
        self.state.seq
    }

    /// The version: how many writes have been applied or have burnt their number.
    pub fn version(&self) -> u64 {
        self.state.version
    }

    /// What was recorded last.
    pub fn payload(&self) -> Option<Payload> {
        self.state.payload
    }

    /// Which plans there are.
    pub fn plans(&self) -> &Plans {
        &self.plans
    }

    /// What the last deletion has removed, in the order in which it was made.
    pub fn deleted(&self) -> &[Plan] {
        self.plans.deleted()
    }

    /// Fences off everything older than `token` (rule 2: before the state is read). True when accepted; sealing twice in
    /// the same leadership is harmless.
    pub fn seal(&mut self, node: NodeId, generation: u32, token: u64) -> bool {
        if self.unchecked(token) {
            return true;
        }
        if token == FORGED && self.checks.rules.authentic {
            return false;
        }
        if token > self.state.highest {
            if self.checks.rules.seal {
                self.raise(token, (node, generation));
            }
            return true;
        }
        !self.checks.token || (token == self.state.highest && self.is_owner((node, generation)))
    }

    /// From now on everything older is refused.
    fn raise(&mut self, token: u64, owner: (NodeId, u32)) {
        self.state.highest = token;
        self.state.owner = Some(owner);
    }

    /// Does the highest token belong to that leadership?
    fn is_owner(&self, leadership: (NodeId, u32)) -> bool {
        self.state.owner == Some(leadership) || !self.checks.rules.owner
    }

    /// Decides on a question for the state: it is refused where a write would be, so that what is answered is the newest
    /// leader's.
    pub fn read(&self, node: NodeId, generation: u32, token: u64) -> WriteVerdict {
        let newest = token == self.state.highest && self.is_owner((node, generation));
        let unsealed = token > self.state.highest && !self.checks.rules.seal;
        if newest || unsealed || !self.checks.token || self.unchecked(token) {
            WriteVerdict::Ok
        } else {
            WriteVerdict::Fenced { highest: self.state.highest }
        }
    }

    /// Decides on a write, and applies it when it is `Ok`.
    #[inline]
    pub fn write(&mut self, node: NodeId, write: &Write) -> WriteVerdict {
        if self.checks.rows
            && let Some(highest) = self.rows.refuses(write)
        {
            return WriteVerdict::Fenced { highest };
        }
        if self.unchecked(write.token) {
            return self.write_unchecked(node, write);
        }
        if write.token > self.state.highest && !self.checks.rules.seal {
            self.raise(write.token, (node, write.generation));
        }
        let held = write.token == self.state.highest && self.is_owner((node, write.generation));
        let owned = held && self.checks.rules.again;
        if !owned && self.checks.token {
            if !self.checks.rules.fences(write.operation) {
                // Carried out by a way of its own, which looks at nothing.
                self.record(node, write);
                return WriteVerdict::Ok;
            }
            if self.checks.rules.forgot(write.seq, self.state.seq) {
                // The put succeeds, and what it has put is behind all that anybody will read.
                return WriteVerdict::Ok;
            }
            crate::mark!(LedgerFenced);
            return WriteVerdict::Fenced { highest: self.state.highest };
        }
        let expected = self.state.seq + 1;
        if write.seq > expected && self.checks.order {
            crate::mark!(LedgerGap);
            return WriteVerdict::Failed { expected };
        }
        // Without the check of the order every number is the right one.
        let in_turn = write.seq == expected || !self.checks.order;
        let recalled = if self.checks.memory { self.memory.recall(write.request()) } else { Recall::New };
        match (recalled, in_turn) {
            (Recall::Applied(seq), in_turn) => {
                crate::mark!(LedgerDuplicate);
                // The number that the leader had meant for it is burnt, or the leader's next write would not be in turn.
                if in_turn {
                    crate::mark!(LedgerBurnt);
                    self.take(write.seq);
                }
                WriteVerdict::Duplicate { seq }
            }
            (Recall::New, true) => {
                self.take(write.seq);
                self.record(node, write);
                if self.checks.memory {
                    self.memory.remember(write.request(), write.seq);
                }
                WriteVerdict::Ok
            }
            // Burnt as well, or one old request would hold up everything behind it for as long as this leader leads.
            (Recall::TooOld, true) => {
                self.take(write.seq);
                WriteVerdict::Failed { expected: self.state.seq + 1 }
            }
            (Recall::New | Recall::TooOld, false) => WriteVerdict::Failed { expected },
        }
    }

    /// Takes a write as it comes, of which nothing can be checked but its key: who is outside knows nothing of tokens.
    fn write_unchecked(&mut self, node: NodeId, write: &Write) -> WriteVerdict {
        let keyed = write.operation == Operation::Effect && self.checks.memory;
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

    /// The number is gone.
    fn take(&mut self, seq: u64) {
        self.state.seq = seq;
        self.state.version += 1;
    }

    /// What the write says is what is recorded now, and what it does is done.
    #[inline]
    fn record(&mut self, node: NodeId, write: &Write) {
        if write.payload.is_some() {
            self.state.payload = write.operation.leaves(self.state.payload, write.payload);
        }
        if write.operation != Operation::Record {
            self.plans.carry_out(node, write);
        }
    }

    /// A protocol without tokens has nothing that a ledger could check. Once a token has been seen, it is required.
    fn unchecked(&self, token: u64) -> bool {
        !self.checks.any() || (token == 0 && self.state.highest == 0)
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
        // A number far ahead (a client that restarted with another origin) starts the window afresh. The first request seen
        // need not be the oldest under way: there is room for those behind it.
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
mod tests;
