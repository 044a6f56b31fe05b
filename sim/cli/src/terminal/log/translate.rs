//! Somebody's words, put into those of a history.

use super::{
    rows,
    times::{Times, Unit, Written},
    values::{REQUEST, is_nothing, is_request, plain, quoted, retype},
};
use protocols::{group::GROUPS_MAX, history::json::Fields, types::USUAL_RESOURCES};
use serde_json::{Map, Value};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};
use xxhash_rust::xxh3::xxh3_64;

/// A line of somebody's log, in our words.
#[derive(Clone, Debug)]
pub struct Told {
    /// Its line in its file.
    pub line: u64,
    /// When it was, nanoseconds.
    pub ns: u64,
    /// What `--order` goes by.
    pub order: u64,
    /// Hash of all that it said, ignored fields too: a line that stands there twice has it twice.
    pub whole: u64,
    /// What it says.
    pub fields: Map<String, Value>,
    /// What its lines are taken apart by.
    pub by: Option<String>,
}

impl Told {
    /// Puts it at a later moment. What it began is over when it was.
    pub fn delay(&mut self, ns: u64) {
        let us = (ns / 1_000).saturating_sub(self.ns / 1_000);
        for (name, value) in &mut self.fields {
            match (&**name, value.as_u64()) {
                ("duration" | "ttl", Some(length)) => *value = length.saturating_sub(us).into(),
                ("until", Some(until)) => *value = until.max(ns / 1_000).into(),
                _ => {}
            }
        }
        self.ns = ns;
    }
}

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

/// Tokens without an order, such as UUIDs, numbered as their writes are first accepted.
#[derive(Debug, Default)]
pub struct Opaque {
    accepted: BTreeMap<String, u64>,
    /// Those that were only refused so far: a refusal says nothing of their order.
    refused: BTreeMap<String, u64>,
}

/// The numbers of tokens that were accepted begin above this, those of others below.
const ACCEPTED: u64 = 1_000_000;

impl Opaque {
    fn number(&mut self, token: &str, accepted: bool) -> u64 {
        if let Some(number) = self.accepted.get(token) {
            return *number;
        }
        let (known, from) = if accepted { (&mut self.accepted, ACCEPTED) } else { (&mut self.refused, 0) };
        let next = from + known.len() as u64 + 1;
        *known.entry(token.to_owned()).or_insert(next)
    }

