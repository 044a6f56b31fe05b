//! The lines of a log, as fields and values.

use protocols::history::json::{Fields, Type};
use serde_json::{Map, Value};
use std::io::Read;

/// The number of each line, and what it says.
type Rows = Vec<(u64, Map<String, Value>)>;

/// At most so much of a log is read into memory, bytes.
const LOG_MAX: u64 = 1 << 30;

/// All of a log that has to be put into other words.
fn whole(input: impl Read) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let read = input.take(LOG_MAX + 1).read_to_end(&mut text).map_err(|e| format!("cannot be read: {e}"))?;
    match read as u64 > LOG_MAX {
        true => Err(format!("is longer than {LOG_MAX} bytes; only JSON lines with our names may be")),
        false => Ok(text),
    }
}

/// JSON lines.
pub fn json(input: impl Read) -> Result<Rows, String> {
    let (text, mut rows) = (whole(input)?, Rows::new());
    for (line, text) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        let fields = serde_json::from_slice(text).map_err(|e| {
            let what = e.to_string();
            let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
            format!("line {line}: is no JSON object: {what} (column {})", e.column())
        })?;
        rows.push((line, fields));
    }
    Ok(rows)
}

/// CSV, the first line of which names the fields. Empty cells say nothing.
pub fn csv(input: impl Read) -> Result<Rows, String> {
    let text = whole(input)?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(&text[..]);
    let names = reader.headers().map_err(|e| explained(&e))?.clone();
    let twice = (1..names.len()).find(|at| (0..*at).any(|before| names[before] == names[*at]));
    if let Some(at) = twice {
        return Err(format!("line 1: names the field {:?} twice", &names[at]));
    }
    let mut rows = Rows::new();
    for record in reader.records() {
        let record = record.map_err(|e| explained(&e))?;
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |(name, value): (&str, &str)| (name.to_owned(), Value::String(value.to_owned()));
        rows.push((line, names.iter().zip(&record).map(cell).collect()));
    }
    Ok(rows)
}

/// The first line of a history, if these are its fields: a table has them in one cell, as JSON.
pub fn header(fields: &Map<String, Value>) -> Option<String> {
    let text = fields.get("header").filter(|_| fields.get("event").is_some_and(|event| event == "header"))?;
    let mut header: Map<String, Value> = serde_json::from_str(text.as_str()?).ok()?;
    header.insert("event".to_owned(), "header".into());
    Some(Value::Object(header).to_string())
}

fn explained(error: &csv::Error) -> String {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => format!("line {line}: is not UTF-8"),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("line {line}: has {len} values, and the first line names {expected_len} fields")
        }
        _ => format!("line {line}: is not CSV: {error}"),
    }
}

/// Gives a value the type that its field has: logs have numbers as text, and names as numbers.
///
/// # Errors
/// It cannot have it.
pub fn retype(name: &str, value: &mut Value) -> Result<(), String> {
    let wants = |what: &str, value: &Value| format!("{name} is {value}, and must be {what}");
    match (value, Fields::type_of(name)) {
        (value @ Value::String(_), Some(Type::Number)) => {
            let text = value.as_str().unwrap_or_default();
            let number = text.parse::<u64>().map(Value::from).or_else(|_| text.parse::<i64>().map(Value::from));
            *value = number.map_err(|_| wants("a whole number", value))?;
        }
        (value @ Value::String(_), Some(Type::Truth)) => {
            *value = match value.as_str().unwrap_or_default().to_ascii_lowercase().as_str() {
                "true" | "t" | "yes" | "1" => Value::Bool(true),
                "false" | "f" | "no" | "0" => Value::Bool(false),
                _ => return Err(wants("true or false", value)),
            };
        }
        (value @ Value::String(_), Some(Type::Other)) => {
            let json = serde_json::from_str(value.as_str().unwrap_or_default());
            *value = json.map_err(|_| wants("a list or an object, as JSON", value))?;
        }
        (value @ Value::Number(_), Some(Type::Text)) => *value = Value::String(value.to_string()),
        _ => {}
    }
    Ok(())
}
