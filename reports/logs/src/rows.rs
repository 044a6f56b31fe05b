//! Reads the lines of a log as fields and values, whatever the format.

use super::{
    answers::{self, Unknown},
    text,
    wrapped::{Unique, flat, unwrapped},
};
use serde_json::{Map, Value};
use std::io::{self, BufRead, BufReader, Read};

/// The number of a line, and its fields.
pub type Row = (u64, Map<String, Value>);
/// Rows in order; for a line that cannot be read, its number and what is wrong with it.
pub type Rows = Box<dyn Iterator<Item = Result<Row, (u64, String)>>>;

/// The longest line that is read, bytes.
const LINE_MAX: u64 = 1 << 20;
/// Lists of records within one object, as `kubectl`, CloudWatch and Elasticsearch write them: the fields down to the
/// list, the field that holds each record, and what may stand beside the list. Beside anything else, it is a part of a record.
const LISTED: [(&str, Option<&str>, &str, &[&str]); 3] = [
    ("items", None, "", &["apiVersion", "kind", "metadata"]),
    ("events", None, "", &["searchedLogStreams", "nextToken", "nextForwardToken", "nextBackwardToken"]),
    (
        "hits",
        Some("hits"),
        "_source",
        &["took", "timed_out", "terminated_early", "_shards", "_clusters", "_scroll_id", "pit_id", "num_reduce_phases"],
    ),
];
/// The longest array that is read, bytes: it must be held in memory.
const ARRAY_MAX: u64 = 1 << 30;

/// Lines without their ends, numbered.
struct Lines<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<(u64, Vec<u8>), (u64, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        self.number += 1;
        match (&mut self.input).take(LINE_MAX + 1).read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) if line.len() as u64 > LINE_MAX => {
                Some(Err((self.number, format!("is longer than {LINE_MAX} bytes"))))
            }
            Ok(_) => Some(Ok((self.number, line))),
            Err(error) => Some(Err((self.number, format!("cannot be read: {error}")))),
        }
    }
}

/// The lines of a text without their ends, numbered.
pub fn lines<R: BufRead>(input: R) -> impl Iterator<Item = Result<(u64, Vec<u8>), (u64, String)>> {
    Lines { input, number: 0 }
}

/// The same with the lines whole of which a container runtime has written parts.
fn joined<R: BufRead>(lines: Lines<R>) -> impl Iterator<Item = Result<(u64, Vec<u8>), (u64, String)>> {
    let (mut parts, mut last): ([Vec<u8>; 3], u64) = Default::default();
    lines.map(Some).chain([None]).filter_map(move |line| {
        let (number, bytes) = match line {
            Some(Ok(line)) => line,
            Some(wrong) => return Some(wrong),
            None => {
                let cut = parts.iter().any(|part| !part.is_empty());
                return cut.then(|| Err((last, "is a part of a line, and its end is missing".to_owned())));
            }
        };
        last = number;
        if bytes.trim_ascii_start().starts_with(b"{") {
            return Some(Ok((number, bytes)));
        }
        let text = String::from_utf8_lossy(&bytes);
        let container = text::container(&text);
        let before = &mut parts[container.stream];
        if container.whole && before.is_empty() {
            return Some(Ok((number, bytes)));
        }
        before.extend_from_slice(container.line.trim_end_matches(['\n', '\r']).as_bytes());
        if before.len() as u64 > LINE_MAX {
            before.clear();
            return Some(Err((number, format!("is longer than {LINE_MAX} bytes"))));
        }
        container.whole.then(|| Ok((number, std::mem::take(before))))
    })
}

/// One object per line; empty lines are skipped.
pub fn json(input: impl BufRead + 'static) -> Rows {
    let lines = joined(Lines { input, number: 0 });
    Box::new(lines.flat_map(|line| {
        let (number, bytes) = match line {
            Ok(line) => line,
            Err(wrong) => return vec![Err(wrong)],
        };
        if bytes.trim_ascii().is_empty() {
            return Vec::new();
        }
        match object(&bytes) {
            Ok(fields) => match listed(fields) {
                Ok(records) => records.into_iter().map(|fields| Ok((number, flat(fields)))).collect(),
                Err(unknown) => vec![Err((number, unknown.to_string()))],
            },
            Err(_) if !bytes.contains(&b'{') => vec![Err((number, text::TEXT.to_owned()))],
            Err(error) if error.is_data() || bytes.trim_ascii().starts_with(b"{\"") => {
                vec![Err((number, text::broken("object", &error)))]
            }
            Err(error) => vec![Err((number, text::not_json(&error)))],
        }
    }))
}

