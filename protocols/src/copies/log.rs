//! A copy's log, the ledgers derived from it, and where two logs diverge.

use crate::{
    fence::{
        ablated::AnyLedger,
        checks::Checks,
        ledger::Fence,
        store::{Ledgers, answer, deleted},
    },
    history::Kind,
    message::{Message, Write},
    types::{Incarnation, Resource},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// An entry that a leadership added to its copy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    pub by: Incarnation,
    pub what: What,
    pub stamp: Stamp,
}

/// With LeaseGuard: when an entry was made, as an interval of true time by its leader's wall clock, and the lease that
/// it gives once it is committed; nanoseconds. Without, all 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Stamp {
    pub earliest: u64,
    pub latest: u64,
    pub lease: u64,
}

/// An entry's content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum What {
    Seal(Resource),
    /// The write is applied, or used up its number.
    Write(Write),
    /// It only extends the leader's lease.
    Nothing,
}

/// An uninterrupted run of one leadership's entries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Segment {
    pub by: Incarnation,
    /// The place of its last entry, counted from 1.
    pub last: u64,
}

/// A copy's durable state.
#[derive(Clone, Debug)]
pub struct Durable {
    checks: Vec<Checks>,
    entries: Vec<Entry>,
    ledgers: Ledgers,
    /// The events that the history gets once an entry is committed, by its place.
    untold: BTreeMap<u64, Vec<Kind>>,
    /// The leadership it has promised to follow; it follows no older one.
    pub promised: Option<Incarnation>,
    /// The leadership whose stream it last followed, perhaps its own.
    pub followed: Option<Incarnation>,
}

/// The ledgers' decision on a message.
#[derive(Debug)]
pub struct Decision {
    /// Events for the history, unless they belong to an entry.
    pub kinds: Vec<Kind>,
    pub reply: Message,
}

/// A copy's disk. It survives the process: a copy acknowledges nothing before it is written here.
#[derive(Clone, Debug)]
pub struct Disk(Arc<Mutex<Durable>>);

impl Disk {
    /// An empty disk, for resources with these checks.
    pub fn new(checks: Vec<Checks>) -> Self {
        Disk(Arc::new(Mutex::new(Durable::new(checks))))
    }

    /// Its content.
    pub fn open(&self) -> MutexGuard<'_, Durable> {
        // A panic elsewhere ends the run anyway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Durable {
    fn new(checks: Vec<Checks>) -> Self {
        let ledgers = checks.iter().map(|checks| AnyLedger::new(*checks)).collect();
        Durable { checks, entries: Vec::new(), ledgers, untold: BTreeMap::new(), promised: None, followed: None }
    }

    /// The number of entries.
    pub fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The leadership of the entry at that place, counted from 1; `None` at 0 and beyond the end.
    pub fn by(&self, place: u64) -> Option<Incarnation> {
        self.entries.get(place.checked_sub(1)? as usize).map(|entry| entry.by)
    }

    /// The entries behind a place, at most `most`.
    pub fn behind(&self, place: u64, most: usize) -> &[Entry] {
        let rest = &self.entries[(place as usize).min(self.entries.len())..];
        &rest[..rest.len().min(most)]
    }

    /// The ledgers, to read.
    pub fn ledgers(&self) -> &Ledgers {
        &self.ledgers
    }

    /// Has the ledgers decide on a message of the copy's own leader; what they accept becomes the log's next entry.
    /// `None` if the message is not for a store.
    pub fn decide(&mut self, by: Incarnation, message: Message, stamp: Stamp) -> Option<Decision> {
        let (what, resource) = match message {
            Message::Seal { resource, .. } => (What::Seal(resource), resource.index()),
            Message::Write(write) => (What::Write(write), write.resource.index()),
            _ => return None,
        };
        let before = self.ledgers.get(resource)?.version();
        let (kind, reply) = answer(&mut self.ledgers, by.node, message)?;
        let gone = deleted(&self.ledgers, &kind);
        // Every accepted seal is an entry: without tokens it changes nothing in the ledger, but starts another
        // timeline.
        let sealed = matches!(kind, Kind::Seal { accepted: true, .. });
        let kinds = std::iter::once(kind).chain(gone).collect();
        if sealed || self.ledgers.get(resource)?.version() != before {
            self.entries.push(Entry { by, what, stamp });
            self.untold.insert(self.len(), kinds);
            return Some(Decision { kinds: Vec::new(), reply });
        }
        Some(Decision { kinds, reply })
    }

