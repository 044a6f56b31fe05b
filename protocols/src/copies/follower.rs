//! Applies a primary's entries: rewinds the log to where the two diverge, then follows the primary's.

use super::log::{Durable, Entry};
use crate::{
    history::Kind,
    types::{Incarnation, NodeId},
};

/// Applies the primary's entries behind place `after`, up to which both logs agree. Returns the history's event if
/// entries of this log were dropped.
pub(super) fn follow(
    log: &mut Durable,
    node: NodeId,
    primary: Incarnation,
    after: u64,
    entries: &[Entry],
) -> Option<Kind> {
    let mut rewound = None;
    for (place, entry) in (after + 1..).zip(entries) {
        if log.by(place) == Some(entry.by) {
            continue;
        }
        if place <= log.len() {
            rewound = rewind(log, node, primary, place - 1);
        }
        log.take(*entry);
    }
    rewound
}

/// Cuts the log off behind `place`.
pub(super) fn rewind(log: &mut Durable, node: NodeId, onto: Incarnation, place: u64) -> Option<Kind> {
    let (length, tip) = (log.len(), log.by(log.len())?);
    if place >= length {
        return None;
    }
    log.rewind(place);
    Some(Kind::Rewound { node, from: tip, onto, entries: length - place })
}
