//! Somebody's own log, made into the lines that a judge reads: JSON, tables or key=value pairs, fields and words of other
//! names, times in words or other units, one file or several.

mod advice;
mod apart;
mod called;
mod claim;
mod columns;
mod guess;
mod key;
mod lengths;
mod logfmt;
mod looks;
mod meaning;
mod merged;
mod needs;
mod notes;
mod opaque;
mod options;
mod question;
mod rows;
mod seen;
mod source;
mod spans;
mod spare;
mod surveyed;
mod text;
mod times;
mod translate;
mod unended;
mod values;

use claim::Ordering;
use merged::{At, Merged, Order};
use protocols::history::json::Fields;
use source::Source;
use std::{
    cell::RefCell,
    io::{BufRead, Cursor, Read},
    path::PathBuf,
    rc::Rc,
};
use surveyed::Surveyed;
use translate::Translation;

pub use needs::unchecked;
pub use notes::Notes;
pub use options::HistoryArgs;

/// What a judge reads.
pub struct Input {
    /// JSON lines.
    pub lines: Box<dyn BufRead>,
    /// What their fields are called.
    pub fields: Fields,
    /// Where they come from.
    pub places: Places,
    /// What was noticed in them; to be read when all are.
    pub notes: Notes,
}

/// Where the lines of an input come from.
pub struct Places {
    files: Vec<PathBuf>,
    /// Where the line that was read last came from, where lines were translated.
    at: Option<Rc<RefCell<At>>>,
}

impl Places {
    /// The files, in one phrase.
    pub fn files(&self) -> String {
        self.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// What the lines are taken apart by, as the line says it that was read last.
    fn by(&self) -> String {
        self.at.as_ref().and_then(|at| at.borrow().by.clone()).unwrap_or_default()
    }

    /// What to say of what is wrong with the line that was read last, the `line`th of all.
    pub fn wrong(&self, line: u64, what: &str) -> String {
        let Some(at) = &self.at else { return format!("{}: line {line}: {what}", self.files[0].display()) };
        let at = at.borrow();
        if let Some(wrong) = &at.wrong {
            return wrong.clone();
        }
        // A column of what it was translated to is nobody's business.
        let what = what.split_once(" (column ").map_or(what, |(what, _)| what);
        let what = what.strip_prefix("is not an event: ").unwrap_or(what);
        format!("{}: line {}: {what}", self.files[at.file].display(), at.line)
    }
}

impl HistoryArgs {
    /// Opens `files`, of which there is one at least.
    ///
    /// # Errors
    /// One cannot be read or understood: one sentence.
    pub fn open(&self, files: &[PathBuf]) -> Result<Input, String> {
        self.open_by(files, None, 0)
    }

    /// The same, with lines taken apart by what this field says, and in that one of the orders that times allow.
    fn open_by(&self, files: &[PathBuf], by: Option<&str>, shuffle: u64) -> Result<Input, String> {
        let files = files.to_vec();
        let mut sources = files.iter().map(|file| Source::open(file)).collect::<Result<Vec<_>, _>>()?;
        if sources.len() == 1 && sources[0].is_history() && self.only_renames() {
            // As it stands.
            let lines = Box::new(sources.remove(0).whole());
            let places = Places { files, at: None };
            return Ok(Input { lines, fields: self.fields()?, places, notes: Notes::default() });
        }
        if let Some(place) = sources.iter().position(Source::is_history) {
            let name = files[place].display();
            return Err(format!(
                "{name} has a history header; check it by itself, with no options but --map and --ignore"
            ));
        }
        let translation = Translation { by: by.map(str::to_owned), ..self.translation()? };
        let (seen, at) = (translation.seen.clone(), Rc::new(RefCell::new(At::default())));
        translation.named_time().clone_into(&mut seen.borrow_mut().time);
        let mut surveyed: Vec<Surveyed> = Vec::new();
        for (source, file) in sources.into_iter().zip(&files) {
            let name = file.display().to_string();
            let rows = source.rows(self.format, self.delimiter).map_err(|what| format!("{name}: {what}"))?;
            surveyed.push(Surveyed::new(rows, &name, file, &translation));
        }
        // `{file}` is to tell files apart.
        let stems: Vec<String> = surveyed.iter().map(|file| file.stem.clone()).collect();
        for file in &mut surveyed {
            if stems.iter().filter(|stem| **stem == file.stem).count() > 1 {
                file.stem.clone_from(&file.name);
            }
        }
        // A table may be a whole history, with its header.
        let header = surveyed.first_mut().filter(|_| files.len() == 1).and_then(Surveyed::take_header);
        let unit = match header {
            Some(_) => Some(times::Unit::Us),
            None => guess::survey(&mut surveyed, &translation, self)?,
        };
        let translation = Rc::new(translation.counting(unit).without_header(header.is_none()));
        let by_time = self.order.as_deref() == Some(translation.named_time());
        let digit_ns = surveyed.iter().map(|file| file.digit_ns(&translation)).collect();
        let opened = surveyed.into_iter().map(|file| {
            let (name, lines) = (file.name.clone(), file.told(translation.clone()));
            let lines = if by_time { merged::by_time(&name, lines)? } else { lines };
            Ok((name, lines))
        });
        let opened = opened.collect::<Result<_, String>>()?;
        let skew_ns = self.skew.unwrap_or(0).saturating_mul(1_000);
        let ordering = Ordering { skew_ns, digit_ns, shuffle, ..Ordering::default() };
        let lines =
            Merged::new(opened, self.order_of_lines(translation.named_time()), seen.clone(), at.clone(), ordering)?;
        let names = files.iter().map(|file| file.display().to_string()).collect();
        let notes = Notes::of(seen, &translation, names, unit.filter(|_| self.time_unit.is_none()), skew_ns);
        let notes = notes.of_times_in(self.time_unit).read_again(self, &files);
        let lines: Box<dyn BufRead> = match header {
            Some(header) => Box::new(Cursor::new(header).chain(lines.unshipped())),
            None => Box::new(lines),
        };
        Ok(Input { lines, fields: Fields::default(), places: Places { files, at: Some(at) }, notes })
    }

    /// The time's field puts lines into the order of their times, too, whatever order they stand in.
    fn order_of_lines(&self, time: &str) -> Order {
        match self.order.as_deref() {
            None | Some("time") => Order::Time,
            Some(field) if field == time => Order::Time,
            Some("line") => Order::Line,
            Some(_) => Order::Number,
        }
    }
}

#[cfg(test)]
mod tests;
