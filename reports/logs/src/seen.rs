//! What is noticed while a log is read.

use super::{
    opaque::Opaque,
    values::{REQUEST, is_request, plain},
};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};

/// Two lines whose times leave their order open, although the verdict depends on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsure {
    /// The index of each file, and the line in it.
    pub lines: [(usize, u64); 2],
    /// The difference of their times, nanoseconds.
    pub apart_ns: u64,
    /// `apart_ns` counts from the end of the first line's grant or work instead.
    pub over: bool,
}

impl Unsure {
    /// Lines that are simultaneous as far as their times tell.
    pub fn of(lines: [(usize, u64); 2], apart_ns: u64) -> Unsure {
        Unsure { lines, apart_ns, over: false }
    }
}

/// What was noticed while a log was read.
#[derive(Debug, Default)]
pub struct Seen {
    /// The log's name for the time field.
    pub time: String,
    /// The log's names for its fields.
    pub fields: BTreeSet<String>,
    /// Lines that were skipped because they are about something else.
    pub others: u64,
    /// Were lines skipped because they say nothing of leaders or writes?
    pub by_message: bool,
    /// The phrases that the user has asked for, and those that a line has said.
    pub asked: Vec<String>,
    pub said: BTreeSet<String>,
    /// Did a line say what is asked for at a time with a year, and at one without?
    dated: bool,
    yearless: bool,
    /// The months of those without, a bit each.
    months: u16,
    /// The preset that was recognised.
    pub recognised: Option<&'static str>,
    /// A service has answered with the lines, and with their times.
    pub answered: bool,
    /// Nodes that do not lead say that they have stopped, too.
    pub says_idle: bool,
    /// The service whose own records these are.
    pub service: Option<&'static str>,
    /// Why a log that holds shows nothing, beyond the order of its lines.
    pub doubt: Option<String>,
    /// The names of Leases, each with the identities that a file has of it.
    pub leases: HashMap<String, BTreeSet<String>>,
    /// Sentences about what a service's records say.
    pub remarks: Vec<String>,
    /// Repeated lines.
    pub twice: u64,
    /// Lines of different files with the same time.
    pub ties: u64,
    /// Times that went back although the lines were in order.
    pub back: u64,
    /// Numeric times.
    pub counted: u64,
    /// Times with a zone.
    pub zoned: u64,
    /// Times without one.
    pub bare: u64,
    /// The zones' offsets from UTC, seconds.
    pub offsets_s: BTreeSet<i32>,
    /// Lines of two leaders may have come in the other order.
    pub tied: bool,
    /// Lines that may have come in the other order, which would change the verdict.
    pub unsure: Option<Unsure>,
    /// A line that does not say when its grant or work ended, although others do, and the line with which another's
    /// began.
    pub unended: Option<[(usize, u64); 2]>,
    /// The largest delay of a write under an older leadership behind one under a newer leadership in another file,
    /// nanoseconds.
    pub behind_ns: u64,
    /// Tokens without an order, if the log's tokens are such.
    pub opaque: Option<Opaque>,
    /// What elections and grants are about, if they say it. Each is a group of its own, in this order.
    pub led: Vec<String>,
    /// Groups whose numbers are parts of their resources' names.
    pub grouped: HashMap<String, u64>,
    /// Does the log have writes?
    pub wrote: bool,
    /// Numbers given to requests whose names a history cannot hold.
    requests: HashMap<String, u64>,
    /// How many numbers were given.
    numbered: u64,
}

/// How many requests are remembered: a later retry of another counts as a new request.
const REQUESTS_MAX: usize = 1_000_000;

impl Seen {
    /// Replaces a token without an order by a number.
    pub fn numbered_token(&mut self, fields: &mut Map<String, Value>) {
        let accepted = fields.get("verdict").is_some_and(|verdict| verdict == "ok");
        let Some(opaque) = &mut self.opaque else { return };
        for name in ["token", "epoch"] {
            if let Some(token) = fields.get_mut(name) {
                *token = opaque.number(&plain(token), accepted).into();
            }
        }
    }

    /// Notes the time of a line that says what is asked for.
    ///
    /// # Errors
    /// The year of times that name none is open.
    pub(crate) fn dates(&mut self, yearless: bool, month: Option<u8>, year: Option<u32>) -> Result<(), String> {
        self.dated |= !yearless;
        self.yearless |= yearless;
        self.months |= month.map_or(0, |month| 1 << month);
        if self.dated && self.yearless && year.is_none() {
            return Err(
                "has a time without a year, or with one, and another line has the other; pass --year".to_owned()
            );
        }
        if self.months & (1 << 1) != 0 && self.months & (1 << 12) != 0 {
            return Err("is of January or December, and another line of the other, without a year: which came first is open; judge \
                        the lines of one year at a time"
                .to_owned());
        }
        Ok(())
    }

    /// Notes why a log that holds shows nothing; the first reason counts.
    pub fn doubt(&mut self, why: String) {
        self.doubt.get_or_insert(why);
    }

    /// Notes how the log's text is read.
    pub fn reads(&mut self, by_message: bool, asked: Vec<String>, recognised: Option<&'static str>) {
        (self.by_message, self.asked, self.recognised) = (by_message, asked, recognised);
    }

    /// A history's name for a request.
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

    /// The log's names of those requests, with their numbers. Empty at the second call.
    pub fn take_requests(&mut self) -> HashMap<String, u64> {
        std::mem::take(&mut self.requests)
    }
}
