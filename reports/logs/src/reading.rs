//! What the text of a log means: which lines say that a node was elected, that it was deposed, or that a write was taken.
//!
//! A line that says so is never passed over: if it cannot be read, the log is refused.

use super::{
    LogError,
    pattern::{Heads, Pattern, is_without_year, month_of, with_year},
    preset::{self, Message, Preset, Says},
    rows::{self, Rows},
    seen::Seen,
    text, wrapped,
};
use serde_json::{Map, Value};
use std::{cell::RefCell, io::BufRead, rc::Rc};

type Fields = Map<String, Value>;

/// The fields in which programs put their message.
const MESSAGES: [&str; 13] = [
    "message",
    "msg",
    "MESSAGE",
    "@message",
    "log",
    "line",
    "body",
    "@m",
    "@mt",
    "textPayload",
    "jsonPayload.message",
    "jsonPayload.msg",
    "event",
];
/// The fields in which loggers put the time.
const TIMES: [&str; 8] = ["t_us", "time", "ts", "timestamp", "@timestamp", "@t", "t", "datetime"];
/// The year of times that name none, if none of the log does.
const YEAR: u32 = 2000;

/// A message that means something.
#[derive(Clone, Debug)]
struct Phrase {
    pattern: Pattern,
    says: Says,
    /// As the user has written it; empty for a preset's.
    text: String,
}

impl Phrase {
    /// As it is asked for; `None` if a preset has it.
    fn asked(&self) -> Option<String> {
        (!self.text.is_empty()).then(|| format!("{} '{}'", self.says.option(), self.text))
    }

    /// Notes that a line says it.
    fn noted(&self, seen: &RefCell<Seen>) {
        seen.borrow_mut().said.extend(self.asked());
    }
}

/// How the text of a log is read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// What a line of text looks like; the usual one if there are none.
    lines: Vec<Pattern>,
    phrases: Vec<Phrase>,
    /// Fields beside the message that say what an election is for.
    of: Vec<&'static str>,
    /// The year of times that name none, if the user has said it.
    year: Option<u32>,
    /// Whether who speaks, by the head of a line, is the node.
    places: bool,
    /// The preset that was recognised, and not asked for.
    pub recognised: Option<&'static Preset>,
    /// Whether nodes that do not lead say that they have stopped, too.
    pub says_idle: bool,
}

/// Is it a field that has a program's message?
pub fn is_message(name: &str) -> bool {
    MESSAGES.contains(&name)
}

