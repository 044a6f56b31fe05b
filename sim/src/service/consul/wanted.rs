//! The request for a new session (`agent/session_endpoint.go: SessionCreate, FixupLockDelay, FixupChecks`).

use super::{model::LOCK_DELAY, pieces::duration};
use hyper::body::Bytes;
use protocols::types::SECOND;
use serde::Deserialize;
use serde_json::Value;

/// A lock-delay given as a number below this is in seconds (`lockDelayMinThreshold`).
const SECONDS_BELOW: i128 = 1_000;

/// The request for a new session. Field names are case-insensitive, as in Go.
pub(super) struct Wanted {
    pub(super) name: Option<String>,
    pub(super) node: Option<String>,
    pub(super) behavior: Option<String>,
    pub(super) ttl: Option<String>,
    pub(super) checks: Option<Vec<String>>,
    /// In nanoseconds.
    pub(super) lock_delay: u64,
}

impl Wanted {
    pub(super) fn read(body: &Bytes) -> Result<Wanted, String> {
        let mut wanted =
            Wanted { name: None, node: None, behavior: None, ttl: None, checks: None, lock_delay: LOCK_DELAY };
        if body.is_empty() {
            return Ok(wanted);
        }
        let fields: serde_json::Map<String, Value> =
            serde_json::from_slice(body).map_err(|why| match why.is_eof() {
                true => "unexpected EOF".to_owned(),
                false => why.to_string(),
            })?;
        for (name, value) in fields {
            match name.to_ascii_lowercase().as_str() {
                "name" => wanted.name = field(".Name", value)?,
                "node" => wanted.node = field(".Node", value)?,
                "behavior" => wanted.behavior = field(".Behavior", value)?,
                "ttl" => wanted.ttl = field(".TTL", value)?,
                "checks" | "nodechecks" => wanted.checks = field(".Checks", value)?,
                "lockdelay" => wanted.lock_delay = lock_delay(&value)?,
                _ => {}
            }
        }
        Ok(wanted)
    }
}

fn field<T: for<'a> Deserialize<'a>>(name: &str, value: Value) -> Result<Option<T>, String> {
    let kind = match &value {
        Value::Null => return Ok(None),
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let wrong = |_| format!("json: cannot unmarshal {kind} into Go struct field {name} of type string");
    serde_json::from_value(value).map(Some).map_err(wrong)
}

fn lock_delay(value: &Value) -> Result<u64, String> {
    let asked = match value {
        Value::String(text) => duration(text)?,
        value => value.as_f64().map_or(LOCK_DELAY as i128, |number| number as i128),
    };
    let asked = if asked < SECONDS_BELOW { asked.saturating_mul(i128::from(SECOND)) } else { asked };
    Ok(u64::try_from(asked).unwrap_or(0))
}
