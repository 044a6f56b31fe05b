//! Somebody's own log, made into the lines that a judge reads: JSON lines or CSV, fields and words of other names, times in
//! words or other units, one file or several.

mod needs;
mod rows;
mod times;

use clap::{Args as ClapArgs, ValueEnum};
use protocols::history::json::Fields;
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader, Cursor},
    path::{Path, PathBuf},
};
use times::Unit;

pub use needs::unchecked;

/// What somebody's log calls things.
#[derive(ClapArgs, Clone, Debug, Default)]
pub struct HistoryArgs {
    /// A field of another name: `--map token=fence_token`; several with commas, or again
    #[arg(long, value_name = "OURS=THEIRS", value_delimiter = ',')]
    map: Vec<String>,
    /// Fields that do not matter; all others that are not known are refused
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    ignore: Vec<String>,
    /// A value for lines that have none: `--set event=apply,resource=orders`; `{file}` stands for the file's name without its
    /// extension: `--set node={file}`
    #[arg(long, value_name = "FIELD=VALUE", value_delimiter = ',')]
    set: Vec<String>,
    /// What a value of theirs means: `--word verdict:REJECTED=fenced`
    #[arg(long, value_name = "FIELD:THEIRS=OURS", value_delimiter = ',')]
    word: Vec<String>,
    /// The unit of times that are numbers, microseconds by default; 2026-11-21T10:00:00.250Z and the like need none
    #[arg(long, value_name = "UNIT", value_enum)]
    time_unit: Option<Unit>,
    /// The format of the files; by default it is guessed from how each begins
    #[arg(long, value_enum)]
    format: Option<Format>,
}

/// What a file's lines are.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    /// An object a line.
    Json,
    /// Values between commas, below a line with their names.
    Csv,
}

/// What a judge reads.
pub struct Input {
    /// JSON lines.
    pub lines: Box<dyn BufRead>,
    /// What their fields are called.
    pub fields: Fields,
    /// Where they come from.
    pub places: Places,
}

/// Where the lines of an input come from.
pub struct Places {
    /// Number of the file, and line; empty where it is the same.
    lines: Vec<(u32, u64)>,
    files: Vec<PathBuf>,
}

impl Places {
    /// The files, in one phrase.
    pub fn files(&self) -> String {
        self.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// What to say of what is wrong with a line, counted from 1.
    pub fn wrong(&self, line: u64, what: &str) -> String {
        let at = usize::try_from(line).unwrap_or(usize::MAX).checked_sub(1).and_then(|at| self.lines.get(at));
        let (file, line) = at.map_or((0, line), |(file, line)| (*file as usize, *line));
        format!("{}: line {line}: {what}", self.files[file].display())
    }
}

impl HistoryArgs {
    /// Opens `files`, of which there is one at least.
    ///
    /// # Errors
    /// One cannot be read or understood: one sentence.
    pub fn open(&self, files: &[PathBuf]) -> Result<Input, String> {
        let files = files.to_vec();
        let translation = Translation { alone: files.len() == 1, ..self.translation()? };
        if let [file] = &files[..]
            && self.set.is_empty()
            && self.word.is_empty()
            && self.time_unit.is_none()
        {
            let (mut lines, name) = (open(file)?, file.display());
            let format = self.format.map_or_else(|| looks_like(&mut *lines), Ok);
            if format.map_err(|e| format!("cannot read {name}: {e}"))? == Format::Json && !self.maps_time() {
                // As it stands, and in memory that does not grow with it.
                return Ok(Input { lines, fields: self.fields()?, places: Places { lines: Vec::new(), files } });
            }
            let rows = self.rows(lines, file, &translation)?;
            return Ok(merged(vec![rows], files));
        }
        let all = files.iter().map(|file| self.rows(open(file)?, file, &translation)).collect::<Result<_, _>>()?;
        Ok(merged(all, files))
    }

    /// Is the time a field of another name? Then it may be in words.
    fn maps_time(&self) -> bool {
        self.map.iter().any(|pair| pair.starts_with("t_us="))
    }

    fn fields(&self) -> Result<Fields, String> {
        let mut fields = Fields::default();
        for pair in &self.map {
            let (ours, theirs) = pair
                .split_once('=')
                .ok_or_else(|| format!("--map {pair} does not say which field is which, such as token=fence_token"))?;
            fields.map(ours, theirs).map_err(|what| format!("--map {pair}: {what}"))?;
        }
        self.ignore.iter().for_each(|field| fields.ignore(field));
        Ok(fields)
    }

