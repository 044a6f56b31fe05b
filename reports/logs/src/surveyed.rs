//! A file whose first lines are surveyed before any is judged, so that all problems are reported at once; and what a
//! log without a header needs for each invariant to be checked.

use super::{error::LogError, merged, rows, text, translate::Translation};
use reports::Judgement;
use serde_json::{Map, Value};
use std::{collections::VecDeque, path::Path, rc::Rc};

/// How many lines of each file are surveyed.
pub const LINES: usize = 500;
/// How many more lines are surveyed if something is not understood.
const LATER_MOST: usize = 2_000_000;

/// A file's name without what rotation and compression add: `n1.log` for `n1.log.2.gz`, `n1.log-20260501` and itself.
pub fn unrotated(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut rest = &*name;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    while let Some((shorter, end)) = rest.rsplit_once(['.', '-']) {
        let added =
            matches!(end, "gz" | "zst") || digits(end) && (rest.ends_with(&format!(".{end}")) || end.len() == 8);
        if !added || shorter.is_empty() {
            break;
        }
        rest = shorter;
    }
    // `n1.2026-05-01.log` is n1's of that day.
    let dated = |part: &str| {
        part.len() == 10
            && part
                .bytes()
                .enumerate()
                .all(|(at, byte)| if [4, 7].contains(&at) { byte == b'-' } else { byte.is_ascii_digit() })
    };
    match rest.rsplit_once('.').map(|(stem, end)| (stem.split_at_checked(stem.len().saturating_sub(10)), end)) {
        Some((Some((stem, date)), end)) if dated(date) && stem.len() > 1 && stem.ends_with(['.', '-', '_']) => {
            format!("{}.{end}", &stem[..stem.len() - 1])
        }
        _ => rest.to_owned(),
    }
}

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
            true => "stdin".to_owned(),
            false => Path::new(&unrotated(file)).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        };
        let mut first = VecDeque::new();
        while first.len() < LINES {
            match rows.next() {
                // Lines about something else are not surveyed.
                Some(Ok((_, fields))) if !translation.is_about_writes(&fields) => translation.passed_over(),
                Some(Err((_, what))) if translation.passes_over_text() && text::is_text(&what) => {
                    translation.passed_over()
                }
                Some(row) => first.push_back(row),
                None => break,
            }
        }
        Surveyed { name: name.to_owned(), stem, first, rest: rows }
    }

    /// The rows after the surveyed ones. They are consumed, so the file is not judged then.
    pub fn later<'a>(&'a mut self, translation: &'a Translation) -> impl Iterator<Item = Map<String, Value>> + 'a {
        let fields = self.rest.by_ref().filter_map(|row| Some(row.ok()?.1));
        fields.filter(|fields| translation.is_about_writes(fields)).take(LATER_MOST)
    }

    /// A field of each of the next records, if there are any among lines that are none. They are consumed.
    pub fn field_of_records(&mut self) -> Option<String> {
        let rows = self.first.drain(..).chain(self.rest.by_ref()).filter_map(Result::ok);
        let rows: Vec<Map<String, Value>> = rows.map(|(_, fields)| fields).take(LINES).collect();
        let all = |name: &str| rows.iter().all(|fields| fields.contains_key(name));
        let first = rows.first()?;
        let usual = ["verdict", "token", "t_us"].into_iter().find(|name| all(name)).map(str::to_owned);
        usual.or_else(|| first.keys().find(|name| all(name)).cloned())
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
                Err((_, what)) if translation.passes_over_text() && text::is_text(&what) => {
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

// What a log without a header needs for each invariant to be checked.

/// The lines that each invariant looks at.
const NEEDS: [(&str, &str); 20] = [
    ("leaders_acting_by_effect", "`apply` lines with `node` and `token` of two leaders"),
    ("tokens_monotone", "`apply` lines with a `token`"),
    ("seq_strictly_increasing", "two `apply` lines, or `reply` lines with `seq`"),
    ("no_stale_write", "`apply` lines with a `token`, of two leaders"),
    ("no_stale_deletion", "`apply` lines with `operation`, and a `deleted` line after each deletion"),
    ("no_stale_cache_entry", "`apply` lines with the operation `refresh`, of two leaders"),
    ("no_stale_read", "`read-invoke` and `read-reply` lines with `request`, `node`, `outcome` and `seq`"),
    ("read_version", "`apply` lines with `read` and `version`: what a write was built on, and what it made"),
    ("one_number", "two accepted `apply` lines of a resource with a `request`, or `reply` lines"),
    ("records", "`apply` lines with a `payload`"),
    ("nothing_skipped", "`apply` lines with the operation `perform` or `effect`, of two leaders"),
    ("done_once", "`apply` lines with the operation `effect`, two of one item"),
    ("copies_agree", "a header that says that every node has a copy of the data"),
    ("elections", "`elected` lines with `node` and `token`, or `grant` lines that end"),
    ("phantom_leader", "`grant` and `grant-end` lines of the service, or `vote` lines, beside `elected`"),
    ("dual_belief", "an `elected` line of one node, and a `deposed` line of the one before"),
    ("acts_on_belief", "`elected` and `deposed` lines, beside writes or `issue` lines, written when a leader sends"),
    ("stopped_is_silent", "`fault` or `node` lines that say when a process was stopped"),
    ("liveness", "a header with a bound, and all of the above"),
    ("placed", "a header that says how groups are placed"),
];

/// The invariants that could not be checked, and what is missing for each.
pub fn unchecked(judgement: &Judgement) -> Vec<(&'static str, &'static str)> {
    let blind =
        |name: &str| judgement.invariants.iter().any(|seen| seen.name == name && seen.holds && !seen.could_fail);
    NEEDS.into_iter().filter(|(name, _)| blind(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reports::invariant;

    #[test]
    fn every_invariant_says_what_it_needs() {
        let named: Vec<&str> = NEEDS.iter().map(|(name, _)| *name).collect();
        let all: Vec<&str> = invariant::ALL.iter().map(|entry| entry.name).filter(|name| *name != "vacuity").collect();
        assert_eq!(named, all);
    }
}
