//! The field names of a foreign log.

use std::collections::{BTreeMap, BTreeSet};

/// A field's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// A time in whole microseconds.
    Time,
    /// A duration in whole microseconds.
    Length,
    /// A name or a word.
    Text,
    /// A whole number.
    Number,
    /// Yes or no.
    Truth,
    /// A list or an object, which only JSON has.
    Other,
}

/// All possible fields; the event determines which are required.
const KNOWN: [(&str, Type); 48] = [
    ("event", Type::Text),
    ("t_us", Type::Time),
    ("group", Type::Number),
    ("node", Type::Text),
    ("resource", Type::Text),
    ("request", Type::Text),
    ("verdict", Type::Text),
    ("outcome", Type::Text),
    ("reason", Type::Text),
    ("fault", Type::Text),
    ("detail", Type::Text),
    ("candidate", Type::Text),
    ("point", Type::Text),
    ("passed_by", Type::Text),
    ("from", Type::Other),
    ("against", Type::Other),
    ("one_way", Type::Truth),
    ("strength", Type::Number),
    ("wall_offset_us", Type::Number),
    ("rate_ppm", Type::Number),
    ("token", Type::Number),
    ("epoch", Type::Number),
    ("generation", Type::Number),
    ("term", Type::Number),
    ("seq", Type::Number),
    ("read", Type::Number),
    ("version", Type::Number),
    ("payload", Type::Other),
    ("operation", Type::Text),
    ("plans", Type::Other),
    ("accepted", Type::Truth),
    ("first", Type::Number),
    ("highest", Type::Number),
    ("expected", Type::Number),
    ("index", Type::Number),
    ("phase", Type::Text),
    ("state", Type::Text),
    ("on", Type::Other),
    ("to", Type::Other),
    ("messages", Type::Number),
    ("by_kind", Type::Other),
    ("after", Type::Other),
    ("onto", Type::Other),
    ("entries", Type::Number),
    ("until", Type::Time),
    ("duration", Type::Length),
    ("ttl", Type::Length),
    ("shared", Type::Truth),
];

/// Why a name cannot be mapped to a field.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FieldError {
    #[error("a history has no field {0:?}; it has {names}", names = KNOWN.map(|(name, _)| name).join(", "))]
    Unknown(String),
    #[error("{theirs:?} cannot be both {before:?} and {ours:?}")]
    Twice { theirs: String, before: String, ours: String },
}

/// A foreign log's names for fields, and the fields to ignore. Unless listed, an unknown field is an error: a token
/// under another name would otherwise count as missing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fields {
    /// Our name of a field, by theirs.
    theirs: BTreeMap<String, String>,
    ignored: BTreeSet<String>,
}

impl Fields {
    /// Maps the field `theirs` to a history's field `ours`.
    ///
    /// # Errors
    /// A history has no field `ours`, or `theirs` is already mapped; as one sentence.
    pub fn map(&mut self, ours: &str, theirs: &str) -> Result<(), FieldError> {
        Fields::known(ours)?;
        match self.theirs.insert(theirs.to_owned(), ours.to_owned()) {
            Some(before) if before != ours => {
                Err(FieldError::Twice { theirs: theirs.to_owned(), before, ours: ours.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Checks that a history has a field of that name.
    ///
    /// # Errors
    /// It has none; as one sentence.
    pub fn known(ours: &str) -> Result<(), FieldError> {
        match Fields::type_of(ours) {
            Some(_) => Ok(()),
            None => Err(FieldError::Unknown(ours.to_owned())),
        }
    }

    /// The type of a history's field; `None` if it has no such field.
    pub fn type_of(ours: &str) -> Option<Type> {
        // Most names differ in length or first letter.
        let (long, first) = (ours.len(), ours.as_bytes().first());
        let like = |name: &str| name.len() == long && name.as_bytes().first() == first;
        KNOWN.iter().find(|(name, _)| like(name) && *name == ours).map(|(_, holds)| *holds)
    }

    /// A history's name for their field; `None` if the field is ignored.
    pub fn ours<'a>(&'a self, theirs: &'a str) -> Option<&'a str> {
        let ours = || self.theirs.get(theirs).map_or(theirs, String::as_str);
        (!self.ignored.contains(theirs)).then(ours)
    }

    /// Ignores a field, as irrelevant to the judge.
    pub fn ignore(&mut self, theirs: &str) {
        self.ignored.insert(theirs.to_owned());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.theirs.is_empty() && self.ignored.is_empty()
    }

    /// The line with our names; `None` if it is not an object.
    pub(super) fn translate(&self, text: &[u8]) -> Option<Vec<u8>> {
        let line: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(text).ok()?;
        let ours = line.iter().filter_map(|(name, value)| Some((self.ours(name)?, value)));
        // As text rather than as a map, so that a duplicate field is noticed.
        let fields: Vec<_> = ours.map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name))).collect();
        Some(format!("{{{}}}", fields.join(",")).into_bytes())
    }
}
