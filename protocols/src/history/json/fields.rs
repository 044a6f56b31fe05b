//! What somebody else's log calls things.

use std::collections::{BTreeMap, BTreeSet};

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// The time, as a whole number of microseconds.
    Time,
    /// A length of time, as a whole number of microseconds.
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

/// The fields that a line may have; which of them it must have, its event says.
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

/// A name that cannot stand for a field.
#[allow(missing_docs, reason = "each says itself")]
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FieldError {
    #[error("a history has no field {0:?}; it has {names}", names = KNOWN.map(|(name, _)| name).join(", "))]
    Unknown(String),
    #[error("{theirs:?} cannot be both {before:?} and {ours:?}")]
    Twice { theirs: String, before: String, ours: String },
}

/// What a foreign log calls its fields, and which of them are left out. Without it, a field that is not known is an error:
/// a token under another name would otherwise be read as none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fields {
    /// Our name of a field, by theirs.
    theirs: BTreeMap<String, String>,
    ignored: BTreeSet<String>,
}

impl Fields {
    /// The field `theirs` is what a history calls `ours`.
    ///
    /// # Errors
    /// A history has no field of that name, or `theirs` is mapped already: one sentence.
    pub fn map(&mut self, ours: &str, theirs: &str) -> Result<(), FieldError> {
        Fields::known(ours)?;
        match self.theirs.insert(theirs.to_owned(), ours.to_owned()) {
            Some(before) if before != ours => {
                Err(FieldError::Twice { theirs: theirs.to_owned(), before, ours: ours.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Has a history a field of that name?
    ///
    /// # Errors
    /// It has not: one sentence.
    pub fn known(ours: &str) -> Result<(), FieldError> {
        match Fields::type_of(ours) {
            Some(_) => Ok(()),
            None => Err(FieldError::Unknown(ours.to_owned())),
        }
    }

    /// What a field of that name holds, if a history has one.
    pub fn type_of(ours: &str) -> Option<Type> {
        // Most names differ in their length or first letter.
        let (long, first) = (ours.len(), ours.as_bytes().first());
        let like = |name: &str| name.len() == long && name.as_bytes().first() == first;
        KNOWN.iter().find(|(name, _)| like(name) && *name == ours).map(|(_, holds)| *holds)
    }

    /// What a history calls their field; `None` where it says nothing that is judged.
    pub fn ours<'a>(&'a self, theirs: &'a str) -> Option<&'a str> {
        let ours = || self.theirs.get(theirs).map_or(theirs, String::as_str);
        (!self.ignored.contains(theirs)).then(ours)
    }

    /// The field of that name says nothing that is judged.
    pub fn ignore(&mut self, theirs: &str) {
        self.ignored.insert(theirs.to_owned());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.theirs.is_empty() && self.ignored.is_empty()
    }

    /// The line with our names; `None` when it is no object.
    pub(super) fn translate(&self, text: &[u8]) -> Option<Vec<u8>> {
        let line: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(text).ok()?;
        let ours = line.iter().filter_map(|(name, value)| Some((self.ours(name)?, value)));
        // As text and not as a map: a field that is there twice has to be noticed.
        let fields: Vec<_> = ours.map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name))).collect();
        Some(format!("{{{}}}", fields.join(",")).into_bytes())
    }
}
