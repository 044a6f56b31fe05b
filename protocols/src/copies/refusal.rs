//! A copy's answers to a leader that it knows to be deposed.

use super::log::Durable;
use crate::{
    core::Output,
    fence::ledger::Fence,
    history::{Kind, UNKNOWN_VERSION},
    message::{Message, WriteVerdict},
    types::Incarnation,
};

/// Refuses a request of the leader on the copy's own node.
pub(super) fn refuse(log: &Durable, by: Incarnation, message: Message, out: &mut Vec<Output>) {
    let highest = log.promised.map_or(0, |promised| promised.token);
    let Incarnation { token, node, generation } = by;
    let verdict = WriteVerdict::Fenced { highest };
    let kind = match message {
        Message::Seal { resource, .. } => {
            let Some(ledger) = log.ledgers().get(resource.index()) else { return };
            let (seq, version, payload) = (ledger.seq(), ledger.version(), ledger.payload());
            Some(Kind::Seal { resource, incarnation: by, accepted: false, seq, version, payload })
        }
        Message::Write(write) => {
            // This copy's version may be ahead of the committed log, or behind it.
            Some(Kind::Apply { node, write, verdict, version: UNKNOWN_VERSION })
        }
        _ => None,
    };
    let reply = match message {
        Message::Seal { resource, .. } => Message::SealRefused { resource, generation, token, highest },
        Message::ReadStore { request, .. } => Message::StoreIs { request, generation, token, verdict, seq: 0 },
        other => fenced(other, highest),
    };
    out.extend(kind.map(Output::Record));
    out.push(Output::Send { to: node, message: reply });
}

/// The refusal that replaces a request, or an answer to it.
pub(super) fn fenced(message: Message, highest: u64) -> Message {
    let verdict = WriteVerdict::Fenced { highest };
    match message {
        Message::Write(write) => {
            let (resource, generation, seq, request) = (write.resource, write.generation, write.seq, write.request());
            Message::Written { resource, generation, seq, request, verdict }
        }
        Message::Written { resource, generation, seq, request, .. } => {
            Message::Written { resource, generation, seq, request, verdict }
        }
        Message::Sealed { resource, generation, token, .. } => {
            Message::SealRefused { resource, generation, token, highest }
        }
        other => other,
    }
}
