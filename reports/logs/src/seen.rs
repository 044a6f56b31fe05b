//! What was noticed while a log was read.

use super::{
    opaque::Opaque,
    values::{REQUEST, is_request, plain},
};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};

/// Two lines of which the times do not say which came first, although the verdict depends on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsure {
    /// Places of their files, and their lines there.
    pub lines: [(usize, u64); 2],
    /// How far their times lie apart, nanoseconds.
    pub apart_ns: u64,
    /// So far it is from when what the first began was over.
    pub over: bool,
}

impl Unsure {
    /// Lines of one moment, as far as their times tell.
    pub fn of(lines: [(usize, u64); 2], apart_ns: u64) -> Unsure {
        Unsure { lines, apart_ns, over: false }
    }
}

/// What was noticed while a log was read.
#[derive(Debug, Default)]
pub struct Seen {
    /// Their name of the field that says when a line was.
    pub time: String,
    /// Their names of fields.
    pub fields: BTreeSet<String>,
    /// Lines that were left out, since they are about something else.
    pub others: u64,
    /// Lines that stood there twice.
    pub twice: u64,
    /// Lines of different files with the same time.
    pub ties: u64,
    /// Times that went back although the order of the lines did not.
    pub back: u64,
    /// Times that were numbers.
    pub counted: u64,
    /// Times with a zone, and without one.
    pub zoned: u64,
    /// See `zoned`.
    pub bare: u64,
    /// By how much those zones are ahead of UTC, seconds.
    pub offsets_s: BTreeSet<i32>,
    /// Lines of two leaders may have come the other way round.
    pub tied: bool,
    /// Lines that may have come the other way round, and then be judged otherwise.
    pub unsure: Option<Unsure>,
    /// A line that does not say when what it began was over, although others do, and the line with which another began.
    pub unended: Option<[(usize, u64); 2]>,
    /// By how much, at most, a write of an older leadership is behind a newer one's of another file, nanoseconds.
    pub behind_ns: u64,
    /// Tokens that can be compared for equality only, if they are.
    pub opaque: Option<Opaque>,
    /// What elections and grants are of, if they say it: each is a group of its own, in this order.
    pub led: Vec<String>,
    /// Does it tell of writes?
    pub wrote: bool,
    /// The numbers of requests whose names a history cannot have, and which are named here instead.
    requests: HashMap<String, u64>,
    /// How many there were.
    numbered: u64,
}

/// So many requests are remembered: one that is tried again later counts as another.
const REQUESTS_MAX: usize = 1_000_000;

impl Seen {
    /// Puts a number in place of a token without an order.
    pub fn numbered_token(&mut self, fields: &mut Map<String, Value>) {
        let accepted = fields.get("verdict").is_some_and(|verdict| verdict == "ok");
        let Some(opaque) = &mut self.opaque else { return };
        for name in ["token", "epoch"] {
            if let Some(token) = fields.get_mut(name) {
                *token = opaque.number(&plain(token), accepted).into();
            }
        }
    }

    /// What a history calls a request.
    pub fn request(&mut self, theirs: &str) -> String {
        if is_request(theirs) {
            return theirs.to_owned();
        }
        let number = self.requests.get(theirs).copied().unwrap_or_else(|| {
            self.numbered += 1;
            if self.requests.len() < REQUESTS_MAX {
                self.requests.insert(theirs.to_owned(), self.numbered);
            }
            self.numbered
        });
        format!("{REQUEST}:{number}")
    }

    /// What the log calls those requests, and their numbers; asked for once.
    pub fn take_requests(&mut self) -> HashMap<String, u64> {
        std::mem::take(&mut self.requests)
    }
}