    /// The first tokens, and the number of each.
    pub fn first(&self) -> Vec<(u64, &str)> {
        let mut all: Vec<(u64, &str)> = self.accepted.iter().map(|(token, number)| (*number, token.as_str())).collect();
        all.sort_unstable();
        all.truncate(8);
        all
    }
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
    fn request(&mut self, theirs: &str) -> String {
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

    /// The same sentence with requests as the log calls them.
    pub fn called(&self, text: &str) -> String {
        if self.requests.is_empty() || !text.contains(REQUEST) {
            return text.to_owned();
        }
        let word = |word: &str| {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            let number = bare.strip_prefix(REQUEST).and_then(|rest| rest.strip_prefix(':')?.parse::<u64>().ok());
            let theirs = number.and_then(|number| self.requests.iter().find(|(_, known)| **known == number));
            theirs.map_or_else(|| word.to_owned(), |(theirs, _)| word.replace(bare, theirs))
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }
}

/// How lines are put into our words.
pub struct Translation {
    pub(super) fields: Fields,
    /// Theirs, by ours.
    pub(super) maps: BTreeMap<String, String>,
    pub(super) set: Vec<(String, String)>,
    /// Ours, by the field and theirs.
    pub(super) words: BTreeMap<(String, String), String>,
    pub(super) times: Times,
    /// A line is about writes if it has this field, with this value if there is one.
    pub(super) only: Vec<(String, Option<String>)>,
    /// What puts lines into their order, if that is not their time.
    pub(super) order: Option<String>,
    /// A field of theirs that lines are taken apart by.
    pub(super) by: Option<String>,
    pub(super) seen: Rc<RefCell<Seen>>,
    /// No header says which resources there are.
    pub(super) alone: bool,
}

impl Translation {
    /// What they call the time.
    pub fn named_time(&self) -> &str {
        self.maps.get("t_us").map_or("t_us", String::as_str)
    }

    /// What a line says; `None` when it is about something else. `file` is the file's name without its extension.
    ///
    /// # Errors
    /// One sentence, of the line.
    pub fn told(&self, (line, theirs): rows::Row, file: &str) -> Result<Option<Told>, String> {
        if !self.is_about_writes(&theirs) {
            self.passed_over();
            return Ok(None);
        }
        let by = self.by.as_ref().map(|field| theirs.get(field).map(plain).unwrap_or_default());
        let (order, whole) = (self.place(&theirs)?, xxh3_64(Value::from(theirs.clone()).to_string().as_bytes()));
        let mut fields = Map::new();
        for (name, value) in theirs {
            if !self.seen.borrow().fields.contains(&name) {
                self.seen.borrow_mut().fields.insert(name.clone());
            }
            let Some(ours) = self.fields.ours(&name) else { continue };
            if is_nothing(&value) {
                continue;
            }
            let value = self.in_our_words(ours, value);
            if is_nothing(&value) {
                continue;
            }
            if fields.contains_key(ours) {
                return Err(format!(
                    "has two fields that are {ours:?}; --ignore {} leaves one of them out",
                    if self.maps.contains_key(ours) { ours } else { &name }
                ));
            }
            let value = match ours {
                "t_us" => value,
                "token" | "epoch" if self.seen.borrow().opaque.is_some() && !value.is_f64() => {
                    Value::String(plain(&value))
                }
                "until" | "duration" | "ttl" => self.lasts(ours, &name, &value)?,
                "request" => Value::String(self.seen.borrow_mut().request(&plain(&retype(ours, &name, value)?))),
                _ => retype(ours, &name, value)?,
            };
            fields.insert(ours.to_owned(), value);
        }
        for (field, value) in &self.set {
            if !fields.contains_key(field) {
                let value = Value::String(value.replace("{file}", file));
                let value = match &**field {
                    "until" | "duration" | "ttl" => self.lasts(field, field, &value)?,
                    _ => retype(field, field, value)?,
                };
                fields.insert(field.clone(), value);
            }
        }
        // A log of writes need not say so.
        fields.entry("event").or_insert_with(|| Value::from("apply"));
        if fields["event"] == "header" {
            return Err("is the header of a whole history; that is judged alone and as it is".to_owned());
        }
        if self.alone {
            self.led(&mut fields)?;
        }
        // What is written to in one group is not what is called so in another.
        if let (Some(group), Some(name)) = (fields.get("group").and_then(Value::as_u64), fields.get("resource"))
            && self.alone
            && group > 0
            && !USUAL_RESOURCES.contains(&&*plain(name))
            && fields["event"] == "apply"
        {
            let name = format!("{} of group {group}", plain(name));
            fields.insert("resource".to_owned(), name.into());
            fields.remove("group");
        }
        let ns = self.time(&mut fields)?;
        Ok(Some(Told { line, ns, order, whole, fields, by }))
    }

    /// What elections are of is a group of its own: two leaders of two things are none too many.
    fn led(&self, fields: &mut Map<String, Value>) -> Result<(), String> {
        let mut seen = self.seen.borrow_mut();
        match fields["event"].as_str() {
            Some("elected" | "deposed" | "grant" | "grant-end") => {
                let Some(name) = fields.remove("resource").map(|name| plain(&name)) else { return Ok(()) };
                let known = seen.led.iter().position(|led| *led == name);
                let group = known.unwrap_or_else(|| {
                    seen.led.push(name);
                    seen.led.len() - 1
                });
                if group >= usize::from(GROUPS_MAX) {
                    return Err(format!(
                        "is of another leadership than {GROUPS_MAX} before; judge a part, with --only FIELD=VALUE"
                    ));
                }
                fields.entry("group").or_insert_with(|| group.into());
            }
            Some("apply" | "issue") => seen.wrote = true,
            _ => {}
        }
        match (seen.wrote, &seen.led[..]) {
            (true, [one, other, ..]) => Err(format!(
                "tells of leaders of `{one}` and of `{other}` beside writes, which may be of either; judge one at a time, with \
                 --only {}={}",
                self.maps.get("resource").map_or("resource", String::as_str),
                quoted(one)
            )),
            _ => Ok(()),
        }
    }

    /// The same, with numbers that count this, if nobody has said otherwise.
    pub fn counting(mut self, unit: Option<Unit>) -> Translation {
        self.times.unit = self.times.unit.or(unit);
        self
    }

    /// The same of a log that has a header, or none.
    pub fn without_header(mut self, alone: bool) -> Translation {
        self.alone = alone;
        self
    }

    /// A line was passed over.
    pub fn passed_over(&self) {
        self.seen.borrow_mut().others += 1;
    }

    /// Are lines passed over that are no records at all?
    pub fn passes_over_text(&self) -> bool {
        !self.only.is_empty()
    }

    /// Is a line to be judged?
    pub fn is_about_writes(&self, theirs: &Map<String, Value>) -> bool {
        self.only.iter().all(|(field, value)| {
            let found = theirs.get(field).filter(|found| !is_nothing(found));
            found.is_some_and(|found| value.as_ref().is_none_or(|value| *value == plain(found)))
        })
    }

    fn place(&self, theirs: &Map<String, Value>) -> Result<u64, String> {
        let Some(field) = &self.order else { return Ok(0) };
        let value = theirs.get(field).ok_or_else(|| format!("has no field {field:?}, which --order goes by"))?;
        let number = retype("seq", field, value.clone())?;
        number.as_u64().ok_or_else(|| format!("{field} is {number}, and --order needs a number"))
    }

    fn in_our_words(&self, ours: &str, value: Value) -> Value {
        if self.words.is_empty() {
            return value;
        }
        match self.words.get(&(ours.to_owned(), plain(&value))) {
            Some(word) => Value::String(word.clone()),
            None => value,
        }
    }

    /// When something is over, or how long it lasts, microseconds.
    fn lasts(&self, ours: &str, theirs: &str, value: &Value) -> Result<Value, String> {
        let us = match ours {
            "until" => self.times.ns(value).map(|(ns, _)| ns / 1_000),
            _ => self.times.length_us(value),
        };
        us.map(Value::from).map_err(|what| format!("{theirs}: {what}"))
    }

    /// The line's time, which is taken out.
    fn time(&self, fields: &mut Map<String, Value>) -> Result<u64, String> {
        let time = fields.remove("t_us").ok_or("has no time; --map t_us=FIELD says which field it is")?;
        let (ns, written) = self.times.ns(&time)?;
        let mut seen = self.seen.borrow_mut();
        match written {
            Written::Counted => seen.counted += 1,
            Written::Zoned(offset_s) => {
                seen.zoned += 1;
                seen.offsets_s.insert(offset_s);
            }
            Written::Bare => seen.bare += 1,
        }
        Ok(ns)
    }
}
