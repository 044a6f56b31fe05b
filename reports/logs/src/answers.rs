//! What services answer when they are asked for lines: records within objects, in no order that can be relied on. The objects of Loki
//! (`/loki/api/v1/query_range`), OpenTelemetry (OTLP's JSON, as its collector's `file` exporter writes it) and CloudWatch Logs
//! Insights (`aws logs get-query-results`).

use super::{text, times::NAMES};
use chrono::{DateTime, SecondsFormat};
use serde_json::{Map, Value, map::Entry};
use std::fmt;

type Fields = Map<String, Value>;

/// How much of a file is searched for the names that an answer begins with, bytes.
const BEGINS: usize = 4_096;

/// Why the records of an object are not known.
#[derive(Debug)]
pub enum Unknown {
    /// It is an answer that says by this that it is not the whole one.
    Partial(String),
    /// It is an answer with fewer records than matched.
    Cut { of: u64, records: usize },
    /// A record within it says a field twice.
    Broken(serde_json::Error),
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Unknown::Partial(status) => {
                write!(f, "is an answer with the status {status}, so it may lack records; ask again")
            }
            Unknown::Cut { of, records } => {
                write!(
                    f,
                    "is an answer with {records} of {of} records that matched; ask for all, with a higher `limit`"
                )
            }
            Unknown::Broken(error) => f.write_str(&text::broken("object", error)),
        }
    }
}

impl From<serde_json::Error> for Unknown {
    fn from(error: serde_json::Error) -> Self {
        Unknown::Broken(error)
    }
}

