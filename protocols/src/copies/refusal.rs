//! What a copy tells a leader whose time is over, as far as the copy knows.

use super::log::Durable;
use crate::{
    core::Output,
    history::{Kind, UNKNOWN_VERSION},
    message::{Message, WriteVerdict},
    types::Incarnation,
};

/// Refuses what the leader of the copy's own node asks for.
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
            // What this copy has may be more than counts by now, or less.
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

/// What a leader is told instead of what it has asked for, or was to be told.
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
