//! A table: one event per line, a column for each field that an event can have. `check` reads it like the history.

use super::event::{Exporter, Line};
use protocols::history::Header;
use serde_json::{Value, json};
use std::io::{self, Write};

/// The columns after time and event. Lists and objects are JSON; a missing field is empty.
const COLUMNS: [&str; 41] = [
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
    "first",
    "highest",
    "expected",
    "outcome",
    "reason",
    "accepted",
    "payload",
    "plans",
    "candidate",
    "state",
    "wall_offset_us",
    "rate_ppm",
    "fault",
    "phase",
    "index",
    "on",
    "to",
    "from",
    "against",
    "one_way",
    "strength",
    "point",
    "passed_by",
    "detail",
    "after",
    "onto",
    "entries",
    "messages",
    "by_kind",
    // The fields of the history's header line, if it has one, as JSON: in the row of the event `header`.
    "header",
];

/// Writes the table.
pub struct Table<'o> {
    out: csv::Writer<&'o mut dyn Write>,
}

impl<'o> Table<'o> {
    /// Writes the head, and the history's header if it has one.
    pub fn new(out: &'o mut dyn Write, header: Option<&Header>) -> io::Result<Self> {
        let mut table = Table { out: csv::Writer::from_writer(out) };
        table.out.write_record(["t_us", "event"].into_iter().chain(COLUMNS))?;
        if let Some(header) = header {
            let fields = [("header".to_owned(), json!(header))].into_iter().collect();
            table.row(&Line { t_us: 0, event: "header".to_owned(), fields })?;
        }
        Ok(table)
    }

    fn row(&mut self, line: &Line) -> io::Result<()> {
        if let Some(lost) = line.fields.keys().find(|field| !COLUMNS.contains(&field.as_str())) {
            return Err(io::Error::other(format!("a table has no column for the field {lost:?}")));
        }
        let cell = |column: &str| match line.fields.get(column) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        let cells = [line.t_us.to_string(), line.event.clone()].into_iter().chain(COLUMNS.map(cell));
        Ok(self.out.write_record(cells)?)
    }
}

impl Exporter for Table<'_> {
    fn event(&mut self, line: &Line) -> io::Result<()> {
        self.row(line)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
