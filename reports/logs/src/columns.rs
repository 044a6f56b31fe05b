//! The fields of a log, and what their values look like.

use super::values::{is_nothing, plain, retype};
use protocols::{history::json::EVENTS, types::Operation};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use xxhash_rust::xxh3::xxh3_64;

/// How many different values of a field are kept.
pub const VALUES_MAX: usize = 40;
/// How many are counted.
const DISTINCT_MAX: usize = 10_000;

/// A field of the log, with statistics of its values.
#[derive(Default)]
pub struct Column {
    pub name: String,
    /// The first different values.
    pub values: Vec<Value>,
    /// The number of lines that have a value.
    pub lines: usize,
    distinct: BTreeSet<u64>,
    /// Is every value a whole number?
    numbers: bool,
    last: Option<u64>,
    least: u64,
    most: u64,
    /// How often a number is lower than on the line before.
    falls: usize,
    /// The fields that have its value on every line that has it.
    copies: BTreeSet<String>,
}

impl Column {
    pub fn new(name: &str) -> Column {
        Column { name: name.to_owned(), numbers: true, least: u64::MAX, ..Column::default() }
    }

    /// Adds one line's value.
    pub fn add(&mut self, value: &Value) {
        self.lines += 1;
        if self.distinct.len() < DISTINCT_MAX {
            self.distinct.insert(xxh3_64(plain(value).as_bytes()));
        }
        if self.values.len() < VALUES_MAX && !self.values.contains(value) {
            self.values.push(value.clone());
        }
        match retype("seq", "", value.clone()).ok().and_then(|number| number.as_u64()).filter(|_| self.numbers) {
            None => self.numbers = false,
            Some(number) => {
                self.falls += usize::from(self.last.is_some_and(|last| number < last));
                (self.last, self.least, self.most) = (Some(number), self.least.min(number), self.most.max(number));
            }
        }
    }

    /// Do its values fit our field `ours`?
    pub fn can_be(&self, ours: &str) -> bool {
        self.values.iter().all(|value| match ours {
            "event" => EVENTS.contains(&&*plain(value)),
            "operation" => serde_json::from_value::<Operation>(value.clone()).is_ok(),
            "payload" => {
                let within = value.as_str().map_or_else(|| Some(value.clone()), |text| serde_json::from_str(text).ok());
                within.is_some_and(|within| within.get("number").is_some())
            }
            "t_us" | "until" | "duration" | "ttl" => true,
            _ => retype(ours, ours, value.clone()).is_ok(),
        })
    }

    /// The words of its name in lower case: for DynamoDB's `ownerName.S` they are `owner` and `name`, and for `host.name`
    /// just `host`.
    pub fn words(&self) -> Vec<String> {
        let mut parts: Vec<&str> = self.name.split('.').collect();
        while parts.len() > 1 && ["S", "N", "value", "stringValue", "intValue"].contains(&parts[parts.len() - 1]) {
            parts.pop();
        }
        if let [.., "host" | "pod" | "node" | "thread", "name"] = parts[..] {
            parts.pop();
        }
        let (mut words, mut small) = (vec![String::new()], false);
        for c in parts.last().unwrap_or(&"").chars() {
            if !c.is_alphanumeric() || c.is_uppercase() && small {
                words.push(String::new());
            }
            if c.is_alphanumeric() {
                words.last_mut().unwrap_or(&mut String::new()).extend(c.to_lowercase());
            }
            small = c.is_lowercase();
        }
        words.retain(|word| !word.is_empty());
        words
    }

    /// The words of its name without separators.
    pub fn joined(&self) -> String {
        self.words().concat()
    }

    /// Is its whole name one of these?
    pub fn is_called(&self, of: &[&str]) -> bool {
        let joined = self.joined();
        of.iter().any(|name| joined == name.replace(['_', '@'], ""))
    }

    pub fn has_word(&self, of: &[&str]) -> bool {
        self.words().iter().any(|word| of.contains(&word.as_str()))
    }

    /// Does it have the same value on every line?
    pub fn is_constant(&self) -> bool {
        self.distinct.len() <= 1
    }

    /// Are all its values different?
    pub fn is_distinct(&self) -> bool {
        self.distinct.len() == self.lines
    }

    /// Are its values numbers that identify things: few, repeated, rising and falling?
    pub fn tells_apart(&self) -> bool {
        let few = !self.is_constant() && 2 * self.distinct.len() <= self.lines;
        self.is_numbers() && few && self.falls > 0 && self.has_word(&["id", "no", "num", "number", "index"])
    }

    /// Are its values a few small numbers, each repeated?
    pub fn names_few(&self) -> bool {
        self.is_numbers() && !self.is_constant() && 2 * self.distinct.len() <= self.lines && self.most < 1_000
    }

    /// Does it hold identifiers, going by its name and values?
    pub fn is_opaque_id(&self) -> bool {
        self.has_word(&["id", "uuid", "guid"]) && (self.is_opaque() || self.is_numbers())
    }

    /// Are most of its values different?
    pub fn is_mostly_distinct(&self) -> bool {
        self.lines > 2 && 3 * self.distinct.len() >= 2 * self.lines
    }