/// Does a text begin like an answer?
pub fn begin(text: &[u8]) -> bool {
    let dense = text.iter().filter(|byte| !byte.is_ascii_whitespace()).take(BEGINS);
    let dense = String::from_utf8_lossy(&dense.copied().collect::<Vec<_>>()).into_owned();
    let names = [r#""resourceLogs":["#, r#""resultType":"streams""#, r#""results":[[{"field":"#];
    dense.starts_with(['{', '[']) && names.iter().any(|name| dense.contains(name))
}

/// The records of an answer; `None` if this is none.
///
/// # Errors
/// It says that it lacks records.
pub fn records(fields: &Fields) -> Result<Option<Vec<Fields>>, Unknown> {
    let Some(records) = of_loki(fields).or_else(|| of_otlp(fields)).or_else(|| of_insights(fields)) else {
        return Ok(None);
    };
    // A limit has cut off the rest.
    let matched = fields.get("statistics").and_then(|of| of.get("recordsMatched")?.as_f64());
    if let Some(matched) = matched.filter(|matched| *matched > records.len() as f64) {
        return Err(Unknown::Cut { of: matched as u64, records: records.len() });
    }
    match fields.get("status").and_then(Value::as_str) {
        Some(status) if !["success", "Complete"].contains(&status) => Err(Unknown::Partial(status.to_owned())),
        _ => Ok(Some(records)),
    }
}

/// Whether an answer of Elasticsearch has been given in time, and by all shards.
///
/// # Errors
/// It says that it has not.
pub fn whole(fields: &Fields) -> Result<(), Unknown> {
    let failed = fields.get("_shards").and_then(|shards| shards.get("failed")).is_some_and(|failed| *failed != 0);
    let late = ["timed_out", "terminated_early"].into_iter().find(|name| fields.get(*name) == Some(&Value::Bool(true)));
    match late.or(failed.then_some("_shards.failed")) {
        Some(status) => Err(Unknown::Partial(status.to_owned())),
        None => Ok(()),
    }
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Adds what the record does not say itself.
fn complete(record: &mut Fields, name: &str, value: Value) {
    record.entry(name).or_insert(value);
}

/// A time that counts nanoseconds since 1970, as a date.
fn date(ns: &Value) -> Value {
    let counted = ns.as_i64().or_else(|| ns.as_str()?.parse().ok());
    let date = counted.map(|ns| DateTime::from_timestamp_nanos(ns).to_rfc3339_opts(SecondsFormat::AutoSi, true));
    date.map_or_else(|| ns.clone(), Value::String)
}

fn dated(record: &Fields) -> bool {
    NAMES.iter().any(|time| record.contains_key(*time))
}

/// Streams: labels, with the time and the text of each line, and perhaps metadata.
fn of_loki(fields: &Fields) -> Option<Vec<Fields>> {
    let data = fields.get("data").filter(|data| data.get("resultType").is_some_and(|kind| kind == "streams"))?;
    data.get("result")?.as_array()?;
    let mut records = Vec::new();
    for stream in list(data, "result") {
        let begun = records.len();
        for value in list(stream, "values") {
            let (time, line) = (value.get(0)?, value.get(1)?);
            let mut record = Fields::from_iter([("line".to_owned(), line.clone())]);
            // By kind, if the client asks for that.
            let metadata = value.get(2).and_then(Value::as_object);
            for (name, value) in metadata.into_iter().flatten() {
                match value {
                    Value::Object(kind) => {
                        kind.iter().for_each(|(name, value)| complete(&mut record, name, value.clone()));
                    }
                    value => complete(&mut record, name, value.clone()),
                }
            }
            for (name, value) in stream.get("stream").and_then(Value::as_object).into_iter().flatten() {
                complete(&mut record, name, value.clone());
            }
            if !dated(&record) {
                record.insert("t_us".to_owned(), date(time));
            }
            records.push(record);
        }
        let ns = |value: &Value| value.get(0)?.as_str()?.parse::<u64>().ok();
        let times: Vec<_> = list(stream, "values").iter().map(ns).collect();
        if times.first() > times.last() {
            records[begun..].reverse();
        }
    }
    Some(records)
}

/// Records of scopes of resources. What a record says counts before what its scope and its resource say.
fn of_otlp(fields: &Fields) -> Option<Vec<Fields>> {
    let resources = fields.get("resourceLogs")?.as_array()?;
    let mut records = Vec::new();
    for of in resources {
        for scope in within(of, "scopeLogs", "resource")? {
            for log in within(scope, "logRecords", "scope")? {
                let mut record = Fields::new();
                // A body with fields is read like a line of JSON.
                match log.get("body").map_or(Some(Value::Null), plain)? {
                    Value::Null => {}
                    body @ Value::Object(_) => complete(&mut record, "body", body.to_string().into()),
                    body => complete(&mut record, "body", body),
                }
                for of in [Some(log), scope.get("scope"), of.get("resource")].into_iter().flatten() {
                    for (name, value) in named(list(of, "attributes"))? {
                        complete(&mut record, &name, value);
                    }
                }
                for (name, theirs) in [("level", "severityText"), ("eventName", "eventName")] {
                    if let Some(said) = log.get(theirs).filter(|said| **said != "") {
                        complete(&mut record, name, said.clone());
                    }
                }
                let is_set = |time: &&Value| !["0", ""].iter().any(|unset| **time == *unset) && **time != 0;
                let time =
                    ["timeUnixNano", "observedTimeUnixNano"].iter().find_map(|name| log.get(*name).filter(is_set));
                if let Some(time) = time.filter(|_| !dated(&record)) {
                    record.insert("t_us".to_owned(), date(time));
                }
                records.push(record);
            }
        }
    }
    Some(records)
}

/// The list `name` of an object that has nothing else but what all of its records have in common.
fn within<'v>(value: &'v Value, name: &str, common: &str) -> Option<&'v [Value]> {
    let known = |key: &String| [name, common, "schemaUrl"].contains(&key.as_str());
    let fields = value.as_object().filter(|fields| fields.keys().all(known))?;
    fields.get(name).map_or(Some(&[]), |list| list.as_array().map(Vec::as_slice))
}