    /// Appends an entry from another log.
    pub fn take(&mut self, entry: Entry) {
        let decided = entry.message().and_then(|message| answer(&mut self.ledgers, entry.by.node, message));
        self.entries.push(entry);
        if let Some((kind, _)) = decided {
            let gone = deleted(&self.ledgers, &kind);
            self.untold.insert(self.len(), std::iter::once(kind).chain(gone).collect());
        }
    }

    /// Takes the events of the entry at that place, once.
    pub fn tell(&mut self, place: u64) -> Vec<Kind> {
        self.untold.remove(&place).unwrap_or_default()
    }

    /// Drops the events of entries up to that place, since another copy has recorded them.
    pub fn is_told(&mut self, place: u64) {
        while self.untold.first_key_value().is_some_and(|(first, _)| *first <= place) {
            self.untold.pop_first();
        }
    }

    /// Drops the entries behind a place, and rebuilds the ledgers from the rest.
    pub fn rewind(&mut self, place: u64) {
        self.entries.truncate(place as usize);
        self.untold.split_off(&(place + 1));
        self.ledgers = self.checks.iter().map(|checks| AnyLedger::new(*checks)).collect();
        for entry in &self.entries {
            entry.message().and_then(|message| answer(&mut self.ledgers, entry.by.node, message));
        }
    }

    /// Appends an entry that changes nothing.
    pub fn extend(&mut self, by: Incarnation, stamp: Stamp) {
        self.entries.push(Entry { by, what: What::Nothing, stamp });
    }

    /// The stamp of the entry at that place, as [`Durable::by`].
    pub fn stamp(&self, place: u64) -> Option<Stamp> {
        self.entries.get(place.checked_sub(1)? as usize).map(|entry| entry.stamp)
    }

    pub fn stamps(&self) -> impl Iterator<Item = Stamp> {
        self.entries.iter().map(|entry| entry.stamp)
    }

    /// The last write to `resource` up to that place: its own place and its number.
    pub fn last_write(&self, resource: Resource, up_to: u64) -> Option<(u64, u64)> {
        let wrote = |(index, entry): (usize, &Entry)| match entry.what {
            What::Write(write) if write.resource == resource => Some((index as u64 + 1, write.seq)),
            _ => None,
        };
        self.entries.iter().enumerate().take(up_to as usize).rev().find_map(wrote)
    }

    /// The leaderships that wrote this log, in order.
    pub fn segments(&self) -> Vec<Segment> {
        let mut segments: Vec<Segment> = Vec::new();
        for (place, entry) in self.entries.iter().enumerate() {
            let last = place as u64 + 1;
            match segments.last_mut() {
                Some(segment) if segment.by == entry.by => segment.last = last,
                _ => segments.push(Segment { by: entry.by, last }),
            }
        }
        segments
    }

    /// The last place up to which this log agrees with the one of those segments.
    pub fn common(&self, others: &[Segment]) -> u64 {
        let own = self.segments();
        let same = own.iter().zip(others).take_while(|(a, b)| a.by == b.by).last();
        same.map_or(0, |(a, b)| a.last.min(b.last))
    }
}

impl Entry {
    /// The message that the leadership's node sent to its copy, if it sent one.
    pub fn message(&self) -> Option<Message> {
        match self.what {
            What::Seal(resource) => {
                Some(Message::Seal { resource, generation: self.by.generation, token: self.by.token })
            }
            What::Write(write) => Some(Message::Write(write)),
            What::Nothing => None,
        }
    }
}
