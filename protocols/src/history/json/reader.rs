//! Reads a history from any source.

use super::{
    super::{Event, Header},
    Fields,
    line::{Line, OLDEST_SCHEMA, SCHEMA},
    nodes::Nodes,
    told::Told,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt,
    io::{BufRead, Read},
};

/// The longest line, bytes. A longer one is an error, so that no input can exhaust memory.
pub const LINE_MAX: u64 = 1 << 20;

/// Why a history cannot be read, as one sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// The line's number, from 1.
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

/// Why fields or a header do not make an event, in one sentence without the line number.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoEvent(pub String);

/// A source of lines for a [`Reader`].
pub trait Lines {
    /// Why there is no next line, or what is wrong with it.
    type Error;

    /// Passes the next line to `told`; returns false at the end.
    ///
    /// # Errors
    /// The line cannot be read, or is not an event.
    fn tell(&mut self, told: &mut Telling) -> Result<bool, Self::Error>;
}

impl<L: Lines + ?Sized> Lines for Box<L> {
    type Error = L::Error;

    fn tell(&mut self, told: &mut Telling) -> Result<bool, L::Error> {
        (**self).tell(told)
    }
}

/// The state accumulated from the lines so far.
#[derive(Default)]
pub struct Telling {
    header: Option<Header>,
    nodes: Nodes,
    /// The state of a foreign log; unused if there is a header.
    told: Told,
    /// The events due before the next line.
    queue: VecDeque<Event>,
    /// How many events have no line of their own.
    inferred: u64,
    last_us: u64,
}

impl Telling {
    /// Begins the history with this header.
    ///
    /// # Errors
    /// The header names a process twice, or too many processes; as one sentence.
    pub fn begin(&mut self, header: Header) -> Result<(), NoEvent> {
        self.nodes = Nodes::closed(&header).map_err(NoEvent)?;
        self.header = Some(header);
        Ok(())
    }

    /// Parses a header from these fields.
    ///
    /// # Errors
    /// They are not a header, or have a schema that this build cannot read; as one sentence.
    pub fn header(mut fields: Map<String, Value>) -> Result<Header, NoEvent> {
        fields.remove("event");
        let header = Header::deserialize(fields).map_err(|e| NoEvent(format!("is not a header: {e}")))?;
        if !(OLDEST_SCHEMA..=SCHEMA).contains(&header.schema) {
            let schema = header.schema;
            let what = format!("has schema {schema}; this build reads schemas {OLDEST_SCHEMA} to {SCHEMA}");
            return Err(NoEvent(what));
        }
        Ok(header)
    }

    /// Handles the next line's fields.
    ///
    /// # Errors
    /// They are not an event; as one sentence.
    pub fn line(&mut self, fields: &Map<String, Value>) -> Result<(), NoEvent> {
        let wrong = |e: serde_json::Error| NoEvent(unknown_field(fields).unwrap_or_else(|| e.to_string()));
        self.parsed(&Line::deserialize(fields).map_err(wrong)?).map_err(NoEvent)
    }

    fn parsed(&mut self, line: &Line) -> Result<(), String> {
        if line.event == "header" {
            return Err("a header must be the first line".to_owned());
        }
        let t_us = line.t_us.ok_or("t_us is missing; it is the true time in microseconds")?;
        if t_us < self.last_us {
            return Err(format!("t_us goes back from {} to {t_us}", self.last_us));
        }
        let (group, kind) = line.read(&mut self.nodes)?;
        self.last_us = t_us;
        let event = Event { t_us, group, kind };
        if self.header.is_some() {
            self.queue.push_back(event);
            return Ok(());
        }
        let lasts = line.lasts(t_us)?;
        let over = self.told.over_by(t_us).into_iter().chain(self.told.lasted(&event)).collect::<Vec<_>>();
        self.inferred += over.len() as u64;
        self.queue.extend(over);
        self.queue.extend(self.told.tell(event, lasts));
        Ok(())
    }

    /// The names of the processes seen so far, by [`crate::types::NodeId`].
    pub fn names(&self) -> &[String] {
        &self.nodes.names
    }

    /// Takes the pending events.
    pub fn take(&mut self) -> impl Iterator<Item = Event> + '_ {
        self.queue.drain(..)
    }

    /// Handles the end of the input.
    pub fn over(&mut self) {
        let over = self.told.over_at_last();
        self.inferred += over.len() as u64;
        self.queue.extend(over);
    }
}

/// Reads a history line by line, in bounded memory. Ends after the first error.
pub struct Reader<L> {
    lines: L,
    telling: Telling,
    over: bool,
}

