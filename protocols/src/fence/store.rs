//! The fenced store's server: a ledger per resource behind messages.
//!
//! What it has answered survives its crash: a store that acknowledged before it was durable would not be one. So the
//! core keeps its ledgers when it is started again.

use super::{
    checks::Checks,
    ledger::{Ledger, Memory, Window},
};
use crate::{
    clock::Now,
    core::{Core, Input, Output},
    history::Kind,
    message::{Message, WriteVerdict},
    types::{Incarnation, NodeId, Resource},
};

/// A ledger for each of [`Resource::ALL`].
pub type Ledgers<M = Window> = [Ledger<M>; Resource::ALL.len()];

/// The fenced store.
pub struct Store {
    ledgers: Ledgers,
}

impl Store {
    /// An empty store, which makes these checks.
    pub fn new(checks: impl Into<Checks>) -> Self {
        let checks = checks.into();
        Store { ledgers: [Ledger::new(checks), Ledger::new(checks)] }
    }
}

/// What the resource's ledger makes of a message to the store: what goes into the history, and the answer. `None` when the
/// message is not for a store. Every store decides here, simulated or real.
#[inline]
pub fn answer<M: Memory>(ledgers: &mut Ledgers<M>, from: NodeId, message: Message) -> Option<(Kind, Message)> {
    match message {
        Message::Write(write) => {
            let ledger = &mut ledgers[write.resource as usize];
            let verdict = ledger.write(from, &write);
            let version = ledger.version();
            let (resource, term, seq) = (write.resource, write.term, write.seq);
            let message = Message::Written { resource, term, seq, request: write.request, verdict };
            Some((Kind::Apply { node: from, write, verdict, version }, message))
        }
        Message::Seal { resource, term, token } => {
            let ledger = &mut ledgers[resource as usize];
            let accepted = ledger.seal(from, term, token);
            let (seq, version) = (ledger.seq(), ledger.version());
            let incarnation = Incarnation { epoch: token, node: from, term };
            let fenced = WriteVerdict::Fenced { highest: ledger.highest() };
            let verdict = if accepted { WriteVerdict::Ok } else { fenced };
            let message = Message::Sealed { resource, term, token, verdict, seq, version };
            Some((Kind::Seal { resource, incarnation, accepted, seq, version }, message))
        }
        // Everything else is not for a store.
        _ => None,
    }
}

/// The answer to a question for the last number; `None` when the message is none. It leaves nothing in the history: what
/// the client is told does.
pub fn read<M: Memory>(ledgers: &Ledgers<M>, from: NodeId, message: Message) -> Option<Message> {
    let Message::ReadStore { request, term, token } = message else { return None };
    let ledger = &ledgers[Resource::Sequence as usize];
    let (verdict, seq) = (ledger.read(from, term, token), ledger.seq());
    Some(Message::StoreIs { request, term, token, verdict, seq })
}

impl Core for Store {
    fn step(&mut self, _: Now, input: Input, out: &mut Vec<Output>) {
        let Input::Message { from, message } = input else { return };
        if let Some((kind, message)) = answer(&mut self.ledgers, from, message) {
            out.push(Output::Record(kind));
            out.push(Output::Send { to: from, message });
        } else if let Some(message) = read(&self.ledgers, from, message) {
            out.push(Output::Send { to: from, message });
        }
    }
}
