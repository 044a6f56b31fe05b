//! Opens a file and detects its format.

use super::{
    LogError,
    rows::{self, Rows},
    text,
};
use scenarios::units::Unread;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read},
    path::Path,
    sync::OnceLock,
};

/// The format of a file's lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Format {
    /// One object per line, or an array of objects
    Json,
    /// A table: values separated by commas or another --delimiter, below a line of names; also psql's tables
    Csv,
    /// key=value pairs
    Logfmt,
}

/// How much of a file is read to guess its format, bytes.
const GUESS_BYTES: u64 = 1 << 16;
/// The byte order mark that some programs write.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// The first bytes of a gzip file.
const GZIP: &[u8] = b"\x1f\x8b";
/// The delimiters that are tried for a table. The last one wins a draw.
const DELIMITERS: [u8; 4] = [b'\t', b';', b'|', b','];

/// A file whose beginning was read.
pub struct Source {
    input: Box<dyn BufRead>,
    begins: Vec<u8>,
}

/// How much of standard input is kept for a second reading, bytes.
const KEPT_BYTES: u64 = 1 << 26;

/// Standard input from its beginning. A second call works unless the input is long.
fn standard_input() -> Result<Box<dyn BufRead>, String> {
    static KEPT: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(kept) = KEPT.get() {
        let whole = (kept.len() as u64) < KEPT_BYTES;
        return if whole { Ok(Box::new(Cursor::new(kept))) } else { Err("standard input is read once".to_owned()) };
    }
    let mut kept = Vec::new();
    io::stdin().take(KEPT_BYTES).read_to_end(&mut kept).map_err(|e| format!("cannot read -: {e}"))?;
    Ok(Box::new(Cursor::new(KEPT.get_or_init(|| kept)).chain(BufReader::new(io::stdin()))))
}

impl Source {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or is no text: one sentence.
    pub fn open(file: &Path) -> Result<Source, LogError> {
        let name = file.display();
        let cannot = |e: io::Error| LogError::from(format!("cannot read {name}: {e}"));
        let mut input: Box<dyn BufRead> = match file == Path::new("-") {
            true => standard_input()?,
            false => Box::new(BufReader::new(File::open(file).map_err(cannot)?)),
        };
        let mut begins = Vec::new();
        (&mut input).take(GUESS_BYTES).read_to_end(&mut begins).map_err(cannot)?;
        if begins.starts_with(GZIP) {
            let what = format!("is compressed; run `gunzip -c {name} | fencepost check -` with the same options");
            return Err(LogError::of(&name.to_string(), what));
        }
        if begins.starts_with(b"\xff\xfe") || begins.starts_with(b"\xfe\xff") {
            let run = format!("`iconv -f UTF-16 -t UTF-8 {name} | fencepost check -`");
            return Err(LogError::of(&name.to_string(), format!("is UTF-16; run {run} with the same options")));
        }
        if begins.starts_with(MARK) {
            begins.drain(..MARK.len());
        }
        Ok(Source { input, begins })
    }

    fn first_line(&self) -> &[u8] {
        let text = self.begins.trim_ascii_start();
        // mysql draws a line above its tables.
        text.split(|byte| *byte == b'\n').find(|line| !line.starts_with(b"+-")).unwrap_or_default()
    }

    /// Is it a whole history, which begins with a header?
    pub fn is_history(&self) -> bool {
        let first = serde_json::from_slice::<serde_json::Value>(self.first_line());
        first.is_ok_and(|line| line.get("event").is_some_and(|event| event == "header"))
    }

    /// Guesses the format.
    fn format(&self) -> Format {
        let line = String::from_utf8_lossy(self.first_line());
        match self.begins.trim_ascii_start().first() {
            None | Some(b'{' | b'[') => Format::Json,
            Some(_) if text::looks_like(line.trim()) => Format::Logfmt,
            // Lines of text before the first object are no head of a table.
            Some(_) if self.has_objects() => Format::Json,
            Some(_) => Format::Csv,
        }
    }

    fn has_objects(&self) -> bool {
        let lines = self.begins.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let is_object = |line: &&[u8]| line.ends_with(b"}") && line.windows(2).any(|two| two == b"{\"");
        lines.filter(is_object).take(2).count() > 1
    }

    /// The delimiter that is most frequent in the first line.
    fn delimiter(&self) -> u8 {
        let count = |delimiter: u8| self.first_line().iter().filter(|byte| **byte == delimiter).count();
        // In a draw the last one wins: a comma.
        DELIMITERS.into_iter().max_by_key(|delimiter| count(*delimiter)).unwrap_or(b',')
    }

    /// The whole file, unchanged.
    pub fn whole(self) -> impl BufRead + 'static {
        Cursor::new(self.begins).chain(self.input)
    }

    /// The file's rows.
    ///
    /// # Errors
    /// The file has no rows of that format.
    pub(crate) fn rows(self, format: Option<Format>, delimiter: Option<u8>) -> Result<Rows, String> {
        let delimiter = delimiter.unwrap_or_else(|| self.delimiter());
        let begins = self.begins.trim_ascii_start();
        let array = begins.starts_with(b"[");
        // An object that continues on the next line.
        let spread = begins.starts_with(b"{")
            && serde_json::from_slice::<serde_json::Value>(self.first_line()).is_err_and(|e| e.is_eof())
            && begins.len() > self.first_line().len() + 1;
        if let (None, Some(what)) = (format, text::told(self.first_line(), self.format() == Format::Csv)) {
            return Err(what);
        }
        if let (Some(Format::Csv | Format::Logfmt), Format::Json) = (format, self.format()) {
            return Err("contains JSON objects; omit --format, or pass --format json".to_owned());
        }
        Ok(match format.unwrap_or_else(|| self.format()) {
            Format::Json if array => rows::json_array(self.whole()),
            Format::Json if spread => rows::json_objects(self.whole()),
            Format::Json => rows::json(self.whole()),
            Format::Csv => rows::table(self.whole(), delimiter)?,
            Format::Logfmt => rows::logfmt(self.whole()),
        })
    }
}

/// Parses `--delimiter`.
///
/// # Errors
/// It is longer than one character.
pub fn delimiter(text: &str) -> Result<u8, Unread> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, [byte]) if byte.is_ascii() => Ok(*byte),
        _ => Err(Unread::of(text, "is no delimiter; write one character, or tab")),
    }
}