    /// Does it have several values, but fewer than `other`?
    pub fn is_fewer(&self, other: &Column) -> bool {
        !self.is_constant() && self.distinct.len() < other.distinct.len()
    }

    pub fn is_numbers(&self) -> bool {
        self.numbers && self.lines > 0
    }

    /// Are its values those of a counter: never falling, or close together and seldom falling?
    pub fn counts(&self) -> bool {
        let (range, dense) = (self.most.saturating_sub(self.least), 3 * self.distinct.len() as u64);
        let close = range < dense || range < self.least / 100;
        self.is_numbers() && self.is_distinct() && (self.falls == 0 || close && self.seldom_falls())
    }

    /// Is each of its numbers higher than the one before?
    pub fn only_rises(&self) -> bool {
        self.is_numbers() && self.is_distinct() && self.falls == 0
    }

    /// Do its numbers mostly rise?
    pub fn seldom_falls(&self) -> bool {
        self.falls <= (self.lines / 4).max(1)
    }

    /// Are its values at most a dozen short words or phrases?
    pub fn is_few_words(&self) -> bool {
        let short = |value: &Value| matches!(value, Value::String(_) | Value::Bool(_)) && plain(value).len() <= 60;
        self.distinct.len() <= 12 && self.values.iter().all(short)
    }

    /// Are its values names: single words, at most [`VALUES_MAX`] different ones?
    pub fn is_names(&self) -> bool {
        let name = |value: &Value| value.as_str().is_some_and(|text| text.len() <= 80 && !text.contains(' '));
        !self.numbers && self.distinct.len() <= VALUES_MAX && self.values.iter().all(name)
    }

    /// Is any value an object, a list, or text of several words?
    pub fn is_content(&self) -> bool {
        self.values.iter().any(|value| match value {
            Value::Array(_) | Value::Object(_) => true,
            value => value.as_str().is_some_and(|text| text.contains(' ') || text.starts_with(['{', '['])),
        })
    }

    /// Is any value an object or a list, or the text of one?
    pub fn holds_lines(&self) -> bool {
        self.values.iter().any(|value| match value {
            Value::Array(all) => all.iter().any(|one| one.is_object() || one.is_array()),
            Value::Object(_) => true,
            value => value.as_str().is_some_and(|text| text.starts_with(['{', '[']) && text.ends_with(['}', ']'])),
        })
    }

    /// Are its values identifiers that can only be compared for equality, such as UUIDs?
    pub fn is_opaque(&self) -> bool {
        let long = |value: &Value| {
            let text = plain(value);
            let sign = |c: char| c.is_ascii_alphanumeric() || "-_:/+=.\"".contains(c);
            value.is_string()
                && text.len() >= 8
                && text.chars().all(sign)
                && text.contains(|c: char| c.is_ascii_digit())
        };
        self.lines > 0 && !self.numbers && self.values.iter().all(long)
    }

    /// Are its values codes: single words with a digit in each?
    pub fn is_codes(&self) -> bool {
        self.is_text() && self.values.iter().all(|value| plain(value).contains(|c: char| c.is_ascii_digit()))
    }

    /// For a field of a row's old state, the name of the same field of its new state: Debezium's `after.owner` for
    /// `before.owner`.
    pub fn name_after(&self) -> Option<String> {
        let parts: Vec<&str> = self.name.split('.').collect();
        let then = parts.iter().position(|part| ["before", "OldImage"].contains(part))?;
        let now = if parts[then] == "before" { "after" } else { "NewImage" };
        Some([&parts[..then], &[now], &parts[then + 1..]].concat().join("."))
    }

    /// Are its values single words with a letter in each?
    pub fn is_text(&self) -> bool {
        let word = |text: &str| !text.contains(' ') && text.contains(|c: char| c.is_ascii_alphabetic());
        self.lines > 0 && self.values.iter().all(|value| value.as_str().is_some_and(word))
    }

    /// Does it repeat what the other says, a name, on every line?
    pub fn repeats(&self, other: &Column) -> bool {
        !self.numbers && self.copies.contains(&other.name)
    }

    /// Its name and some of its values, for messages.
    pub fn shown(&self) -> String {
        let short = |value: &Value| match plain(value) {
            text if text.chars().count() > 40 => text.chars().take(40).chain(['…']).collect(),
            text => text,
        };
        let mut shown: Vec<String> = self.values.iter().take(4).map(short).collect();
        if self.distinct.len() > shown.len() {
            shown.push("…".to_owned());
        }
        format!("`{}` ({})", self.name, shown.join(", "))
    }
}

/// Adds a line's fields to the columns.
pub fn add(columns: &mut Vec<Column>, fields: &Map<String, Value>) {
    for (name, value) in fields {
        let at = columns.iter().position(|column| column.name == *name).unwrap_or_else(|| {
            columns.push(Column::new(name));
            columns.len() - 1
        });
        if !is_nothing(value) {
            let column = &mut columns[at];
            column.add(value);
            let same =
                |other: &str| other != name && fields.get(other).is_some_and(|other| plain(other) == plain(value));
            match column.lines {
                1 => column.copies = fields.keys().filter(|other| same(other)).cloned().collect(),
                _ => column.copies.retain(|other| same(other)),
            }
        }
    }
}