impl<R: BufRead> Reader<Text<R>> {
    /// Reads the header, if there is one.
    ///
    /// # Errors
    /// The first line is neither a header nor an event.
    pub fn new(input: R) -> Result<Self, ReadError> {
        Reader::of(Text::new(input, Fields::default()))
    }
}

impl<L: Lines> Reader<L> {
    /// Reads the header, if there is one.
    ///
    /// # Errors
    /// The first line is neither a header nor an event.
    pub fn of(lines: L) -> Result<Self, L::Error> {
        let mut reader = Reader { lines, telling: Telling::default(), over: false };
        reader.fill()?;
        Ok(reader)
    }

    /// The history's header; `None` for a foreign log.
    pub fn header(&self) -> Option<&Header> {
        self.telling.header.as_ref()
    }

    /// How many of the events so far had no line of their own: an expired grant, the end of work.
    pub fn inferred(&self) -> u64 {
        self.telling.inferred
    }

    /// The names of the processes seen so far, by [`crate::types::NodeId`].
    pub fn names(&self) -> &[String] {
        self.telling.names()
    }

    /// The names of the resources seen so far, or listed by the header, by [`crate::types::Resource`]; `None` for the
    /// default ones.
    pub fn resources(&self) -> Option<&[String]> {
        self.telling.nodes.resources()
    }

    /// Reads on until there is an event, or no line is left.
    fn fill(&mut self) -> Result<(), L::Error> {
        while self.telling.queue.is_empty() {
            if !self.lines.tell(&mut self.telling)? {
                self.telling.over();
                break;
            }
        }
        Ok(())
    }
}

impl<L: Lines> Iterator for Reader<L> {
    type Item = Result<Event, L::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.telling.queue.is_empty() && !self.over {
            if let Err(wrong) = self.fill() {
                self.over = true;
                return Some(Err(wrong));
            }
            self.over = self.telling.queue.is_empty();
        }
        self.telling.queue.pop_front().map(Ok)
    }
}

pub struct Text<R> {
    input: R,
    fields: Fields,
    buffer: Vec<u8>,
    line: u64,
}

impl<R: BufRead> Text<R> {
    /// A reader with mapped field names.
    pub fn new(input: R, fields: Fields) -> Self {
        Text { input, fields, buffer: Vec::new(), line: 0 }
    }

    fn fail(&self, what: impl Into<String>) -> ReadError {
        ReadError { line: self.line, what: what.into() }
    }

    /// Fills `buffer` with the next line that is not blank, without its end. Returns false at the end of the input.
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

    /// Passes the line in `buffer` to `told`.
    fn parse(&self, told: &mut Telling) -> Result<(), NoEvent> {
        let text = &self.buffer;
        if self.line == 1 && is_header(text) {
            let fields = serde_json::from_slice(text).map_err(|e| NoEvent(json_error(&e)))?;
            return told.begin(Telling::header(fields)?);
        }
        let translated = if self.fields.is_empty() { None } else { self.fields.translate(text) };
        let ours = translated.as_deref().unwrap_or(text);
        let line: Line = serde_json::from_slice(ours).map_err(|e| {
            let cut_short = e.is_eof() && !text.ends_with(b"\n");
            NoEvent(match cut_short {
                true => "is cut short".to_owned(),
                false if is_header(text) => "a header must be the first line".to_owned(),
                false => {
                    let unknown = serde_json::from_slice(ours).ok().and_then(|fields| unknown_field(&fields));
                    unknown.unwrap_or_else(|| json_error(&e))
                }
            })
        })?;
        told.parsed(&line).map_err(NoEvent)
    }
}

impl<R: BufRead> Lines for Text<R> {
    type Error = ReadError;

    fn tell(&mut self, told: &mut Telling) -> Result<bool, ReadError> {
        if !self.read_line()? {
            return Ok(false);
        }
        self.parse(told).map_err(|wrong| self.fail(wrong.0))?;
        Ok(true)
    }
}

/// A parser's message without its position: every line is a separate document, so only the column would be right.
fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    format!("is not an event: {what} (column {})", error.column())
}

/// The advice about the first unknown field, if there is one.
fn unknown_field(fields: &Map<String, Value>) -> Option<String> {
    let field = fields.keys().find(|name| Fields::type_of(name).is_none())?;
    Some(format!(
        "there is no field {field:?} in a history; --map token={field} says that it is the token (or any other field), --ignore \
         {field} leaves it out"
    ))
}

/// Whether a line is a header.
fn is_header(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Tag<'a> {
        #[serde(borrow)]
        event: Cow<'a, str>,
    }
    serde_json::from_slice::<Tag>(text).is_ok_and(|tag| tag.event == "header")
}