/// Objects that may span several lines, as `jq` writes them. An object's ordinal stands for its line number.
pub fn json_objects(input: impl BufRead + 'static) -> Rows {
    let objects = serde_json::Deserializer::from_reader(input).into_iter::<Unique>();
    let mut number = 0;
    Box::new(objects.flat_map(move |object| match object {
        Ok(Unique(fields)) => {
            let place = |fields| {
                number += 1;
                Ok((number, flat(fields)))
            };
            match unwrapped(fields).map_err(Unknown::from).and_then(listed) {
                Ok(records) => records.into_iter().map(place).collect(),
                Err(unknown) => vec![Err((1, unknown.to_string()))],
            }
        }
        // What follows is not read.
        Err(error) => vec![Err((error.line() as u64, text::broken("object", &error)))],
    }))
}

/// The records of an object that is a list of them, or else the object itself.
///
/// # Errors
/// It says that it lacks records, or a record says a field twice.
pub fn listed(fields: Map<String, Value>) -> Result<Vec<Map<String, Value>>, Unknown> {
    if let Some(records) = answers::records(&fields)? {
        return Ok(records.into_iter().map(unwrapped).collect::<Result<_, _>>()?);
    }
    for (outer, inner, within, beside) in LISTED {
        let Some(list) = fields.get(outer) else { continue };
        if !fields.keys().all(|field| field == outer || beside.contains(&field.as_str())) {
            continue;
        }
        let Some(Value::Array(all)) = inner.map_or(Some(list), |inner| list.get(inner)) else { continue };
        let one = |item: &Value| {
            let item = if within.is_empty() { item } else { item.get(within)? };
            item.as_object().cloned()
        };
        if let Some(records) = all.iter().map(one).collect::<Option<Vec<_>>>() {
            answers::whole(&fields)?;
            return Ok(records.into_iter().map(unwrapped).collect::<Result<_, _>>()?);
        }
    }
    Ok(vec![fields])
}

/// The object of a line. Whatever runs the program may have prefixed time and source, or wrapped the object in its own.
pub fn object(text: &[u8]) -> Result<Map<String, Value>, serde_json::Error> {
    let text = text.trim_ascii();
    let begins = text.iter().position(|byte| *byte == b'{').filter(|_| text.ends_with(b"}"));
    serde_json::from_slice::<Unique>(&text[begins.unwrap_or(0)..]).and_then(|Unique(fields)| unwrapped(fields))
}

/// Objects in one array, as `jq -s` and many exports write. An object's ordinal stands for its line number.
pub fn json_array(input: impl BufRead + 'static) -> Rows {
    let mut text = Vec::new();
    let wrong_at = |line: u64, what: String| -> Rows { Box::new(std::iter::once(Err((line, what)))) };
    let wrong = |what: String| wrong_at(1, what);
    match input.take(ARRAY_MAX + 1).read_to_end(&mut text) {
        Err(error) => return wrong(format!("cannot be read: {error}")),
        Ok(read) if read as u64 > ARRAY_MAX => {
            return wrong(format!("begins an array of more than {ARRAY_MAX} bytes; write an object a line instead"));
        }
        Ok(_) => {}
    }
    match serde_json::from_slice::<Vec<Unique>>(&text) {
        Ok(all) => Box::new((1..).zip(all).flat_map(|(place, Unique(fields))| {
            match unwrapped(fields).map_err(Unknown::from).and_then(listed) {
                Ok(records) => records.into_iter().map(|fields| Ok((place, flat(fields)))).collect(),
                Err(unknown) => vec![Err((place, unknown.to_string()))],
            }
        })),
        Err(error) => wrong_at(error.line() as u64, text::broken("array of objects", &error)),
    }
}

