//! Objects whose fields are spread: over what wraps a program's own line, and over objects within it.

use super::{text, times::NAMES as TIMES, values::plain};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use serde_json::{Map, Value, map::Entry};
use std::fmt;

/// The fields in which Docker, logcli, journald, CloudWatch and OpenTelemetry put a program's own log line.
const WRAPPED: [&str; 5] = ["log", "line", "MESSAGE", "message", "body"];
/// What Docker writes of each line.
const DOCKERS: [&str; 4] = ["log", "stream", "time", "attrs"];

/// An object without repeated fields: which of two values counts would be unknown.
pub struct Unique(pub Map<String, Value>);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Unique;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Unique, A::Error> {
                let mut fields = Map::new();
                while let Some(name) = access.next_key::<String>()? {
                    match fields.entry(name) {
                        Entry::Vacant(entry) => drop(entry.insert(access.next_value()?)),
                        Entry::Occupied(entry) => {
                            return Err(A::Error::custom(format!("it says the field `{}` twice", entry.key())));
                        }
                    }
                }
                Ok(Unique(fields))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// Unwraps a program's own log line. Docker's wrapper adds nothing but a time, so it is dropped; the fields of others are kept.
///
/// # Errors
/// The line says a field twice.
pub fn unwrapped(mut fields: Map<String, Value>) -> Result<Map<String, Value>, serde_json::Error> {
    // journald writes a message that has bytes of no text, such as colours, as a list of bytes.
    if let Some(Value::Array(bytes)) = fields.get("MESSAGE")
        && let Some(bytes) = bytes.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect::<Option<Vec<u8>>>()
    {
        let text = text::without_signs(&String::from_utf8_lossy(&bytes));
        fields.insert("MESSAGE".to_owned(), text.into());
    }
    if let Some(Value::String(line)) = fields.get_mut("log") {
        line.truncate(line.trim_end_matches(['\n', '\r']).len());
    }
    let within = WRAPPED.iter().find_map(|name| {
        let line = fields.get(*name)?.as_str().filter(|line| line.starts_with('{'))?;
        match serde_json::from_str(line) {
            Ok(Unique(line)) => Some(Ok((*name, line))),
            Err(error) => error.is_data().then_some(Err(error)),
        }
    });
    Ok(match within.transpose()? {
        None => fields,
        // Others that call the line so say more, such as the pod.
        Some(("log", mut line)) if fields.keys().all(|field| DOCKERS.contains(&field.as_str())) => {
            if let Some(time) = fields.remove("time").filter(|_| !TIMES.iter().any(|time| line.contains_key(*time))) {
                line.insert("time".to_owned(), time);
            }
            line
        }
        Some((name, mut line)) => {
            // What ships a line dates it later than the program does.
            let dated = TIMES.iter().any(|time| line.contains_key(*time));
            let outer = fields.into_iter().filter(|(outer, _)| outer != name && !(dated && shipped(outer)));
            outer.for_each(|(outer, value)| {
                let apart = line.get(&outer).is_some_and(|inner| plain(inner) != plain(&value)) && !level(&outer);
                line.entry(if apart { format!("{outer} (of what wraps it)") } else { outer }).or_insert(value);
            });
            line
        }
    })
}

/// Is it how important a line is? What ships it may think otherwise.
fn level(name: &str) -> bool {
    ["level", "severity", "stream"].contains(&name)
}

/// Is it a field of what ships lines, which says nothing about who leads?
fn shipped(name: &str) -> bool {
    let journal = ["__", "SYSLOG_", "PRIORITY", "_SOURCE_REALTIME_TIMESTAMP"];
    TIMES.contains(&name) || name == "ingestionTime" || journal.iter().any(|begin| name.starts_with(begin))
}

/// Flattens nested fields: `{"write":{"token":7}}` becomes `write.token`.
pub fn flat(fields: Map<String, Value>) -> Map<String, Value> {
    fn add(to: &mut Map<String, Value>, name: String, value: Value, own: bool) {
        match value {
            Value::Object(within) if !own => {
                within.into_iter().for_each(|(inner, value)| add(to, format!("{name}.{inner}"), value, false));
            }
            // Two values of one name: which one counts, only the user knows.
            value if to.get(&name).is_some_and(|other| *other != value) => {
                add(to, format!("{name} (another)"), value, own)
            }
            value => drop(to.insert(name, value)),
        }
    }
    if !fields.values().any(Value::is_object) {
        return fields;
    }
    let mut all = Map::new();
    // Debezium's `after` is a row after a change; the `after` of our fault events is not. Others wrap all they say in a
    // `payload`; ours is a number.
    let is_fault = fields.get("event").is_some_and(|event| event == "fault");
    for (name, value) in fields {
        let own = match name.as_str() {
            "by_kind" | "onto" => true,
            "payload" => value.get("number").is_some(),
            "after" => is_fault,
            _ => false,
        };
        add(&mut all, name, value, own);
    }
    all
}
