//! What the leader's copy knows of the others, and what waits for them.

use super::{log::Durable, message::Message};
use crate::{
    history::Kind,
    message::Message as ToLeader,
    types::{Incarnation, NodeId, RequestId, Resource},
};
use std::collections::VecDeque;

/// At most so many entries in one message.
const BATCH: usize = 512;
/// At most so many entries are under way to a copy that has not confirmed them.
const WINDOW: u64 = 2_048;

/// The copy that the leader writes to.
#[derive(Debug)]
pub(super) struct Primary {
    /// The leadership.
    pub by: Incarnation,
    /// Counts questions whether it still is the primary.
    round: u64,
    others: Vec<Other>,
    /// What waits until the entries up to a place count, in the order of these places.
    waiting: VecDeque<Waiting>,
    reads: VecDeque<Read>,
    /// Where each copy acknowledges for itself: up to which place the history has been told of this log.
    pub told: u64,
}

/// Another copy, as far as the primary knows.
#[derive(Debug)]
struct Other {
    node: NodeId,
    /// The logs are the same up to here.
    base: u64,
    /// It follows this primary, and has everything up to here.
    has: u64,
    /// Up to here everything was sent.
    sent: u64,
    /// The latest round that it has confirmed.
    confirmed: u64,
}

/// What waits until entries count.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Those up to this place.
    pub place: u64,
    /// What is told then, beside the entries themselves.
    pub kinds: Vec<Kind>,
    /// What the leader is told.
    pub reply: ToLeader,
}

/// A question for the last number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    /// What is read.
    pub resource: Resource,
    /// The client's request.
    pub request: RequestId,
    place: u64,
    round: u64,
}

impl Primary {
    /// One whose log ends at that place, of copies that it knows nothing of.
    pub fn new(by: Incarnation, others: impl Iterator<Item = NodeId>, length: u64) -> Self {
        let other = |node| Other { node, base: 0, has: 0, sent: length, confirmed: 0 };
        let others = others.map(other).collect();
        Primary { by, round: 1, others, waiting: VecDeque::new(), reads: VecDeque::new(), told: length }
    }

    /// Something is to be answered when the log counts up to its end.
    pub fn wait(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
    }

    /// A question is to be answered when the log counts up to its end, and a majority still follows.
    pub fn ask(&mut self, resource: Resource, request: RequestId, place: u64) {
        self.round += 1;
        self.reads.push_back(Read { resource, request, place, round: self.round });
    }

    /// What is to be sent to every other copy: entries that are new to it, as many as may be under way; nothing but a heartbeat
    /// for `beat`.
    pub fn streams(&mut self, log: &Durable, beat: bool) -> Vec<(NodeId, Message)> {
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
                messages
                    .push((other.node, Message::Stream { primary: self.by, round: self.round, after, by, entries }));
            }
        }
        messages
    }

    /// A copy has everything up to that place.
    pub fn has(&mut self, node: NodeId, round: u64, up_to: u64) {
        let Some(other) = self.others.iter_mut().find(|other| other.node == node) else { return };
        other.has = other.has.max(up_to);
        other.base = other.base.max(up_to);
        other.sent = other.sent.max(up_to);
        other.confirmed = other.confirmed.max(round);
    }

    /// A copy has something else behind that place.
    pub fn parts(&mut self, node: NodeId, place: u64) {
        let Some(other) = self.others.iter_mut().find(|other| other.node == node) else { return };
        (other.base, other.sent) = (place, place);
    }

    /// Up to which place a majority has everything, this copy included.
    pub fn held_by_majority(&self, length: u64) -> u64 {
        self.by_majority(length, |other| other.has)
    }

    /// The highest value that a majority has at least, of which this copy has `own`.
    fn by_majority(&self, own: u64, value: impl Fn(&Other) -> u64) -> u64 {
        let mut values: Vec<u64> = self.others.iter().map(value).chain([own]).collect();
        values.sort_unstable_by(|a, b| b.cmp(a));
        values[values.len() / 2]
    }

    /// What may be told and answered once the log counts up to `place`.
    pub fn due(&mut self, place: u64) -> Vec<Waiting> {
        let due = self.waiting.iter().take_while(|waiting| waiting.place <= place).count();
        self.waiting.drain(..due).collect()
    }

    /// The questions that may be answered then.
    pub fn reads_due(&mut self, place: u64) -> Vec<Read> {
        let round = self.by_majority(self.round, |other| other.confirmed);
        let due = self.reads.iter().take_while(|read| read.place <= place && read.round <= round).count();
        self.reads.drain(..due).collect()
    }

    /// All questions, where nobody else is asked.
    pub fn reads_at_once(&mut self) -> Vec<Read> {
        self.reads.drain(..).collect()
    }

    /// Everything that will not be answered any more.
    pub fn give_up(self) -> impl Iterator<Item = ToLeader> {
        self.waiting.into_iter().map(|waiting| waiting.reply)
    }
}
