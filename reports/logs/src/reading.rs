//! What the text of a log means: which lines say that a node was elected, that it was deposed, or that a write was taken.

use super::{
    LogError,
    options::Options,
    pattern::{Pattern, with_year, year},
    preset::Preset,
    rows::{self, Row, Rows},
    seen::Seen,
    text,
};
use serde_json::{Map, Value};
use std::{cell::RefCell, io::BufRead, rc::Rc};

/// The fields in which programs put their message.
const MESSAGES: [&str; 6] = ["message", "msg", "MESSAGE", "log", "line", "body"];
/// The fields in which loggers put the time.
const TIMES: [&str; 7] = ["t_us", "time", "ts", "timestamp", "@timestamp", "t", "datetime"];
/// Times without a year are of this one if no line of the file has a date.
const YEAR: u32 = 2000;

/// What a message says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Says {
    Elected,
    Deposed,
    Accepted,
    Refused,
}

impl Says {
    /// As the fields of a history.
    fn fields(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Says::Elected => &[("event", "elected")],
            Says::Deposed => &[("event", "deposed")],
            Says::Accepted => &[("event", "apply"), ("verdict", "ok")],
            Says::Refused => &[("event", "apply"), ("verdict", "fenced")],
        }
    }
}

/// A message that means something.
#[derive(Clone, Debug)]
struct Phrase {
    pattern: Pattern,
    says: Says,
    /// A preset knows all fields that matter.
    of: Option<&'static Preset>,
}

/// How the text of a log is read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// What a line of text looks like; the usual one if there are none.
    lines: Vec<Pattern>,
    phrases: Vec<Phrase>,
    /// The preset that was recognised, and not asked for.
    pub recognised: Option<&'static Preset>,
}

impl Options {
    /// How these options read text.
    ///
    /// # Errors
    /// A pattern is none.
    pub(super) fn reading(&self) -> Result<Reading, LogError> {
        let lines = self.pattern.iter().map(|text| Pattern::read(text, true)).collect::<Result<_, _>>()?;
        let mut reading = Reading { lines, ..Reading::default() };
        for (says, all) in [
            (Says::Elected, &self.elected),
            (Says::Deposed, &self.deposed),
            (Says::Accepted, &self.accepted),
            (Says::Refused, &self.refused),
        ] {
            for text in all {
                let pattern = Pattern::read(text, false)?;
                reading.phrases.push(Phrase { pattern, says, of: None });
            }
        }
        for preset in &self.preset {
            reading.knows(preset)?;
        }
        Ok(reading)
    }
}

impl Reading {
    /// Adds what a preset says.
    pub fn knows(&mut self, preset: &'static Preset) -> Result<(), LogError> {
        for (says, text) in preset.phrases {
            let pattern = Pattern::read(text, false)?;
            self.phrases.push(Phrase { pattern, says: *says, of: Some(preset) });
        }
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.phrases.is_empty()
    }

    /// Whether it tells lines apart by what they say, and passes over the others.
    pub fn has_phrases(&self) -> bool {
        !self.phrases.is_empty()
    }

    /// Whether a message that means something names its node.
    pub fn names_nodes(&self) -> bool {
        self.phrases.iter().any(|phrase| phrase.pattern.names.iter().any(|name| name == "node"))
    }

    /// Whether this line is one that means something.
    pub fn is_said(&self, line: &str) -> bool {
        self.phrases.iter().any(|phrase| phrase.pattern.may_fit(line) && phrase.pattern.fields(line).is_some())
    }

    /// The lines of a text, as rows. Lines that fit no pattern, or say nothing, are passed over.
    pub fn of_text(self: Rc<Self>, input: impl BufRead + 'static, seen: Rc<RefCell<Seen>>) -> Rows {
        let (usual, mut in_year) = (Pattern::usual(), None);
        Box::new(rows::lines(input).filter_map(move |line| {
            let (number, bytes) = match line {
                Ok(line) => line,
                Err(wrong) => return Some(Err(wrong)),
            };
            let line = String::from_utf8_lossy(&bytes);
            let line = line.trim_end();
            if in_year.is_none() {
                in_year = year(line);
            }
            let row = self.row(line, &usual, in_year.unwrap_or(YEAR));
            if row.is_none() && !line.is_empty() {
                seen.borrow_mut().others += 1;
            }
            row.map(|fields| Ok((number, fields)))
        }))
    }

