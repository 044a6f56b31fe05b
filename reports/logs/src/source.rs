//! Opens a file and detects its format.

use super::{
    LogError, answers, edn,
    preset::Preset,
    reading::{self, Reading, Recogniser},
    rows::{self, Rows},
    seen::Seen,
    service, text, yaml,
};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use scenarios::units::Unread;
use std::{
    cell::RefCell,
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read},
    path::Path,
    rc::Rc,
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
    /// Lines of text that begin with their time, or that --pattern describes
    Text,
    /// Documents of YAML, as kubectl prints them
    Yaml,
    /// Maps of EDN, as Jepsen writes histories
    Edn,
}

/// How much of a file is read to guess its format, bytes.
const GUESS_BYTES: u64 = 1 << 16;
/// The byte order mark that some programs write.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// The delimiters that are tried for a table. The last one wins a draw.
const DELIMITERS: [u8; 4] = [b'\t', b';', b'|', b','];

/// A file whose beginning was read.
pub struct Source {
    input: Box<dyn BufRead>,
    begins: Vec<u8>,
    later: Later,
}

/// What was found behind the beginning of a file.
#[derive(Default)]
struct Later {
    presets: Vec<&'static Preset>,
    objects: bool,
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

/// The same, decompressed if gzip or zstd has compressed it, even twice.
fn unpacked(mut input: Box<dyn BufRead>) -> io::Result<Box<dyn BufRead>> {
    loop {
        match input.fill_buf()? {
            [0x1f, 0x8b, ..] => input = Box::new(BufReader::new(MultiGzDecoder::new(input))),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => input = Box::new(BufReader::new(Zstd(Some(frame(input)?)))),
            [0xfd, b'7', b'z', b'X', b'Z', ..] | [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
                return Err(io::Error::other("it is compressed by xz or bzip2; decompress it first"));
            }
            _ => return Ok(input),
        }
    }
}

type Frame = StreamingDecoder<Box<dyn BufRead>, FrameDecoder>;

/// A file of zstd: frames, one after the other.
struct Zstd(Option<Frame>);

fn frame(input: Box<dyn BufRead>) -> io::Result<Frame> {
    StreamingDecoder::new(input).map_err(io::Error::other)
}

impl Read for Zstd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.0 {
            let read = decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let Some(mut rest) = self.0.take().map(StreamingDecoder::into_inner) else { break };
            if !rest.fill_buf()?.is_empty() {
                self.0 = Some(frame(rest)?);
            }
        }
        Ok(0)
    }
}

