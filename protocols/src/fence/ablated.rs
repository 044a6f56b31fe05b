//! Ledgers that leave out some of the checks, to show what each is there for. They are for the simulation, and for a
//! real store's `--fencing off`; a store in production decides by [`Ledger`] alone.

use super::{
    checks::{Checks, FORGED},
    ledger::{Fence, Ledger, Memory, State, Window},
    plans::Plans,
    rows::Rows,
};
use crate::{
    message::{Write, WriteVerdict},
    types::{NodeId, Operation},
};

/// A ledger that makes only these checks. What it does not check, it accepts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ablated<M = Window> {
    checks: Checks,
    ledger: Ledger<M>,
    rows: Rows,
}

/// The ledger itself where every check is made, otherwise an ablated one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum AnyLedger<M = Window> {
    Whole(Ledger<M>),
    Ablated(Ablated<M>),
}

impl AnyLedger {
    /// An empty resource with these checks.
    pub fn new(checks: impl Into<Checks>) -> Self {
        AnyLedger::of(checks, Ledger::new())
    }
}

impl<M: Memory> AnyLedger<M> {
    /// The ledger's content with these checks from now on.
    pub fn of(checks: impl Into<Checks>, ledger: Ledger<M>) -> Self {
        let checks = checks.into();
        match checks.are_whole() {
            true => AnyLedger::Whole(ledger),
            false => AnyLedger::Ablated(Ablated::of(checks, ledger)),
        }
    }

    pub fn memory(&self) -> &M {
        match self {
            AnyLedger::Whole(ledger) => ledger.memory(),
            AnyLedger::Ablated(Ablated { ledger, .. }) => ledger.memory(),
        }
    }
}

impl<M: Memory> Fence for AnyLedger<M> {
    fn seal(&mut self, node: NodeId, generation: u32, token: u64) -> bool {
        match self {
            AnyLedger::Whole(ledger) => ledger.seal(node, generation, token),
            AnyLedger::Ablated(ledger) => ledger.seal(node, generation, token),
        }
    }

    fn read(&self, node: NodeId, generation: u32, token: u64) -> WriteVerdict {
        match self {
            AnyLedger::Whole(ledger) => ledger.read(node, generation, token),
            AnyLedger::Ablated(ledger) => ledger.read(node, generation, token),
        }
    }

    #[inline]
    fn write(&mut self, node: NodeId, write: &Write) -> WriteVerdict {
        match self {
            AnyLedger::Whole(ledger) => ledger.write(node, write),
            AnyLedger::Ablated(ledger) => ledger.write(node, write),
        }
    }

    fn state(&self) -> State {
        match self {
            AnyLedger::Whole(ledger) => ledger.state(),
            AnyLedger::Ablated(ledger) => ledger.state(),
        }
    }

    fn plans(&self) -> &Plans {
        match self {
            AnyLedger::Whole(ledger) => ledger.plans(),
            AnyLedger::Ablated(ledger) => ledger.plans(),
        }
    }
}

impl<M: Memory> Ablated<M> {
    pub fn of(checks: Checks, ledger: Ledger<M>) -> Self {
        Ablated { checks, ledger, rows: Rows::default() }
    }

    /// Whether the highest token belongs to that leadership.
    fn is_owner(&self, leadership: (NodeId, u32)) -> bool {
        self.ledger.state.owner == Some(leadership) || !self.checks.rules.owner
    }

    fn unchecked(&self, token: u64) -> bool {
        !self.checks.any() || self.ledger.is_tokenless(token)
    }

    /// The verdict on a write that no check of tokens refuses.
    fn write_admitted(&mut self, node: NodeId, write: &Write) -> WriteVerdict {
        let Checks { order, memory, .. } = self.checks;
        if order && let Some(early) = self.ledger.refuse_early(write) {
            return early;
        }
        // Without the order check, every number is in turn.
        let expected = self.ledger.seq() + 1;
        let in_turn = write.seq == expected || !order;
        match (memory, in_turn) {
            (true, in_turn) => self.ledger.write_once(node, write, in_turn),
            (false, true) => {
                self.ledger.apply(node, write);
                WriteVerdict::Ok
            }
            (false, false) => WriteVerdict::Failed { expected },
        }
    }
}

impl<M: Memory> Fence for Ablated<M> {
    fn seal(&mut self, node: NodeId, generation: u32, token: u64) -> bool {
        let Checks { token: compares, rules, .. } = self.checks;
        if self.unchecked(token) {
            return true;
        }
        if token == FORGED && rules.authentic {
            return false;
        }
        if token > self.ledger.state.highest {
            if rules.seal {
                self.ledger.raise(token, (node, generation));
            }
            return true;
        }
        !compares || (token == self.ledger.state.highest && self.is_owner((node, generation)))
    }

    fn read(&self, node: NodeId, generation: u32, token: u64) -> WriteVerdict {
        let highest = self.ledger.state.highest;
        let newest = token == highest && self.is_owner((node, generation));
        let unsealed = token > highest && !self.checks.rules.seal;
        if newest || unsealed || !self.checks.token || self.unchecked(token) {
            WriteVerdict::Ok
        } else {
            WriteVerdict::Fenced { highest }
        }
    }

    fn write(&mut self, node: NodeId, write: &Write) -> WriteVerdict {
        let Checks { token: compares, memory, rows, rules, .. } = self.checks;
        if rows && let Some(highest) = self.rows.refuses(write) {
            return WriteVerdict::Fenced { highest };
        }
        if self.unchecked(write.token) {
            return self.ledger.write_keyed(node, write, write.operation == Operation::Effect && memory);
        }
        if write.token > self.ledger.state.highest && !rules.seal {
            self.ledger.raise(write.token, (node, write.generation));
        }
        let held = write.token == self.ledger.state.highest && self.is_owner((node, write.generation));
        if compares && !(held && rules.again) {
            if !rules.fences(write.operation) {
                // An unfenced operation bypasses all checks.
                self.ledger.record(node, write);
                return WriteVerdict::Ok;
            }
            if rules.forgot(write.seq, self.ledger.state.seq) {
                // The put succeeds, but lands behind everything that will be read.
                return WriteVerdict::Ok;
            }
            return self.ledger.refuse();
        }
        self.write_admitted(node, write)
    }

    fn state(&self) -> State {
        self.ledger.state
    }

    fn plans(&self) -> &Plans {
        self.ledger.plans()
    }
}

#[cfg(test)]
mod tests;
