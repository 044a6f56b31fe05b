//! The fenced store's server: a ledger per resource behind messages.
//!
//! Everything it has answered survives a crash: otherwise it would be no store. So the core keeps its ledgers across a
//! restart.

use super::{ablated::AnyLedger, checks::Checks, ledger::Fence};
use crate::{
    bug::{Bug, Shown},
    clock::Now,
    core::{Core, Input, Output},
    history::{Deleted, Kind},
    message::{Message, WriteVerdict},
    multiplexer::Said,
    payload::{Opaque, Payload},
    service::counter,
    types::{Incarnation, NodeId, Operation},
};

/// A simulated store's ledgers, by [`crate::types::Resource`].
pub type Ledgers = Vec<AnyLedger>;

/// Acknowledges writes before they are durable.
pub const FORGOTTEN_ON_RESTART: Bug = Bug {
    id: "store-forgotten-on-restart",
    protocols: &[],
    what: "The store acknowledges writes before they are on disk: when it comes back, its numbers and tokens are gone.",
    source: "Jepsen: NATS 2.12.1, fsync every two minutes",
    violation: "seq_strictly_increasing",
    shown: Shown::by("store-restart", "redis-fenced", 4),
};

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Store {
    ledgers: Ledgers,
    /// The last token drawn from each group's counter; 0 if tokens come from elsewhere.
    counters: Vec<u64>,
    /// The first of these processes has the second one's identity, so the store takes it for the second.
    one_identity: Option<(NodeId, NodeId)>,
}

impl Store {
    /// An empty store for `groups` groups, with these checks for the resources of each.
    pub fn new(checks: &[Checks], groups: usize) -> Self {
        let of_group = |_| checks.iter().map(|checks| AnyLedger::new(*checks));
        Store { ledgers: (0..groups).flat_map(of_group).collect(), counters: vec![0; groups], one_identity: None }
    }

    /// Makes the store take `copy` for `original`. The history still names the actual process.
    pub fn with_one_identity(self, copy: NodeId, original: NodeId) -> Self {
        Store { one_identity: Some((copy, original)), ..self }
    }

    /// Draws a token from the group's counter, which only draws can raise.
    fn draw(&mut self, from: NodeId, said: Opaque, out: &mut Vec<Output>) {
        let (group, said) = Said::open(said);
        let Ok(counter::Message::Draw { request }) = counter::Message::restore(said) else { return };
        let Some(counter) = self.counters.get_mut(usize::from(group)) else { return };
        *counter += 1;
        let token = *counter;
        let grant = Output::Record(Kind::Grant { node: from, token: Some(token) });
        out.push(if group == 0 { grant } else { Output::OfGroup(group, Box::new(grant)) });
        let message = Said::wrap(group, counter::Message::Drawn { request, token }.erase());
        out.push(Output::Tell { to: from, message });
    }
}

/// The ledgers' decision on a message to the store: the event for the history, and the answer. `None` if the message is
/// not for a store, or concerns a resource that it does not have. Simulated and real stores decide here.
#[inline]
pub fn answer(ledgers: &mut [impl Fence], from: NodeId, message: Message) -> Option<(Kind, Message)> {
    match message {
        Message::Write(write) => {
            let ledger = ledgers.get_mut(write.resource.index())?;
            let verdict = ledger.write(from, &write);
            let version = ledger.version();
            let (resource, generation, seq) = (write.resource, write.generation, write.seq);
            let message = Message::Written { resource, generation, seq, request: write.request(), verdict };
            Some((Kind::Apply { node: from, write, verdict, version }, message))
        }
        Message::Seal { resource, generation, token } => {
            let ledger = ledgers.get_mut(resource.index())?;
            let accepted = ledger.seal(from, generation, token);
            let (seq, version, payload) = (ledger.seq(), ledger.version(), ledger.payload());
            let incarnation = Incarnation { token, node: from, generation };
            let message = match accepted {
                true => Message::Sealed { resource, generation, token, seq, version, payload },
                false => Message::SealRefused { resource, generation, token, highest: ledger.highest() },
            };
            Some((Kind::Seal { resource, incarnation, accepted, seq, version, payload }, message))
        }
        // Other messages are not for a store.
        _ => None,
    }
}

/// The plans removed by an accepted deletion, for the history; `None` if there were none, or it was another operation.
/// Call it right after [`answer`].
#[inline]
pub fn deleted(ledgers: &[impl Fence], decided: &Kind) -> Option<Kind> {
    let Kind::Apply { node, write, verdict: WriteVerdict::Ok, .. } = decided else { return None };
    if write.operation != Operation::Delete {
        return None;
    }
    let plans: Vec<u64> = ledgers.get(write.resource.index())?.deleted().iter().map(|plan| plan.number).collect();
    if plans.is_empty() {
        return None;
    }
    let (resource, seq) = (write.resource, write.seq);
    Some(Kind::Deleted(Box::new(Deleted { resource, incarnation: write.incarnation(*node), seq, plans })))
}

/// The answer to a read of the last number; `None` for other messages. The store records nothing of it: the client's
/// reply does.
pub fn read(ledgers: &[impl Fence], from: NodeId, message: Message) -> Option<Message> {
    let Message::ReadStore { resource, request, generation, token } = message else { return None };
    let ledger = ledgers.get(resource.index())?;
    let (verdict, seq) = (ledger.read(from, generation, token), ledger.seq());
    Some(Message::StoreIs { request, generation, token, verdict, seq })
}

/// Attributes the decision to the process that actually asked.
fn said_by(from: NodeId, kind: Kind) -> Kind {
    match kind {
        Kind::Apply { write, verdict, version, .. } => Kind::Apply { node: from, write, verdict, version },
        Kind::Seal { resource, incarnation, accepted, seq, version, payload } => {
            let incarnation = Incarnation { node: from, ..incarnation };
            Kind::Seal { resource, incarnation, accepted, seq, version, payload }
        }
        kind => kind,
    }
}

impl Core for Store {
    fn step(&mut self, _: Now, input: Input, out: &mut Vec<Output>) {
        let (from, message) = match input {
            Input::Message { from, message } => (from, message),
            Input::Peer { from, message } => return self.draw(from, message, out),
            _ => return,
        };
        let owner = self.one_identity.filter(|(copy, _)| *copy == from).map_or(from, |(_, original)| original);
        if let Some((kind, message)) = answer(&mut self.ledgers, owner, message) {
            let kind = said_by(from, kind);
            let deleted = deleted(&self.ledgers, &kind);
            out.push(Output::Record(kind));
            out.extend(deleted.map(Output::Record));
            out.push(Output::Send { to: from, message });
        } else if let Some(message) = read(&self.ledgers, owner, message) {
            out.push(Output::Send { to: from, message });
        }
    }
}