    /// The rows that say something.
    pub fn of_rows(self: Rc<Self>, rows: Rows, seen: Rc<RefCell<Seen>>) -> Rows {
        Box::new(rows.filter_map(move |row| {
            let (number, fields) = match row {
                Ok(row) => row,
                Err(wrong) => return Some(Err(wrong)),
            };
            let said: Option<Row> = self.said(fields).map(|fields| (number, fields));
            if said.is_none() {
                seen.borrow_mut().others += 1;
            }
            said.map(Ok)
        }))
    }

    fn row(&self, line: &str, usual: &Pattern, year: u32) -> Option<Map<String, Value>> {
        if self.has_phrases() && !self.phrases.iter().any(|phrase| phrase.pattern.may_fit(line)) {
            return None;
        }
        let whole = self.phrases.iter().filter(|phrase| phrase.pattern.names.iter().any(|name| name == "time"));
        for phrase in whole {
            if let Some(found) = phrase.pattern.fields(line) {
                let mut fields = named(found, year);
                fields
                    .extend(phrase.says.fields().iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))));
                return Some(fields);
            }
        }
        let fields = self.fields_of(line, usual, year)?;
        if self.has_phrases() { self.said(fields) } else { Some(fields) }
    }

    /// The fields of a line, whatever its form.
    fn fields_of(&self, line: &str, usual: &Pattern, year: u32) -> Option<Map<String, Value>> {
        let within = text::bare(line);
        if !self.lines.is_empty() {
            return self.lines.iter().find_map(|pattern| pattern.fields(line)).map(|found| named(found, year));
        }
        if let Ok(fields) = rows::object(within.as_bytes()) {
            return Some(timed(rows::flat(fields)));
        }
        if text::looks_like(within) {
            return text::fields(within).map(timed);
        }
        let found = usual.fields(within).or_else(|| usual.fields(line))?;
        Some(named(found, year))
    }

    /// What a row's message says, beside its other fields; `None` if that is nothing.
    fn said(&self, mut fields: Map<String, Value>) -> Option<Map<String, Value>> {
        let (name, message) = MESSAGES.iter().find_map(|name| Some((*name, fields.get(*name)?.as_str()?)))?;
        let (phrase, found) = self.phrases.iter().find_map(|phrase| {
            let found = phrase.pattern.may_fit(message).then(|| phrase.pattern.fields(message))?;
            Some((phrase, found?))
        })?;
        let found: Vec<(String, Value)> =
            found.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
        match phrase.of {
            None => drop(fields.remove(name)),
            Some(preset) => {
                let kept = |name: String| match preset.fields.iter().find(|(theirs, _)| *theirs == name) {
                    Some((_, ours)) => Some((*ours).to_owned()),
                    None => TIMES.contains(&name.as_str()).then_some(name),
                };
                fields = fields.into_iter().filter_map(|(name, value)| Some((kept(name)?, value))).collect();
            }
        }
        fields.extend(found);
        fields.extend(phrase.says.fields().iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))));
        Some(fields)
    }
}

fn named(found: Vec<(&str, &str)>, year: u32) -> Map<String, Value> {
    let field = |(name, value): (&str, &str)| match name {
        "time" => ("t_us".to_owned(), Value::from(with_year(value, year))),
        name => (name.to_owned(), Value::from(value)),
    };
    found.into_iter().map(field).collect()
}

/// The same with the time under our name, beside lines of text whose time is.
fn timed(mut fields: Map<String, Value>) -> Map<String, Value> {
    if let Some(time) = TIMES.iter().find_map(|name| fields.remove(*name)) {
        fields.insert("t_us".to_owned(), time);
    }
    fields
}

#[cfg(test)]
mod tests;