    fn translation(&self) -> Result<Translation, String> {
        let (fields, mut set, mut words) = (self.fields()?, Vec::new(), BTreeMap::new());
        for pair in &self.set {
            let (field, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("--set {pair} does not say what a field is, such as event=apply"))?;
            Fields::known(field).map_err(|what| format!("--set {pair}: {what}"))?;
            set.push((field.to_owned(), value.to_owned()));
        }
        for triple in &self.word {
            let parts = triple.split_once(':').and_then(|(field, pair)| Some((field, pair.split_once('=')?)));
            let (field, (theirs, ours)) = parts.ok_or_else(|| {
                format!("--word {triple} does not say what a word means, such as verdict:REJECTED=fenced")
            })?;
            Fields::known(field).map_err(|what| format!("--word {triple}: {what}"))?;
            words.insert((field.to_owned(), theirs.to_owned()), ours.to_owned());
        }
        Ok(Translation { fields, set, words, unit: self.time_unit.unwrap_or_default(), alone: false })
    }

    fn rows(&self, mut input: Box<dyn BufRead>, file: &Path, translation: &Translation) -> Result<Vec<Row>, String> {
        let name = file.display();
        let format = self.format.map_or_else(|| looks_like(&mut *input), Ok);
        let format = format.map_err(|e| format!("cannot read {name}: {e}"))?;
        let rows = match format {
            Format::Json => rows::json(input),
            Format::Csv => rows::csv(input),
        };
        let stem = match file == Path::new("-") {
            true => "stdin".into(),
            false => file.file_stem().unwrap_or_default().to_string_lossy(),
        };
        let mut made: Vec<Row> = Vec::new();
        for row in rows.map_err(|what| format!("{name}: {what}"))? {
            let (line, fields) = row;
            let row = translation.row(line, fields, &stem).map_err(|what| format!("{name}: line {line}: {what}"))?;
            if let Some(before) = made.last().filter(|before| row.t_us < before.t_us) {
                let (was, is) = (before.t_us, row.t_us);
                return Err(format!("{name}: line {line}: time goes back by {} µs; sort the lines by time", was - is));
            }
            made.push(row);
        }
        Ok(made)
    }
}

/// A line of somebody's log, in our words.
struct Row {
    /// Its line in its file.
    line: u64,
    t_us: u64,
    text: String,
}

/// How lines are put into our words.
struct Translation {
    fields: Fields,
    set: Vec<(String, String)>,
    /// Ours, by the field and theirs.
    words: BTreeMap<(String, String), String>,
    unit: Unit,
    /// The file is the only one, and may be a whole history with its header.
    alone: bool,
}

impl Translation {
    fn row(&self, line: u64, theirs: Map<String, Value>, file: &str) -> Result<Row, String> {
        if let Some(text) = rows::header(&theirs).filter(|_| self.alone) {
            return Ok(Row { line, t_us: 0, text });
        }
        let mut ours = Map::new();
        for (name, value) in theirs {
            let Some(name) = self.fields.ours(&name) else { continue };
            if value.is_null() || value == "" {
                continue;
            }
            let word = match &value {
                Value::String(text) => self.words.get(&(name.to_owned(), text.clone())),
                Value::Bool(_) | Value::Number(_) => self.words.get(&(name.to_owned(), value.to_string())),
                _ => None,
            };
            let value = word.map_or(value, |word| Value::String(word.clone()));
            if ours.insert(name.to_owned(), value).is_some() {
                return Err(format!("has two fields that are {name:?}"));
            }
        }
        for (field, value) in &self.set {
            ours.entry(field.clone()).or_insert_with(|| Value::String(value.replace("{file}", file)));
        }
        if ours.get("event").is_some_and(|event| event == "header") {
            return Err("is the header of a whole history; that is judged alone and as it is".to_owned());
        }
        let time = ours.get("t_us").ok_or("has no time; --map t_us=FIELD says which field it is")?;
        let t_us = times::microseconds(time, self.unit)?;
        ours.insert("t_us".to_owned(), t_us.into());
        for (name, value) in &mut ours {
            rows::retype(name, value)?;
        }
        Ok(Row { line, t_us, text: Value::Object(ours).to_string() })
    }
}

/// All rows by time; those of one moment by file and line.
fn merged(all: Vec<Vec<Row>>, files: Vec<PathBuf>) -> Input {
    let numbered = (0..).zip(all).flat_map(|(file, rows)| rows.into_iter().map(move |row| (file, row)));
    let mut rows: Vec<(u32, Row)> = numbered.collect();
    rows.sort_by_key(|(file, row)| (row.t_us, *file, row.line));
    let places = Places { lines: rows.iter().map(|(file, row)| (*file, row.line)).collect(), files };
    let text: String = rows.into_iter().map(|(_, row)| row.text + "\n").collect();
    Input { lines: Box::new(Cursor::new(text)), fields: Fields::default(), places }
}

fn open(file: &Path) -> Result<Box<dyn BufRead>, String> {
    if file == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let opened = File::open(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
    Ok(Box::new(BufReader::new(opened)))
}

/// JSON lines begin with a brace.
fn looks_like(input: &mut dyn BufRead) -> io::Result<Format> {
    let first = input.fill_buf()?.trim_ascii_start().first();
    Ok(if first.is_none_or(|byte| *byte == b'{') { Format::Json } else { Format::Csv })
}

#[cfg(test)]
mod tests;
