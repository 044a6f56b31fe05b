//! A file whose first lines are surveyed before any is judged, so that all problems are reported at once.

use super::{error::LogError, merged, rows, translate::Translation};
use serde_json::{Map, Value};
use std::{collections::VecDeque, path::Path, rc::Rc};

/// How many lines of each file are surveyed.
pub const LINES: usize = 500;
/// How many more lines are surveyed if something is not understood.
const LATER_MOST: usize = 2_000_000;

/// A file whose first lines were surveyed.
pub struct Surveyed {
    pub name: String,
    /// The file's name without its extension.
    pub stem: String,
    /// The surveyed lines, still to be judged.
    pub first: VecDeque<Result<rows::Row, (u64, String)>>,
    rest: rows::Rows,
}

impl Surveyed {
    /// Surveys the first lines of a file.
    pub fn new(mut rows: rows::Rows, name: &str, file: &Path, translation: &Translation) -> Surveyed {
        let stem = match file == Path::new("-") {
            true => "stdin".into(),
            false => file.file_stem().unwrap_or_default().to_string_lossy(),
        };
        let mut first = VecDeque::new();
        while first.len() < LINES {
            match rows.next() {
                // Lines about something else are not surveyed.
                Some(Ok((_, fields))) if !translation.is_about_writes(&fields) => translation.passed_over(),
                Some(Err(_)) if translation.passes_over_text() => translation.passed_over(),
                Some(row) => first.push_back(row),
                None => break,
            }
        }
        Surveyed { name: name.to_owned(), stem: stem.into_owned(), first, rest: rows }
    }

    /// The rows after the surveyed ones. They are consumed, so the file is not judged then.
    pub fn later<'a>(&'a mut self, translation: &'a Translation) -> impl Iterator<Item = Map<String, Value>> + 'a {
        let fields = self.rest.by_ref().filter_map(|row| Some(row.ok()?.1));
        fields.filter(|fields| translation.is_about_writes(fields)).take(LATER_MOST)
    }

    /// The resolution of its times, nanoseconds: the finest one surveyed.
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

    /// Translates all of its lines.
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
