//! Somebody's words, put into those of a history.

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

/// A line of somebody's log, in our words.
#[derive(Clone, Debug)]
pub struct Told {
    /// Its line in its file.
    pub line: u64,
    /// When it was, nanoseconds.
    pub ns: u64,
    /// What `--order` goes by.
    pub order: u64,
    /// Hash of all that it said, ignored fields too, and of its file's name where that says something: a line that stands there
    /// twice has it twice.
    pub whole: u64,
    /// What it says.
    pub fields: Map<String, Value>,
    /// What its lines are taken apart by.
    pub by: Option<String>,
    /// It has the field that says when something is over, and nothing in it.
    pub unended: bool,
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

/// What an event is called that says nothing to be judged.
const LEFT_OUT: &str = "none";

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
    /// What a line is spelt into to be hashed, kept for the next one.
    pub(super) said: RefCell<Vec<u8>>,
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
    pub(crate) fn told(&self, (line, theirs): rows::Row, file: &str) -> Result<Option<Told>, String> {
        if !self.is_about_writes(&theirs) {
            self.passed_over();
            return Ok(None);
        }
        let by = self.by.as_ref().map(|field| theirs.get(field).map(plain).unwrap_or_default());
        let (order, whole) = (self.place(&theirs)?, self.whole(&theirs, file));
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
        self.fill(&mut fields, file)?;
        if self.is_left_out(&mut fields)? {
            self.passed_over();
            return Ok(None);
        }
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

    /// Does it tell of nothing to be judged? A log of writes need not say what its lines are.
    fn is_left_out(&self, fields: &mut Map<String, Value>) -> Result<bool, String> {
        let event = plain(fields.entry("event").or_insert_with(|| Value::from("apply")));
        if event == LEFT_OUT || EVENTS.contains(&&*event) {
            return Ok(event == LEFT_OUT);
        }
        let word = |ours: &str| format!("--word {}", quoted(&format!("event:{event}={ours}")));
        Err(format!(
            "{} is `{event}`: {} if it tells of a write, {} if somebody began to lead, {} if somebody stopped, {} if it is to be left out",
            self.maps.get("event").map_or("event", String::as_str),
            word("apply"),
            word("elected"),
            word("deposed"),
            word(LEFT_OUT)
        ))
    }

    /// A hash of all that a line says.
    fn whole(&self, theirs: &Map<String, Value>, file: &str) -> u64 {
        let mut said = self.said.take();
        said.clear();
        theirs.iter().for_each(|(name, value)| {
            said.extend(name.as_bytes());
            spell(value, &mut said);
        });
        if self.set.iter().any(|(_, value)| value.contains("{file}")) {
            said.extend(file.as_bytes());
        }
        let hash = xxh3_64(&said);
        self.said.replace(said);
        hash
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