impl Source {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or is no text: one sentence.
    pub fn open(file: &Path) -> Result<Source, LogError> {
        let name = file.display();
        let cannot = |e: io::Error| LogError::from(format!("cannot read {name}: {e}"));
        let input: Box<dyn BufRead> = match file == Path::new("-") {
            true => standard_input()?,
            false => Box::new(BufReader::new(File::open(file).map_err(cannot)?)),
        };
        let mut input = unpacked(input).map_err(cannot)?;
        let mut begins = Vec::new();
        (&mut input).take(GUESS_BYTES).read_to_end(&mut begins).map_err(cannot)?;
        if begins.starts_with(b"\xff\xfe") || begins.starts_with(b"\xfe\xff") {
            let run = format!("`iconv -f UTF-16 -t UTF-8 {name} | fencepost check -`");
            return Err(LogError::of(&name.to_string(), format!("is UTF-16; run {run} with the same options")));
        }
        if begins.starts_with(MARK) {
            begins.drain(..MARK.len());
        }
        Ok(Source { input, begins, later: Later::default() })
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

    /// Is it what a service answers, whose records have no order but their times?
    pub(crate) fn is_answer(&self) -> bool {
        answers::begin(&self.begins)
    }

    /// Guesses the format.
    fn format(&self) -> Format {
        let line = String::from_utf8_lossy(self.first_line());
        match self.begins.trim_ascii_start().first() {
            _ if edn::begins(&self.begins) => Format::Edn,
            None | Some(b'{' | b'[') => Format::Json,
            Some(_) if yaml::begins(line.trim_end()) => Format::Yaml,
            Some(_) if text::looks_like(line.trim()) => Format::Logfmt,
            // Lines of text before the first object are no head of a table.
            Some(_) if self.has_objects() => Format::Json,
            Some(_) => Format::Csv,
        }
    }

    fn has_objects(&self) -> bool {
        let lines = self.begins.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        self.later.objects || lines.filter(|line| is_object(line)).take(2).count() > 1
    }

    /// Looks for messages and objects behind the beginning, which may be another program's. Reads the file once more, a
    /// line at a time.
    ///
    /// # Errors
    /// The file cannot be read again.
    pub(crate) fn look_further(&mut self, file: &Path) -> Result<(), LogError> {
        if (self.begins.len() as u64) < GUESS_BYTES - MARK.len() as u64
            || !self.recognised().is_empty()
            || self.has_objects()
        {
            return Ok(());
        }
        let (mut recogniser, mut objects) = (Recogniser::new(), 0_u64);
        for line in rows::lines(Source::open(file)?.whole()) {
            // A line that cannot be read is told when it is judged.
            let Ok((_, line)) = line else { break };
            objects += u64::from(is_object(line.trim_ascii()));
            recogniser.sees(&String::from_utf8_lossy(&line));
        }
        self.later = Later { presets: recogniser.found(), objects: objects > 1 };
        Ok(())
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
    pub(crate) fn rows(
        self,
        format: Option<Format>,
        delimiter: Option<u8>,
        reading: &Rc<Reading>,
        seen: &Rc<RefCell<Seen>>,
    ) -> Result<Rows, String> {
        let text = !reading.is_empty() && (self.is_text() || reading.has_lines());
        if format == Some(Format::Text) || format.is_none() && text {
            return Ok(reading.clone().of_text(self.whole(), seen.clone()));
        }
        if reading.has_phrases() && format.is_none() && self.format() == Format::Csv {
            let line = String::from_utf8_lossy(self.first_line()).into_owned();
            let delimiter = char::from(delimiter.unwrap_or_else(|| self.delimiter()));
            if !line.split(delimiter).any(|name| reading::is_message(name.trim().trim_matches('"'))) {
                let what = "looks like a table, and has no message, although messages are asked for; pass --format text if it is text";
                return Err(what.to_owned());
            }
        }
        let rows = self.rows_of(format, delimiter)?;
        Ok(if reading.has_phrases() { reading.clone().of_rows(rows, seen.clone()) } else { rows })
    }

    /// Does it have lines that do not name their fields?
    pub(crate) fn is_text(&self) -> bool {
        match self.format() {
            // Objects behind something else are messages with more behind them.
            Format::Json if !self.begins.trim_ascii_start().starts_with(b"{") => {
                !self.begins.trim_ascii_start().starts_with(b"[") || text::told(self.first_line(), false).is_some()
            }
            Format::Json | Format::Yaml | Format::Edn => false,
            Format::Csv => text::told(self.first_line(), true).is_some(),
            Format::Logfmt | Format::Text => self.lines().any(|line| !line.is_empty() && text::fields(line).is_none()),
        }
    }

    fn lines(&self) -> impl Iterator<Item = &str> {
        // The last line read may be a part of one.
        let whole = self.begins.iter().rposition(|byte| *byte == b'\n').map_or(self.begins.len(), |end| end);
        let lines = self.begins[..whole].split(|byte| *byte == b'\n');
        lines.filter_map(|line| std::str::from_utf8(line).ok()).map(|line| text::bare(line.trim()))
    }

    /// Does it begin with what Redis's MONITOR prints?
    pub(crate) fn is_of_monitor(&self) -> bool {
        self.lines().filter(|line| *line != "OK").take(20).any(service::is_of_monitor)
    }

    /// The presets whose messages its first lines have.
    pub(crate) fn recognised(&self) -> Vec<&'static Preset> {
        let mut recogniser = Recogniser::new();
        String::from_utf8_lossy(&self.begins).lines().for_each(|line| recogniser.sees(line));
        let found = recogniser.found();
        if found.is_empty() { self.later.presets.clone() } else { found }
    }

    fn rows_of(self, format: Option<Format>, delimiter: Option<u8>) -> Result<Rows, String> {
        let delimiter = delimiter.unwrap_or_else(|| self.delimiter());
        let begins = self.begins.trim_ascii_start();
        let array = begins.starts_with(b"[");
        // An object that continues on the next line.
        let spread = begins.starts_with(b"{")
            && serde_json::from_slice::<serde_json::Value>(self.first_line()).is_err_and(|e| e.is_eof())
            && begins.len() > self.first_line().len() + 1;
        let guess = self.format();
        let told = || text::told(self.first_line(), guess == Format::Csv);
        if let Some(what) = told().filter(|_| format.is_none() && guess != Format::Edn) {
            return Err(what);
        }
        if let (Some(Format::Csv | Format::Logfmt), Format::Json) = (format, guess) {
            return Err("contains JSON objects; omit --format, or pass --format json".to_owned());
        }
        Ok(match format.unwrap_or(guess) {
            Format::Json if array => rows::json_array(self.whole()),
            Format::Json if spread || self.is_answer() => rows::json_objects(self.whole()),
            Format::Json => rows::json(self.whole()),
            Format::Csv => rows::table(self.whole(), delimiter)?,
            Format::Logfmt | Format::Text => rows::logfmt(self.whole()),
            Format::Yaml => yaml::rows(self.whole()),
            Format::Edn => edn::rows(self.whole()),
        })
    }
}

/// Does a line end with an object?
fn is_object(line: &[u8]) -> bool {
    line.ends_with(b"}") && line.windows(2).any(|two| two == b"{\"")
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
