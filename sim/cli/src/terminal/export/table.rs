//! A table: an event a line.

use super::event::{Exporter, Line};
use serde_json::Value;
use std::io::{self, Write};

/// The columns. What an event has besides is in the last one, as JSON.
const COLUMNS: [&str; 18] = [
    "node",
    "group",
    "token",
    "generation",
    "resource",
    "operation",
    "seq",
    "read",
    "version",
    "request",
    "verdict",
    "outcome",
    "reason",
    "state",
    "fault",
    "phase",
    "on",
    "detail",
];

/// Writes the table.
pub struct Table<'o> {
    out: csv::Writer<&'o mut dyn Write>,
}

impl<'o> Table<'o> {
    /// With its head.
    pub fn new(out: &'o mut dyn Write) -> io::Result<Self> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(["t_us", "event"].into_iter().chain(COLUMNS).chain(["more"]))?;
        Ok(Table { out })
    }
}

impl Exporter for Table<'_> {
    fn event(&mut self, line: &Line) -> io::Result<()> {
        let mut more = line.fields.clone();
        let mut cell = |column: &str| match more.remove(column) {
            None => String::new(),
            Some(Value::String(text)) => text,
            Some(Value::Array(all)) => {
                all.iter().map(|one| one.as_str().unwrap_or_default()).collect::<Vec<_>>().join(" ")
            }
            Some(other) => other.to_string(),
        };
        let mut record = vec![line.t_us.to_string(), line.event.clone()];
        record.extend(COLUMNS.map(&mut cell));
        record.push(if more.is_empty() { String::new() } else { Value::Object(more).to_string() });
        Ok(self.out.write_record(record)?)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
