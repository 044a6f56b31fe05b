//! A file, the first lines of which are looked at before any is judged, so that all that is wrong is told at once.

use super::{error::LogError, merged, rows, translate::Translation};
use serde_json::{Map, Value};
use std::{collections::VecDeque, path::Path, rc::Rc};

/// So many lines of each file are looked at.
pub const LINES: usize = 500;
/// And so many more, where something is not understood.
const LATER_MOST: usize = 2_000_000;

/// A file whose first lines were looked at.
pub struct Surveyed {
    /// What it is called.
    pub name: String,
    /// The name of the file without its extension.
    pub stem: String,
    /// They are still to be judged.
    pub first: VecDeque<Result<rows::Row, (u64, String)>>,
    rest: rows::Rows,
}

impl Surveyed {
    /// Looks at the first lines of a file.
    pub fn new(mut rows: rows::Rows, name: &str, file: &Path, translation: &Translation) -> Surveyed {
        let stem = match file == Path::new("-") {
            true => "stdin".into(),
            false => file.file_stem().unwrap_or_default().to_string_lossy(),
        };
        let mut first = VecDeque::new();
        while first.len() < LINES {
            match rows.next() {
                // What is about something else is nothing to learn from.
                Some(Ok((_, fields))) if !translation.is_about_writes(&fields) => translation.passed_over(),
                Some(Err(_)) if translation.passes_over_text() => translation.passed_over(),
                Some(row) => first.push_back(row),
                None => break,
            }
        }
        Surveyed { name: name.to_owned(), stem: stem.into_owned(), first, rest: rows }
    }

    /// What its lines say that were not looked at yet. They are not judged then.
    pub fn later<'a>(&'a mut self, translation: &'a Translation) -> impl Iterator<Item = Map<String, Value>> + 'a {
        let fields = self.rest.by_ref().filter_map(|row| Some(row.ok()?.1));
        fields.filter(|fields| translation.is_about_writes(fields)).take(LATER_MOST)
    }

    /// What a unit of the last digit of its times is, nanoseconds: the least of those that were looked at.
    pub fn digit_ns(&self, translation: &Translation) -> u64 {
        let rows = self.first.iter().filter_map(|row| row.as_ref().ok());
        let times = rows.filter_map(|(_, fields)| {
            let (_, time) = fields.iter().find(|(name, _)| translation.fields.ours(name) == Some("t_us"))?;
            translation.times.digit_ns(time)
        });
        times.min().unwrap_or(1)
    }

    /// The header of a whole history, if it begins with one.
    pub fn take_header(&mut self) -> Option<rows::Row> {
        let Some(Ok((line, fields))) = self.first.front() else { return None };
        let header = (*line, rows::header(fields)?);
        self.first.pop_front();
        Some(header)
    }

    /// All of its lines in our words.
    pub fn told(self, translation: Rc<Translation>) -> merged::File {
        let Surveyed { name, stem, first, rest } = self;
        Box::new(first.into_iter().chain(rest).filter_map(move |row| {
            let wrong = |(line, what): (u64, String)| LogError::at(&name, line, what);
            match row {
                Err(_) if translation.passes_over_text() => {
                    translation.passed_over();
                    None
                }
                Err(error) => Some(Err(wrong(error))),
                Ok(row) => {
                    let line = row.0;
                    translation.told(row, &stem).map_err(|what| wrong((line, what))).transpose()
                }
            }
        }))
    }
}
