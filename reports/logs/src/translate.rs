//! Translates a log's lines into the words of a history.

use super::{
    key::spell,
    rows,
    seen::Seen,
    times::{Times, Unit, Written},
    values::{is_for_ever, is_nothing, plain, quoted, retype},
};
use protocols::{
    group::GROUPS_MAX,
    history::json::{EVENTS, Fields},
    types::USUAL_RESOURCES,
};
use serde_json::{Map, Value};
use std::{cell::RefCell, collections::BTreeMap, rc::Rc};
use xxhash_rust::xxh3::xxh3_64;

/// A translated line of a log.
#[derive(Clone, Debug)]
pub struct Told {
    /// The line's number in its file.
    pub line: u64,
    /// The line's time, nanoseconds.
    pub ns: u64,
    /// The value that `--order` sorts by.
    pub order: u64,
    /// The hash of all its fields, ignored ones too, and of its file's name if `--set` uses that. Repeated lines have
    /// equal hashes.
    pub whole: u64,
    pub fields: Map<String, Value>,
    /// The value of the field that the log is split by.
    pub by: Option<String>,
    /// The field for the end of a span is there, but empty.
    pub unended: bool,
}

impl Told {
    /// Moves the line to a later time. The end of what it began does not move, unless it would be earlier than that.
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

/// The event of a line that is not judged.
const LEFT_OUT: &str = "none";

/// How lines are translated.
pub struct Translation {
    pub(super) fields: Fields,
    /// The log's names by ours.
    pub(super) maps: BTreeMap<String, String>,
    pub(super) set: Vec<(String, String)>,
    /// Our values by our field and the log's value.
    pub(super) words: BTreeMap<(String, String), String>,
    pub(super) times: Times,
    /// Lines are judged only if they have these fields, with these values if given.
    pub(super) only: Vec<(String, Option<String>)>,
    /// The field that orders lines, if that is not the time.
    pub(super) order: Option<String>,
    /// The log's field that it is split by.
    pub(super) by: Option<String>,
    pub(super) seen: Rc<RefCell<Seen>>,
    /// No header says which resources there are.
    pub(super) alone: bool,
    /// The buffer in which a line is spelt for its hash, kept for the next line.
    pub(super) said: RefCell<Vec<u8>>,
}

impl Translation {
    /// The log's name for the time.
    pub fn named_time(&self) -> &str {
        self.maps.get("t_us").map_or("t_us", String::as_str)
    }

    /// Whether an option says where this field of ours comes from.
    pub fn names(&self, ours: &str) -> bool {
        self.maps.contains_key(ours) || self.set.iter().any(|(field, _)| field == ours)
    }