/// `key=value` pairs, as Go's loggers write them.
pub fn logfmt(input: impl BufRead + 'static) -> Rows {
    let lines = Lines { input, number: 0 };
    Box::new(lines.filter_map(|line| {
        let (number, text) = match line {
            Ok(line) => line,
            Err(wrong) => return Some(Err(wrong)),
        };
        let Ok(text) = std::str::from_utf8(&text) else { return Some(Err((number, "is not UTF-8".to_owned()))) };
        let text = text::bare(text.trim());
        (!text.is_empty()).then(|| match text::fields(text) {
            Some(fields) => Ok((number, fields)),
            None if text::has_pair(text) => Err((number, "has a key twice, or a quote without an end".to_owned())),
            None => Err((number, text::NO_PAIRS.to_owned())),
        })
    }))
}

/// A table whose first line names the fields. Empty cells are skipped.
///
/// # Errors
/// Its first line cannot be read.
pub(crate) fn table(input: impl BufRead + 'static, delimiter: u8) -> Result<Rows, String> {
    let drawn = delimiter == b'|';
    let input = Plain { input, drawn };
    let mut reader = csv::ReaderBuilder::new();
    reader.trim(csv::Trim::All).delimiter(delimiter).flexible(drawn).quoting(delimiter != b'\t' && !drawn);
    let mut reader = reader.from_reader(BufReader::new(input));
    let names = reader.headers().map_err(|e| format!("line 1: {}", explained(&e).1))?.clone();
    let twice = (1..names.len()).find(|at| (0..*at).any(|before| names[before] == names[*at]));
    if let Some(at) = twice.filter(|at| !names[*at].is_empty()) {
        return Err(format!("line 1: names the field {:?} twice", &names[at]));
    }
    Ok(Box::new(reader.into_records().filter_map(move |record| {
        let record = match record {
            Ok(record) => record,
            Err(error) => return Some(Err(explained(&error))),
        };
        let line = record.position().map_or(0, csv::Position::line);
        if drawn && record.len() < names.len() {
            let short = || (line, format!("has {} of the table's {} columns", record.len(), names.len()));
            return (record.len() != 1 || !text::is_footer(&record[0])).then(|| Err(short()));
        }
        let named = names.iter().zip(&record).filter(|(name, _)| !name.is_empty());
        let cell = |(name, value): (&str, &str)| (name.to_owned(), Value::String(value.to_owned()));
        Some(Ok((line, named.map(cell).collect())))
    })))
}

/// The header of a history, if these are its fields: a table has it in one cell, as JSON.
pub fn header(fields: &Map<String, Value>) -> Option<Map<String, Value>> {
    let text = fields.get("header").filter(|_| fields.get("event").is_some_and(|event| event == "header"))?;
    serde_json::from_str(text.as_str()?).ok()
}

fn explained(error: &csv::Error) -> (u64, String) {
    let line = error.position().map_or(1, csv::Position::line);
    let what = match error.kind() {
        csv::ErrorKind::Utf8 { .. } => "is not UTF-8".to_owned(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("has {len} values, and the first line names {expected_len} fields")
        }
        _ => format!("is not CSV: {error}"),
    };
    (line, what)
}

/// Normalises line ends to a line feed, so that lines are counted right; in a drawn table, rules become empty lines.
struct Plain<R> {
    input: R,
    drawn: bool,
}

impl<R: BufRead> Read for Plain<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut line = Vec::new();
        let most = buffer.len() as u64;
        let read = (&mut self.input).take(most).read_until(b'\n', &mut line)?;
        if line.ends_with(b"\r\n") {
            line.remove(line.len() - 2);
        }
        let rule = |line: &[u8]| line.iter().all(|byte| b"-+| \n".contains(byte)) && line.contains(&b'-');
        if self.drawn && rule(&line) {
            line = b"\n".to_vec();
        }
        buffer[..line.len()].copy_from_slice(&line);
        debug_assert!(read == 0 || !line.is_empty(), "an end that is none");
        Ok(line.len())
    }
}
