//! What the leader's copy knows of the others, and how these apply its entries.

use super::{
    guard::Inherited,
    log::{Durable, Entry},
    message::Message,
};
use crate::{
    history::Kind,
    message::Message as ToLeader,
    types::{Incarnation, NodeId, RequestId, Resource},
};
use std::collections::VecDeque;

/// The most entries in one message.
const BATCH: usize = 512;
/// The most entries under way to a copy without its confirmation.
const WINDOW: u64 = 2_048;

/// The copy that the leader writes to.
#[derive(Debug)]
pub(super) struct Primary {
    pub by: Incarnation,
    /// Counts the rounds of asking the others whether it is still the primary.
    round: u64,
    others: Vec<Other>,
    /// What waits for entries to be committed, in the order of their places.
    waiting: VecDeque<Waiting>,
    reads: VecDeque<Read>,
    /// In asynchronous mode: how far the history has recorded this log.
    pub told: u64,
    /// With LeaseGuard: what it found in its log.
    pub inherited: Option<Inherited>,
}

/// Another copy, as known to the primary.
#[derive(Debug)]
struct Other {
    node: NodeId,
    /// The logs agree up to here.
    base: u64,
    /// It follows this primary, and has everything up to here.
    has: u64,
    /// Everything up to here has been sent.
    sent: u64,
    /// The latest round that it has confirmed.
    confirmed: u64,
}

/// What waits for entries to be committed.
#[derive(Debug)]
pub(super) struct Waiting {
    /// The last of those entries.
    pub place: u64,
    /// Events for the history then, besides those of the entries.
    pub kinds: Vec<Kind>,
    /// The answer to the leader then.
    pub reply: ToLeader,
}

/// A request for the last number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub resource: Resource,
    pub request: RequestId,
    place: u64,
    round: u64,
}

impl Primary {
    /// A primary whose log ends at `length`, and which knows nothing of the other copies yet.
    pub fn new(by: Incarnation, others: impl Iterator<Item = NodeId>, length: u64) -> Self {
        let other = |node| Other { node, base: 0, has: 0, sent: length, confirmed: 0 };
        let others = others.map(other).collect();
        let (waiting, reads, inherited) = (VecDeque::new(), VecDeque::new(), None);
        Primary { by, round: 1, others, waiting, reads, told: length, inherited }
    }

    /// Adds an answer that waits until the log is committed up to its place.
    pub fn wait(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
    }

    /// Adds a read. It waits until the log is committed up to `place` and a majority confirms that it still follows.
    pub fn ask(&mut self, resource: Resource, request: RequestId, place: u64) {
        self.round += 1;
        self.reads.push_back(Read { resource, request, place, round: self.round });
    }

    /// The messages for the other copies: new entries, as many as may be under way, or with `beat` at least a
    /// heartbeat. They tell how far the log is committed.
    pub fn streams(&mut self, log: &Durable, commit: u64, beat: bool) -> Vec<(NodeId, Message)> {
        let mut messages = Vec::new();
        for other in &mut self.others {
            let mut beats = beat;
            loop {
                let room = (other.base + WINDOW).saturating_sub(other.sent) as usize;
                let entries = log.behind(other.sent, room.min(BATCH)).to_vec();
                if entries.is_empty() && !beats {
                    break;
                }
                let (after, by) = (other.sent, log.by(other.sent));
                other.sent += entries.len() as u64;
                beats = false;
                let (primary, round) = (self.by, self.round);
                messages.push((other.node, Message::Stream { primary, round, after, by, entries, commit }));
            }
        }
        messages
    }

    /// Records that a copy has everything up to `up_to`.
    pub fn has(&mut self, node: NodeId, round: u64, up_to: u64) {
        let Some(other) = self.others.iter_mut().find(|other| other.node == node) else { return };
        other.has = other.has.max(up_to);
        other.base = other.base.max(up_to);
        other.sent = other.sent.max(up_to);
        other.confirmed = other.confirmed.max(round);
    }

    /// Records that a copy has other entries behind `place`.
    pub fn parts(&mut self, node: NodeId, place: u64) {
        let Some(other) = self.others.iter_mut().find(|other| other.node == node) else { return };
        (other.base, other.sent) = (place, place);
    }

    /// The place up to which a majority has everything, this copy included.
    pub fn held_by_majority(&self, length: u64) -> u64 {
        self.by_majority(length, |other| other.has)
    }

    /// The highest value reached by a majority, where this copy has `own`.
    fn by_majority(&self, own: u64, value: impl Fn(&Other) -> u64) -> u64 {
        let mut values: Vec<u64> = self.others.iter().map(value).chain([own]).collect();
        values.sort_unstable_by(|a, b| b.cmp(a));
        values[values.len() / 2]
    }

    /// The answers due once the log is committed up to `place`.
    pub fn due(&mut self, place: u64) -> Vec<Waiting> {
        let due = self.waiting.iter().take_while(|waiting| waiting.place <= place).count();
        self.waiting.drain(..due).collect()
    }

    /// The reads due then.
    pub fn reads_due(&mut self, place: u64) -> Vec<Read> {
        let round = self.by_majority(self.round, |other| other.confirmed);
        let due = self.reads.iter().take_while(|read| read.place <= place && read.round <= round).count();
        self.reads.drain(..due).collect()
    }

    /// All reads, where no other copy is asked.
    pub fn reads_at_once(&mut self) -> Vec<Read> {
        self.reads.drain(..).collect()
    }

    /// Everything that will not be answered any more.
    pub fn give_up(self) -> impl Iterator<Item = ToLeader> {
        self.waiting.into_iter().map(|waiting| waiting.reply)
    }
}

// Applies a primary's entries: rewinds the log to where the two diverge, then follows the primary's.

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
