//! Lines of a history, made of a service's records.

use super::super::rows::Rows;
use serde_json::{Map, Value};

/// What a record says of a leadership.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The line of the record.
    pub line: u64,
    pub ns: u64,
    pub event: &'static str,
    pub node: String,
    pub resource: String,
    pub token: Option<u64>,
    /// Until when a grant lasts, nanoseconds.
    pub until_ns: Option<u64>,
}

impl Line {
    fn fields(self) -> Map<String, Value> {
        let text = |name: &str, value: String| Some((name.to_owned(), Value::String(value)));
        let all = [
            Some(("t_us".to_owned(), us(self.ns))),
            Some(("event".to_owned(), Value::from(self.event))),
            text("node", self.node),
            text("resource", self.resource).filter(|(_, name)| name.as_str().is_some_and(|name| !name.is_empty())),
            self.token.map(|token| ("token".to_owned(), Value::from(token))),
            self.until_ns.map(|ns| ("until".to_owned(), us(ns))),
        ];
        all.into_iter().flatten().collect()
    }
}

/// Microseconds, exactly.
fn us(ns: u64) -> Value {
    match ns % 1_000 {
        0 => Value::from(ns / 1_000),
        rest => Value::String(format!("{}.{rest:03}", ns / 1_000)),
    }
}

/// As rows in order of time; lines of one moment keep their order.
pub fn rows(mut lines: Vec<Line>) -> Rows {
    lines.sort_by_key(|line| line.ns);
    Box::new(lines.into_iter().map(|line| Ok((line.line, line.fields()))))
}

/// The one row that says what is wrong.
pub fn wrong((line, what): (u64, String)) -> Rows {
    Box::new(std::iter::once(Err((line, what))))
}
