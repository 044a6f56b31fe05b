//! Helpers to read JSON whose values may be missing.

use serde_json::Value;

/// Why a file cannot be read as a result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Foreign {
    #[error("its schema is {is}; this program reads schema {known}")]
    Schema { is: u64, known: u64 },
    #[error("it has no schema number")]
    NoSchema,
    #[error("it has no cells")]
    NoCells,
}

/// Checks that the file's schema is understood; the error is one sentence.
pub(super) fn of_schema(value: &Value, known: u64) -> Result<(), Foreign> {
    match value["schema"].as_u64() {
        Some(schema) if schema == known => Ok(()),
        Some(schema) => Err(Foreign::Schema { is: schema, known }),
        None => Err(Foreign::NoSchema),
    }
}

pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Joins a list of words with commas.
pub(super) fn words(value: &Value) -> String {
    value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(", ")
}

/// The fencing mode, in words.
pub(super) fn fencing(value: &Value) -> String {
    match value {
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) => "off".to_owned(),
        other => text(other),
    }
}

pub(super) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}
