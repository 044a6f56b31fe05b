//! What somebody else's log calls things.

use std::collections::{BTreeMap, BTreeSet};

/// The fields that a line may have; which of them it must have, its event says.
const KNOWN: [&str; 41] = [
    "event",
    "t_us",
    "group",
    "node",
    "resource",
    "request",
    "verdict",
    "outcome",
    "reason",
    "fault",
    "detail",
    "candidate",
    "point",
    "passed_by",
    "from",
    "against",
    "one_way",
    "strength",
    "wall_offset_us",
    "rate_ppm",
    "token",
    "epoch",
    "generation",
    "term",
    "seq",
    "read",
    "version",
    "payload",
    "operation",
    "plans",
    "accepted",
    "first",
    "highest",
    "expected",
    "index",
    "phase",
    "state",
    "on",
    "to",
    "messages",
    "by_kind",
];

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
    pub fn map(&mut self, ours: &str, theirs: &str) -> Result<(), String> {
        Fields::known(ours)?;
        match self.theirs.insert(theirs.to_owned(), ours.to_owned()) {
            Some(before) if before != ours => Err(format!("{theirs:?} cannot be both {before:?} and {ours:?}")),
            _ => Ok(()),
        }
    }

    /// Has a history a field of that name?
    ///
    /// # Errors
    /// It has not: one sentence.
    pub fn known(ours: &str) -> Result<(), String> {
        match KNOWN.contains(&ours) {
            true => Ok(()),
            false => Err(format!("a history has no field {ours:?}; it has {}", KNOWN.join(", "))),
        }
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
