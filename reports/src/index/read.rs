//! How files are read whose names are known, and whose values may be missing.

use serde_json::Value;

/// Why a file is none of those that are understood here.
#[allow(missing_docs, reason = "each says itself")]
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Foreign {
    #[error("it is of schema {is}, and this program reads {known}")]
    Schema { is: u64, known: u64 },
    #[error("it does not say its schema")]
    NoSchema,
    #[error("it has no cells")]
    NoCells,
}

/// Is it a file of a schema that is understood here? Otherwise why not: one sentence.
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

/// A list of words as one.
pub(super) fn words(value: &Value) -> String {
    value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(", ")
}

/// What the store checked.
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