/// A list of keys with values, as fields; `None` if one is there twice, since nobody knows which counts.
fn named(attributes: &[Value]) -> Option<Fields> {
    let mut fields = Fields::new();
    for one in attributes {
        let value = one.get("value").map_or(Some(Value::Null), plain)?;
        if fields.insert(one.get("key")?.as_str()?.to_owned(), value).is_some() {
            return None;
        }
    }
    Some(fields)
}

/// The value within one that says its type, such as `{"intValue":"7"}`.
fn plain(typed: &Value) -> Option<Value> {
    let mut typed = typed.as_object()?.iter();
    let Some((kind, value)) = typed.next() else { return Some(Value::Null) };
    match kind.as_str() {
        _ if typed.next().is_some() => None,
        "kvlistValue" => named(list(value, "values")).map(Value::Object),
        "arrayValue" => list(value, "values").iter().map(plain).collect(),
        _ => Some(value.clone()),
    }
}

/// Lists of fields with values.
fn of_insights(fields: &Fields) -> Option<Vec<Fields>> {
    let results = fields.get("results")?.as_array()?;
    fields.get("results")?.pointer("/0/0/field")?;
    let record = |cells: &Value| {
        let mut record = Fields::new();
        for cell in cells.as_array()? {
            let (name, value) = (cell.get("field")?.as_str()?, cell.get("value")?);
            // A pointer to the whole record.
            if name != "@ptr" {
                let name = if name == "@message" { "message" } else { name };
                match record.entry(name) {
                    Entry::Vacant(entry) => drop(entry.insert(value.clone())),
                    Entry::Occupied(_) => return None,
                }
            }
        }
        Some(record)
    };
    results.iter().map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: &Value) -> Vec<Fields> {
        records(value.as_object().expect("an object")).expect("it is whole").expect("an answer")
    }

    #[test]
    fn what_a_record_says_counts_before_what_its_resource_says() {
        let text = |name: &str, value: &str| json!({"key": name, "value": {"stringValue": value}});
        let body =
            json!({"kvlistValue": {"values": [text("msg", "stored"), {"key": "token", "value": {"intValue": "7"}}]}});
        let record = json!({"observedTimeUnixNano": "1777861800125000000", "timeUnixNano": "0", "attributes": [text("node", "a")], "body": body});
        let resource = json!({"attributes": [text("node", "host"), text("service.name", "store")]});
        let all = read(&json!({"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [record]}]}]}));
        let must = json!([{
            "node": "a", "service.name": "store", "body": r#"{"msg":"stored","token":"7"}"#, "t_us": "2026-05-04T02:30:00.125Z",
        }]);
        assert_eq!(json!(all), must);
    }

    #[test]
    fn a_stream_has_labels_and_metadata_and_its_oldest_line_first() {
        let values = json!([["2", "late", {"structuredMetadata": {"pod": "b"}}], ["1", "early"]]);
        let data = json!({"resultType": "streams", "result": [{"stream": {"job": "x", "pod": "a"}, "values": values}]});
        let all = read(&json!({"status": "success", "data": data}));
        let told: Vec<_> = all.iter().map(|record| (record["line"].as_str(), record["pod"].as_str())).collect();
        assert_eq!(told, [(Some("early"), Some("a")), (Some("late"), Some("b"))]);
    }

    #[test]
    fn what_is_said_twice_or_elsewhere_is_not_passed_over() {
        let token = |n: u64| json!({"key": "token", "value": {"intValue": n.to_string()}});
        let of = |record: Value| json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]});
        let old = json!({"resourceLogs": [{"instrumentationLibraryLogs": []}]});
        let two = json!({"body": {"stringValue": "a", "intValue": "1"}});
        for wrong in [of(json!({"attributes": [token(7), token(8)]})), old, of(two)] {
            assert!(records(wrong.as_object().expect("an object")).is_ok_and(|all| all.is_none()), "{wrong}");
        }
        assert_eq!(read(&of(json!({"attributes": [token(7)]}))).len(), 1);
    }
}
