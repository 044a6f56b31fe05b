//! What becomes of a log when a primary's entries come: it is rewound to where the two part, and goes on as the primary's.

use super::log::{Durable, Entry};
use crate::{
    history::Kind,
    types::{Incarnation, NodeId},
};

/// The entries behind place `after`, where the two logs are the same, become this log's; what it had instead is gone. What
/// there is to tell of that.
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

/// The log ends at that place from now on.
pub(super) fn rewind(log: &mut Durable, node: NodeId, onto: Incarnation, place: u64) -> Option<Kind> {
    let (length, tip) = (log.len(), log.by(log.len())?);
    if place >= length {
        return None;
    }
    log.rewind(place);
    Some(Kind::Rewound { node, from: tip, onto, entries: length - place })
}
