//! The fenced store's server: a ledger per resource behind datagrams.
//!
//! What it has answered survives its crash: a store that acknowledged before it was durable would not be one. So the
//! core keeps its ledgers when it is started again.

use super::ledger::Ledger;
use crate::{
    clock::Now,
    core::{Core, Input, Output},
    history::Kind,
    message::{Message, WriteVerdict},
    types::{Incarnation, Resource},
};

/// The fenced store.
pub struct Store {
    ledgers: [Ledger; Resource::ALL.len()],
}

impl Store {
    /// An empty store; without `fencing` it accepts anything.
    pub fn new(fencing: bool) -> Self {
        Store { ledgers: [Ledger::new(fencing), Ledger::new(fencing)] }
    }
}

impl Core for Store {
    fn step(&mut self, _: Now, input: Input, out: &mut Vec<Output>) {
        let Input::Message { from, message } = input else { return };
        match message {
            Message::Write(write) => {
                let ledger = &mut self.ledgers[write.resource as usize];
                let verdict = ledger.write(from, &write);
                let version = ledger.version();
                out.push(Output::Record(Kind::Apply { node: from, write, verdict, version }));
                let (resource, term, seq) = (write.resource, write.term, write.seq);
                let message = Message::Written { resource, term, seq, request: write.request, verdict };
                out.push(Output::Send { to: from, message });
            }
            Message::Seal { resource, term, token } => {
                let ledger = &mut self.ledgers[resource as usize];
                let accepted = ledger.seal(from, term, token);
                let (seq, version) = (ledger.seq(), ledger.version());
                let incarnation = Incarnation { epoch: token, node: from, term };
                out.push(Output::Record(Kind::Seal { resource, incarnation, accepted, seq, version }));
                let verdict = if accepted { WriteVerdict::Ok } else { WriteVerdict::Fenced { highest: 0 } };
                let message = Message::Sealed { resource, term, token, verdict, seq, version };
                out.push(Output::Send { to: from, message });
            }
            // Everything else is not for a store.
            _ => {}
        }
    }
}