    /// Translates a line; `None` if it is about something else. `file` is the file's name without its extension.
    ///
    /// # Errors
    /// The line is wrong: one sentence.
    pub(crate) fn told(&self, (line, theirs): rows::Row, file: &str) -> Result<Option<Told>, String> {
        if !self.is_about_writes(&theirs) {
            self.passed_over();
            return Ok(None);
        }
        let by = self.by.as_ref().map(|field| theirs.get(field).map(plain).unwrap_or_default());
        let (order, whole) = (self.place(&theirs)?, self.whole(&theirs, file, line));
        let (mut fields, mut unended) = (Map::new(), false);
        for (name, value) in theirs {
            if !self.seen.borrow().fields.contains(&name) {
                self.seen.borrow_mut().fields.insert(name.clone());
            }
            let Some(ours) = self.fields.ours(&name) else { continue };
            let value = if is_nothing(&value) { value } else { self.in_our_words(ours, value) };
            let ends = matches!(ours, "until" | "duration" | "ttl");
            if is_nothing(&value) || ends && is_for_ever(&value) {
                unended |= ends;
                continue;
            }
            if fields.contains_key(ours) {
                return Err(format!(
                    "has two fields for {ours:?}; pass --ignore {} to skip one of them",
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
        self.fill(&mut fields, file)?;
        if self.is_left_out(&mut fields)? {
            self.passed_over();
            return Ok(None);
        }
        if fields["event"] == "header" {
            return Err(
                "is the header of a history; check a history by itself, with no options but --map and --ignore"
                    .to_owned(),
            );
        }
        if self.alone {
            self.led(&mut fields)?;
        }
        // Resources of the same name in two groups are different resources.
        if let (Some(group), Some(name)) = (fields.get("group").and_then(Value::as_u64), fields.get("resource"))
            && self.alone
            && group > 0
            && !USUAL_RESOURCES.contains(&&*plain(name))
            && fields["event"] == "apply"
        {
            let name = format!("{} of group {group}", plain(name));
            let mut seen = self.seen.borrow_mut();
            if !seen.grouped.contains_key(&name) {
                seen.grouped.insert(name.clone(), group);
            }
            fields.insert("resource".to_owned(), name.into());
            fields.remove("group");
        }
        let ns = self.time(&mut fields)?;
        Ok(Some(Told { line, ns, order, whole, fields, by, unended }))
    }

    /// Adds the values of `--set`.
    fn fill(&self, fields: &mut Map<String, Value>, file: &str) -> Result<(), String> {
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
        Ok(())
    }

    /// Does the line report nothing to be judged? A log of writes need not name its events.
    fn is_left_out(&self, fields: &mut Map<String, Value>) -> Result<bool, String> {
        let event = plain(fields.entry("event").or_insert_with(|| Value::from("apply")));
        if event == LEFT_OUT || EVENTS.contains(&&*event) {
            return Ok(event == LEFT_OUT);
        }
        let word = |ours: &str| format!("--word {}", quoted(&format!("event:{event}={ours}")));
        Err(format!(
            "{} is `{event}`, which is unknown: pass {} if it is a write, {} if a node was elected, {} if it was \
             deposed, {} to skip it",
            self.maps.get("event").map_or("event", String::as_str),
            word("apply"),
            word("elected"),
            word("deposed"),
            word(LEFT_OUT)
        ))
    }

    /// The hash of all of a line's fields.
    fn whole(&self, theirs: &Map<String, Value>, file: &str, line: u64) -> u64 {
        let mut said = self.said.take();
        said.clear();
        theirs.iter().for_each(|(name, value)| {
            said.extend(name.as_bytes());
            spell(value, &mut said);
        });
        if self.set.iter().any(|(_, value)| value.contains("{file}")) {
            said.extend(file.as_bytes());
        }
        // A message has no more than a few fields of its line; what repeats was noticed when the line was read.
        if self.seen.borrow().by_message {
            said.extend(file.as_bytes());
            said.extend(line.to_le_bytes());
        }
        let hash = xxh3_64(&said);
        self.said.replace(said);
        hash
    }

    /// Puts elections for different things into different groups: two leaders of two things are no violation.
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
                    let field = if seen.service.is_some() { "resource=NAME" } else { "FIELD=VALUE" };
                    return Err(format!(
                        "exceeds the limit of {GROUPS_MAX} leaderships; check a part with --only {field}"
                    ));
                }
                fields.entry("group").or_insert_with(|| group.into());
            }
            Some("apply" | "issue") => seen.wrote = true,
            _ => {}
        }
        match (seen.wrote, &seen.led[..]) {
            (true, [one, other, ..]) => Err(format!(
                "has elections for `{one}` and for `{other}`, but its writes may belong to either; check one at a \
                 time, with --only {}={}",
                self.maps.get("resource").map_or("resource", String::as_str),
                quoted(one)
            )),
            _ => Ok(()),
        }
    }

    /// The same with this unit for numeric times, unless the user gave one.
    pub fn counting(mut self, unit: Option<Unit>) -> Translation {
        // Our own times may begin at zero.
        let is_guess = self.times.unit.is_none() && self.named_time() != "t_us" && self.seen.borrow().service.is_none();
        self.times = Times { unit: self.times.unit.or(unit), is_guess, ..self.times };
        self
    }

    /// The same for a log without a header (`alone`), or with one.
    pub fn without_header(mut self, alone: bool) -> Translation {
        self.alone = alone;
        self
    }

    /// Counts a skipped line.
    pub fn passed_over(&self) {
        self.seen.borrow_mut().others += 1;
    }

    /// Are lines skipped that are no records at all?
    pub fn passes_over_text(&self) -> bool {
        !self.only.is_empty()
    }

    /// Is the line to be judged?
    pub fn is_about_writes(&self, theirs: &Map<String, Value>) -> bool {
        self.only.iter().all(|(field, value)| {
            let found = theirs.get(field).filter(|found| !is_nothing(found));
            found.is_some_and(|found| value.as_ref().is_none_or(|value| *value == plain(found)))
        })
    }

    fn place(&self, theirs: &Map<String, Value>) -> Result<u64, String> {
        let Some(field) = &self.order else { return Ok(0) };
        let value = theirs.get(field).ok_or_else(|| format!("has no field {field:?}, which --order needs"))?;
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

    /// The end of a span, or its duration, microseconds.
    fn lasts(&self, ours: &str, theirs: &str, value: &Value) -> Result<Value, String> {
        let us = match ours {
            "until" => self.times.ns(value).map(|(ns, _)| ns / 1_000),
            _ => self.times.length_us(value),
        };
        us.map(Value::from).map_err(|what| format!("{theirs}: {what}"))
    }

    /// Takes the time out of the line.
    fn time(&self, fields: &mut Map<String, Value>) -> Result<u64, String> {
        let time = fields.remove("t_us").ok_or("has no time; pass --map t_us=FIELD to name its field")?;
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
