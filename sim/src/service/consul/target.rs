//! What a request asks for: its path and query, and the body of one for a new session.

use super::{model::LOCK_DELAY, pieces::duration};
use hyper::body::Bytes;
use protocols::types::SECOND;
use serde::Deserialize;
use serde_json::Value;

/// The decoded query, in order.
pub(in crate::service) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses a query, and drops malformed parts.
    pub(in crate::service) fn of(query: Option<&str>) -> Query {
        let parts = query.unwrap_or_default().split('&').filter(|part| !part.is_empty());
        let pairs = parts.filter_map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let text = |text: &str| String::from_utf8(decoded(&text.replace('+', " "))?).ok();
            Some((text(name)?, text(value)?))
        });
        Query(pairs.collect())
    }

    /// The first value of `name`.
    pub(in crate::service) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether `name` is present, with a value or without.
    pub(in crate::service) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Encodes it, sorted by name (`url.Values.Encode`).
    pub(in crate::service) fn encode(&self) -> String {
        let escaped = |text: &str| {
            let mut out = String::new();
            for byte in text.bytes() {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte as char),
                    b' ' => out.push('+'),
                    byte => out += &format!("%{byte:02X}"),
                }
            }
            out
        };
        let mut pairs: Vec<&(String, String)> = self.0.iter().collect();
        // Values of one name keep their order.
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        pairs.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect::<Vec<_>>().join("&")
    }
}

/// Decodes a part of a path; `None` if it is malformed.
pub(in crate::service) fn decoded(text: &str) -> Option<Vec<u8>> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte == b'%' {
            let digit = |at: usize| (*after.get(at)? as char).to_digit(16);
            out.push((digit(0)? * 16 + digit(1)?) as u8);
            rest = &after[2..];
        } else {
            out.push(*byte);
        }
    }
    Some(out)
}

// The request for a new session (`agent/session_endpoint.go: SessionCreate, FixupLockDelay, FixupChecks`).

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_and_written_as_go_does() {
        let query = Query::of(Some("b=x%20y&a&c=%zz&b=2&=1"));
        assert_eq!((query.get("b"), query.has("a"), query.has("c")), (Some("x y"), true, false));
        assert_eq!(query.encode(), "=1&a=&b=x+y&b=2");
        assert_eq!((decoded("a%2Fb"), decoded("%2"), decoded("%")), (Some(b"a/b".to_vec()), None, None));
    }
}