/// Finds the presets of which lines have messages.
pub struct Recogniser(Vec<(&'static Preset, Reading, bool)>);

impl Recogniser {
    pub fn new() -> Recogniser {
        let readings = preset::ALL.iter().filter_map(|preset| {
            let mut reading = Reading::default();
            reading.knows(preset).ok().map(|()| (preset, reading, false))
        });
        Recogniser(readings.collect())
    }

    pub fn sees(&mut self, line: &str) {
        for (_, reading, found) in &mut self.0 {
            *found = *found || reading.is_said(line);
        }
    }

    /// The presets found, without those within another.
    pub fn found(&self) -> Vec<&'static Preset> {
        let all: Vec<&'static Preset> =
            self.0.iter().filter(|(.., found)| *found).map(|(preset, ..)| *preset).collect();
        let is_within = |preset: &Preset| all.iter().any(|other| preset.within.contains(&other.name));
        all.iter().copied().filter(|preset| !is_within(preset)).collect()
    }
}

impl Reading {
    /// Reads lines of text by these patterns.
    pub fn of_lines(lines: Vec<Pattern>, year: Option<u32>, places: bool) -> Reading {
        Reading { lines, year, places, ..Reading::default() }
    }

    /// Adds a pattern for a message, as the user has written it.
    ///
    /// # Errors
    /// It is no pattern, or names what the option says.
    pub fn hears(&mut self, says: Says, text: &str) -> Result<(), LogError> {
        let pattern = Pattern::read(text, false)?;
        if let Some((said, _)) = says.fields().iter().find(|(name, _)| pattern.has(name)) {
            return Err(format!("{} {text}: what {{{said}}} is, the option says", says.option()).into());
        }
        self.phrases.push(Phrase { pattern, says, text: text.to_owned() });
        Ok(())
    }

    /// Adds what a preset says.
    pub fn knows(&mut self, preset: &'static Preset) -> Result<(), LogError> {
        for (says, text) in preset.phrases {
            let pattern = Pattern::read(text, false)?;
            self.phrases.push(Phrase { pattern, says: *says, text: String::new() });
        }
        self.of.extend(preset.of);
        self.says_idle |= preset.says_idle;
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.phrases.is_empty()
    }

    /// Whether lines are described as a whole.
    pub fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Whether it tells lines apart by what they say, and passes over the others.
    pub fn has_phrases(&self) -> bool {
        !self.phrases.is_empty()
    }

    /// Whether a message that means something names its node.
    pub fn names_nodes(&self) -> bool {
        self.phrases.iter().any(|phrase| phrase.pattern.has("node"))
    }

    /// The user's own phrases, with their options.
    pub fn asked(&self) -> Vec<String> {
        self.phrases.iter().filter_map(Phrase::asked).collect()
    }

    fn is_said(&self, line: &str) -> bool {
        self.phrases.iter().any(|phrase| phrase.pattern.fields(line).is_some())
    }

    /// The lines of a text, as rows. Lines that fit no pattern, or say nothing, are passed over.
    pub fn of_text(self: Rc<Self>, input: impl BufRead + 'static, seen: Rc<RefCell<Seen>>) -> Rows {
        let (heads, mut last, mut end) = (Heads::new(), String::new(), 0);
        // Of each stream of a container's.
        let mut parts: [String; 3] = Default::default();
        Box::new(rows::lines(input).map(Some).chain([None]).filter_map(move |line| {
            let (number, bytes) = match line {
                Some(Ok(line)) => line,
                Some(Err(wrong)) => return Some(Err(wrong)),
                None => {
                    let cut = parts.iter().any(|part| self.is_said(part));
                    return cut.then(|| Err((end, "says what is asked for, and its end is missing".to_owned())));
                }
            };
            end = number;
            let raw = text::without_signs(&String::from_utf8_lossy(&bytes));
            let text::Container { time, stream, whole, line } = text::container(&raw);
            parts[stream].push_str(line);
            if !whole {
                return None;
            }
            let line = std::mem::take(&mut parts[stream]);
            let row = self.row(line.trim_end(), time, &heads, &seen);
            let said = row.as_ref().is_ok_and(Option::is_some);
            if said && std::str::from_utf8(&bytes).is_err() {
                let what = "is not UTF-8; convert the file first, as with `iconv -f LATIN1 -t UTF-8`";
                return Some(Err((number, what.to_owned())));
            }
            // A copy that was shipped twice stands beside the other.
            let copy = said && !raw.is_empty() && raw == last;
            match row {
                Err(what) => return Some(Err((number, what))),
                Ok(Some(_)) if copy => seen.borrow_mut().twice += 1,
                Ok(Some(fields)) => {
                    last = raw;
                    return Some(Ok((number, fields)));
                }
                Ok(None) if line.trim().is_empty() => {}
                Ok(None) => seen.borrow_mut().others += 1,
            }
            None
        }))
    }

    /// The rows that say something. Their messages are in a field.
    pub fn of_rows(self: Rc<Self>, rows: Rows, seen: Rc<RefCell<Seen>>) -> Rows {
        Box::new(rows.filter_map(move |row| {
            let (number, fields) = match row {
                Ok(row) => row,
                Err(wrong) => return Some(Err(wrong)),
            };
            if !MESSAGES.iter().any(|name| fields.get(*name).is_some_and(Value::is_string)) {
                let what = format!(
                    "has no message, in a field {}, although messages are asked for; judge this file without them, or pass --format \
                     text if it is text",
                    MESSAGES.join(", ")
                );
                return Some(Err((number, what)));
            }
            match self.said(Some(fields), None, &seen) {
                Ok(Some(fields)) => match seen.borrow_mut().dates(false, None, self.year) {
                    Ok(()) => Some(Ok((number, fields))),
                    Err(what) => Some(Err((number, what))),
                },
                Ok(None) => {
                    seen.borrow_mut().others += 1;
                    None
                }
                Err(what) => Some(Err((number, what))),
            }
        }))
    }

    /// What a line says, whatever its form, with or without a time.
    pub fn message_of(&self, line: &str, heads: &Heads) -> Option<Message> {
        if !self.phrases.iter().any(|phrase| phrase.pattern.may_fit(line)) && !line.starts_with('{') {
            return None;
        }
        let fields = self.fields_of(line, None, heads);
        let message = fields.as_ref().and_then(|fields| MESSAGES.iter().find_map(|name| fields.get(*name)?.as_str()));
        let text = message.unwrap_or(line);
        let fits = self.phrases.iter().filter_map(|phrase| Some((phrase, phrase.pattern.fields(text)?)));
        let (phrase, found) = fits.max_by_key(|(phrase, _)| phrase.pattern.weight)?;
        let fields = found.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Some(Message { says: phrase.says, fields })
    }

    fn row(
        &self,
        line: &str,
        outer: Option<&str>,
        heads: &Heads,
        seen: &RefCell<Seen>,
    ) -> Result<Option<Fields>, String> {
        let structured = line.starts_with('{') || text::looks_like(line);
        if let Some(preset) = self.recognised.filter(|_| structured) {
            return Err(format!(
                "names its fields, so it may be a write, beside messages of {0}; pass --preset {0} if only these are to be judged",
                preset.name
            ));
        }
        if let Some(preset) = self.recognised
            && let Some(token) = text::token(line)
        {
            return Err(format!(
                "has `{token}`, so it may be a write, beside messages of {0}; name what such lines say by --accepted and --refused, \
                 with --preset {0}; or pass --preset {0} alone if only these are to be judged",
                preset.name
            ));
        }
        let may = !self.has_phrases() || structured || self.phrases.iter().any(|phrase| phrase.pattern.may_fit(line));
        if !may {
            return Ok(None);
        }
        let fields = self.fields_of(line, outer, heads);
        let row = if self.has_phrases() { self.said(fields, Some(line), seen)? } else { fields };
        match row {
            Some(fields) => self.dated(fields, seen).map(Some),
            None if self.is_said(line) => Err(text::undated(line).unwrap_or_else(|| {
                "says what is asked for, but not after a time that is read; describe such lines by --pattern, with {time} and \
                     {message}"
                    .to_owned()
            })),
            None => Ok(None),
        }
    }

    /// The fields of a line, whatever its form.
    fn fields_of(&self, line: &str, outer: Option<&str>, heads: &Heads) -> Option<Fields> {
        let text = |name: &str, value: &str| (name.to_owned(), Value::from(value));
        if !self.lines.is_empty() {
            let found = self.lines.iter().find_map(|pattern| pattern.fields(line))?;
            return Some(found.into_iter().map(|(name, value)| text(name, value)).collect());
        }
        let mut fields = if line.starts_with('{') {
            rows::object(line.as_bytes()).ok().map(wrapped::flat).map(timed)?
        } else if text::looks_like(line) {
            text::fields(line).map(timed)?
        } else {
            let head = heads.of(line);
            let time = outer.or(head.map(|head| head.time))?;
            let message = head.map_or(line, |head| head.message);
            let place = head.and_then(|head| head.place).filter(|_| self.places && !self.names_nodes());
            let place = place.map(|place| text("node", place));
            [text("time", time), text("message", message)].into_iter().chain(place).collect()
        };
        if let Some(outer) = outer.filter(|_| !fields.contains_key("time")) {
            fields.insert("time".to_owned(), Value::from(outer));
        }
        Some(fields)
    }

    /// What a row's message says, beside its other fields, or what its whole line says; `None` if that is nothing.
    fn said(&self, fields: Option<Fields>, line: Option<&str>, seen: &RefCell<Seen>) -> Result<Option<Fields>, String> {
        let mut fields = fields.unwrap_or_default();
        let name = MESSAGES.into_iter().find(|name| fields.get(*name).is_some_and(Value::is_string));
        let message = name.and_then(|name| fields[name].as_str());
        let fits = self.phrases.iter().filter_map(|phrase| {
            let text = if phrase.pattern.has("time") { line } else { message };
            Some((phrase, phrase.pattern.fields(text?)?))
        });
        let mut fits: Vec<_> = fits.collect();
        // The one that says most.
        fits.sort_by_key(|(phrase, _)| std::cmp::Reverse(phrase.pattern.weight));
        let Some((phrase, found)) = fits.first() else { return Ok(None) };
        let as_much = fits.iter().take_while(|(other, _)| other.pattern.weight == phrase.pattern.weight);
        if let Some((other, _)) = as_much.into_iter().find(|(other, _)| other.says != phrase.says) {
            return Err(format!("fits {} and {}", phrase.says.option(), other.says.option()));
        }
        phrase.noted(seen);
        let (says, is_whole) = (phrase.says, phrase.pattern.has("time"));
        let found: Vec<(String, Value)> =
            found.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        if is_whole {
            fields.clear();
        }
        fields.remove(name.unwrap_or_default());
        for of in &self.of {
            if let Some(value) = fields.remove(*of) {
                fields.entry("resource").or_insert(value);
            }
        }
        fields.extend(found);
        Ok(Some(told(says, fields)))
    }

    /// The same with its time as one that is read, with a year.
    fn dated(&self, mut fields: Fields, seen: &RefCell<Seen>) -> Result<Fields, String> {
        let Some(time) = fields.remove("time") else { return Ok(fields) };
        let time = match time.as_str() {
            Some(text) => {
                seen.borrow_mut().dates(is_without_year(text), month_of(text), self.year)?;
                Value::from(with_year(text, self.year.unwrap_or(YEAR)))
            }
            None => time,
        };
        fields.insert("t_us".to_owned(), time);
        Ok(fields)
    }
}

fn told(says: Says, mut fields: Fields) -> Fields {
    fields.extend(says.fields().iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))));
    fields
}

/// The same with the time under the name that lines of text have for it.
fn timed(mut fields: Fields) -> Fields {
    if let Some(time) = TIMES.iter().find_map(|name| fields.remove(*name)) {
        fields.insert("time".to_owned(), time);
    }
    fields
}

#[cfg(test)]
mod tests;
