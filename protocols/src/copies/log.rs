//! The log of one copy, the ledgers that follow from it, and where two logs part.

use crate::{
    fence::{
        checks::Checks,
        ledger::Ledger,
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

/// What a leadership had its copy take.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    /// The leadership.
    pub by: Incarnation,
    /// What.
    pub what: What,
}

/// What an entry is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum What {
    /// The resource is sealed.
    Seal(Resource),
    /// The write is applied, or has burnt its number.
    Write(Write),
}

/// What one leadership has written to a log without a break.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Segment {
    /// The leadership.
    pub by: Incarnation,
    /// The place of its last entry there, counted from 1.
    pub last: u64,
}

/// Everything that a copy has on disk.
#[derive(Clone, Debug)]
pub struct Durable {
    checks: Vec<Checks>,
    entries: Vec<Entry>,
    ledgers: Ledgers,
    /// What the history has to be told of each entry once it counts, by its place.
    untold: BTreeMap<u64, Vec<Kind>>,
    /// Whom it has promised to follow, and nobody older.
    pub promised: Option<Incarnation>,
    /// Whose stream it has followed last, its own included.
    pub followed: Option<Incarnation>,
}

/// What the ledgers have made of a message.
#[derive(Debug)]
pub struct Decision {
    /// What is to be told of it, unless it is an entry's.
    pub kinds: Vec<Kind>,
    /// The answer.
    pub reply: Message,
}

/// A copy's disk. What is written there stays when the process dies: a copy acknowledges nothing before.
#[derive(Clone, Debug)]
pub struct Disk(Arc<Mutex<Durable>>);

impl Disk {
    /// An empty one, of resources that make these checks.
    pub fn new(checks: Vec<Checks>) -> Self {
        Disk(Arc::new(Mutex::new(Durable::new(checks))))
    }

    /// What is on it.
    pub fn open(&self) -> MutexGuard<'_, Durable> {
        // A panic elsewhere ends the run anyhow.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Durable {
    fn new(checks: Vec<Checks>) -> Self {
        let ledgers = checks.iter().map(|checks| Ledger::new(*checks)).collect();
        Durable { checks, entries: Vec::new(), ledgers, untold: BTreeMap::new(), promised: None, followed: None }
    }

    /// How many entries there are.
    pub fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whose entry is at that place, counted from 1; `None` at 0 and behind the end.
    pub fn by(&self, place: u64) -> Option<Incarnation> {
        self.entries.get(place.checked_sub(1)? as usize).map(|entry| entry.by)
    }

    /// The entries behind a place, at most so many.
    pub fn behind(&self, place: u64, most: usize) -> &[Entry] {
        let rest = &self.entries[(place as usize).min(self.entries.len())..];
        &rest[..rest.len().min(most)]
    }

    /// The ledgers, to read them.
    pub fn ledgers(&self) -> &Ledgers {
        &self.ledgers
    }

    /// The resource's ledgers decide on a message of the copy's own leader; what they take is the log's next entry. `None`
    /// when the message is not for a store.
    pub fn decide(&mut self, by: Incarnation, message: Message) -> Option<Decision> {
        let what = match message {
            Message::Seal { resource, .. } => What::Seal(resource),
            Message::Write(write) => What::Write(write),
            _ => return None,
        };
        let resource = what.resource().index();
        let before = self.ledgers.get(resource)?.version();
        let (kind, reply) = answer(&mut self.ledgers, by.node, message)?;
        let gone = deleted(&self.ledgers, &kind);
        // Every seal is an entry: without tokens it changes nothing, but says that another timeline begins here.
        let sealed = matches!(kind, Kind::Seal { accepted: true, .. });
        let kinds = std::iter::once(kind).chain(gone).collect();
        if sealed || self.ledgers.get(resource)?.version() != before {
            self.entries.push(Entry { by, what });
            self.untold.insert(self.len(), kinds);
            return Some(Decision { kinds: Vec::new(), reply });
        }
        Some(Decision { kinds, reply })
    }

    /// Takes an entry that comes from another log.
    pub fn take(&mut self, entry: Entry) {
        let decided = answer(&mut self.ledgers, entry.by.node, entry.message());
        self.entries.push(entry);
        if let Some((kind, _)) = decided {
            let gone = deleted(&self.ledgers, &kind);
            self.untold.insert(self.len(), std::iter::once(kind).chain(gone).collect());
        }
    }

    /// What is to be told of the entry at that place; nothing a second time.
    pub fn tell(&mut self, place: u64) -> Vec<Kind> {
        self.untold.remove(&place).unwrap_or_default()
    }

    /// What is to be told of entries up to that place has been told elsewhere.
    pub fn is_told(&mut self, place: u64) {
        while self.untold.first_key_value().is_some_and(|(first, _)| *first <= place) {
            self.untold.pop_first();
        }
    }

    /// Forgets what is behind a place; the ledgers are made again from what is left.
    pub fn rewind(&mut self, place: u64) {
        self.entries.truncate(place as usize);
        self.untold.split_off(&(place + 1));
        self.ledgers = self.checks.iter().map(|checks| Ledger::new(*checks)).collect();
        for entry in &self.entries {
            answer(&mut self.ledgers, entry.by.node, entry.message());
        }
    }

    /// The leaderships that have written this log, in order.
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

    /// The last place up to which this log is the one with those segments.
    pub fn common(&self, others: &[Segment]) -> u64 {
        let own = self.segments();
        let same = own.iter().zip(others).take_while(|(a, b)| a.by == b.by).last();
        same.map_or(0, |(a, b)| a.last.min(b.last))
    }
}

impl What {
    fn resource(&self) -> Resource {
        match self {
            What::Seal(resource) => *resource,
            What::Write(write) => write.resource,
        }
    }
}

impl Entry {
    /// What the leadership's node sent to its copy.
    pub fn message(&self) -> Message {
        match self.what {
            What::Seal(resource) => Message::Seal { resource, generation: self.by.generation, token: self.by.token },
            What::Write(write) => Message::Write(write),
        }
    }
}
