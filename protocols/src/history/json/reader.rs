//! Reading a history, from anywhere.

use super::{
    super::{Event, Header},
    Fields,
    line::{Line, OLDEST_SCHEMA, SCHEMA},
    nodes::Nodes,
    told::Told,
};
use serde::Deserialize;
use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt,
    io::{BufRead, Read},
};

/// The longest line that is read, bytes. A line beyond it is an error, so that no input can exhaust memory.
pub const LINE_MAX: u64 = 1 << 20;

/// Why a history cannot be read: one sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for ReadError {}

/// Reads a history line by line, in memory that does not grow with it. Ends after the first error.
pub struct Reader<R: BufRead> {
    input: R,
    fields: Fields,
    buffer: Vec<u8>,
    line: u64,
    header: Option<Header>,
    nodes: Nodes,
    /// What a log has told; nothing of a history with a header.
    told: Told,
    /// What comes before the next line.
    queue: VecDeque<Event>,
    /// How many events no line of their own tells of.
    inferred: u64,
    last_us: u64,
    over: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header, if there is one.
    ///
    /// # Errors
    /// The first line is neither a header nor an event.
    pub fn new(input: R) -> Result<Self, ReadError> {
        Reader::with_fields(input, Fields::default())
    }

    /// Reads the header, if there is one, of a history with fields of other names.
    ///
    /// # Errors
    /// The first line is neither a header nor an event.
    pub fn with_fields(input: R, fields: Fields) -> Result<Self, ReadError> {
        let nodes = Nodes::default();
        let (buffer, header, told, queue) = (Vec::new(), None, Told::default(), VecDeque::new());
        let (line, inferred, last_us, over) = (0, 0, 0, false);
        let mut reader = Reader { input, fields, buffer, line, header, nodes, told, queue, inferred, last_us, over };
        reader.fill()?;
        Ok(reader)
    }

    /// What the history says about its run; `None` for a foreign log.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// How many of the events so far no line of their own tells of: a grant that ran out, work that ended.
    pub fn inferred(&self) -> u64 {
        self.inferred
    }

    /// The names of the processes seen so far, by [`crate::types::NodeId`].
    pub fn names(&self) -> &[String] {
        &self.nodes.names
    }

    /// The names of the resources seen so far, or listed by the header, by [`crate::types::Resource`]; `None` while they are
    /// the usual ones.
    pub fn resources(&self) -> Option<&[String]> {
        self.nodes.resources()
    }

    fn fail(&self, what: impl Into<String>) -> ReadError {
        ReadError { line: self.line, what: what.into() }
    }

    /// Fills `buffer` with the next line that is not blank, without its end. False at the end of the input.
    fn read_line(&mut self) -> Result<bool, ReadError> {
        loop {
            self.line += 1;
            self.buffer.clear();
            let read = (&mut self.input).take(LINE_MAX + 1).read_until(b'\n', &mut self.buffer);
            read.map_err(|e| self.fail(format!("cannot be read: {e}")))?;
            if self.buffer.is_empty() {
                return Ok(false);
            }
            if self.buffer.len() as u64 > LINE_MAX {
                return Err(self.fail(format!("is longer than {LINE_MAX} bytes")));
            }
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// Reads on until there is an event, or no line is left.
    fn fill(&mut self) -> Result<(), ReadError> {
        while self.queue.is_empty() {
            if !self.read_line()? {
                let over = self.told.over_at_last();
                self.inferred += over.len() as u64;
                self.queue.extend(over);
                break;
            }
            let buffer = std::mem::take(&mut self.buffer);
            let parsed = self.parse(&buffer);
            self.buffer = buffer;
            parsed?;
        }
        Ok(())
    }

    /// What one line says.
    fn parse(&mut self, text: &[u8]) -> Result<(), ReadError> {
        if self.line == 1 && is_header(text) {
            let header = parse_header(text).map_err(|what| self.fail(what))?;
            self.nodes = Nodes::closed(&header).map_err(|what| self.fail(what))?;
            self.header = Some(header);
            return Ok(());
        }
        let translated = if self.fields.is_empty() { None } else { self.fields.translate(text) };
        let line: Line = serde_json::from_slice(translated.as_deref().unwrap_or(text)).map_err(|e| {
            let cut_short = e.is_eof() && !text.ends_with(b"\n");
            self.fail(match cut_short {
                true => "is cut short".to_owned(),
                false if is_header(text) => "a header must be the first line".to_owned(),
                false => json_error(&e),
            })
        })?;
        if line.event == "header" {
            return Err(self.fail("a header must be the first line"));
        }
        let t_us = line.t_us.ok_or_else(|| self.fail("t_us is missing; it is the true time in microseconds"))?;
        if t_us < self.last_us {
            return Err(self.fail(format!("t_us goes back from {} to {t_us}", self.last_us)));
        }
        let (group, kind) = line.read(&mut self.nodes).map_err(|what| self.fail(what))?;
        self.last_us = t_us;
        let event = Event { t_us, group, kind };
        if self.header.is_some() {
            self.queue.push_back(event);
            return Ok(());
        }
        let lasts = line.lasts(t_us).map_err(|what| self.fail(what))?;
        let over = self.told.over_by(t_us).into_iter().chain(self.told.lasted(&event)).collect::<Vec<_>>();
        self.inferred += over.len() as u64;
        self.queue.extend(over);
        self.queue.extend(self.told.tell(event, lasts));
        Ok(())
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Event, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.queue.is_empty() && !self.over {
            if let Err(wrong) = self.fill() {
                self.over = true;
                return Some(Err(wrong));
            }
            self.over = self.queue.is_empty();
        }
        self.queue.pop_front().map(Ok)
    }
}

/// A parser's words without its position: every line is its own document, so only the column would be right.
fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if let Some(rest) = text.strip_prefix("unknown field `") {
        let field = rest.split('`').next().unwrap_or_default();
        return format!(
            "there is no field {field:?} in a history; --map token={field} says that it is the token (or any other field), \
             --ignore {field} leaves it out"
        );
    }
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    format!("is not an event: {what} (column {})", error.column())
}

/// Does a line say that it is a header?
fn is_header(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Tag<'a> {
        #[serde(borrow)]
        event: Cow<'a, str>,
    }
    serde_json::from_slice::<Tag>(text).is_ok_and(|tag| tag.event == "header")
}

fn parse_header(text: &[u8]) -> Result<Header, String> {
    let mut value: serde_json::Value = serde_json::from_slice(text).map_err(|e| json_error(&e))?;
    if let Some(fields) = value.as_object_mut() {
        fields.remove("event");
    }
    let header: Header = serde_json::from_value(value).map_err(|e| format!("is not a header: {e}"))?;
    if !(OLDEST_SCHEMA..=SCHEMA).contains(&header.schema) {
        let schema = header.schema;
        return Err(format!("has schema {schema}; this build reads schemas {OLDEST_SCHEMA} to {SCHEMA}"));
    }
    Ok(header)
}
