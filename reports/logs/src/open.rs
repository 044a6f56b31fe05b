//! Opens the files of a log as one stream of lines.

use super::{
    LogError,
    claim::Ordering,
    guess,
    merged::{self, Merged, Order},
    notes::Notes,
    options::Options,
    pattern::Pattern,
    preset::{self, Preset, Says},
    reading::Reading,
    service,
    source::{Format, Source},
    surveyed::{Surveyed, unrotated},
    times::Unit,
    translate::Translation,
};
use protocols::history::json::{Lines, Telling, Text};
use std::{io::BufRead, path::PathBuf, rc::Rc};

/// An opened log.
pub struct Input {
    pub lines: Box<dyn Lines<Error = LogError>>,
    /// The files, as one phrase.
    pub files: String,
    /// Notes about the files; complete once all lines are read.
    pub notes: Notes,
}

/// A history, passed on unchanged.
struct Whole {
    name: String,
    text: Text<Box<dyn BufRead>>,
}

impl Lines for Whole {
    type Error = LogError;

    fn tell(&mut self, told: &mut Telling) -> Result<bool, LogError> {
        self.text.tell(told).map_err(|wrong| LogError::at(&self.name, wrong.line, wrong.what))
    }
}

impl Options {
    /// A line of text looks like this: `--pattern`.
    ///
    /// # Errors
    /// It is no pattern.
    pub fn pattern(mut self, pattern: &str) -> Result<Self, LogError> {
        Pattern::read(pattern, true)?;
        self.pattern.push(pattern.to_owned());
        Ok(self)
    }

    /// Reads the messages of a known program: `--preset`.
    ///
    /// # Errors
    /// There is no preset of that name.
    pub fn preset(mut self, name: &str) -> Result<Self, LogError> {
        self.preset.push(preset::find(name)?);
        Ok(self)
    }

    /// The year of times that name none: `--year`.
    #[must_use]
    pub fn year(mut self, year: u32) -> Self {
        self.year = Some(year);
        self
    }

    /// Opens `files` as one log.
    ///
    /// # Errors
    /// `files` is empty, or a file cannot be read or understood.
    pub fn open(&self, files: &[PathBuf]) -> Result<Input, LogError> {
        self.open_in(files, 0)
    }

    /// As [`Options::open`], in one of the orders that the times allow.
    pub(super) fn open_in(&self, files: &[PathBuf], shuffle: u64) -> Result<Input, LogError> {
        if files.is_empty() {
            return Err("no file was named".to_owned().into());
        }
        let mut sources = self.sources(files)?;
        let named = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
        if let [source] = &sources[..]
            && source.is_history()
            && self.only_renames()
        {
            let text = Text::new(Box::new(sources.remove(0).whole()) as Box<dyn BufRead>, self.fields()?);
            let lines = Box::new(Whole { name: named.clone(), text });
            return Ok(Input { lines, files: named, notes: Notes::default() });
        }
        let (lines, notes) = self.merged(files, sources, None, shuffle)?;
        Ok(Input { lines: Box::new(lines), files: named, notes })
    }

    pub(super) fn sources(&self, files: &[PathBuf]) -> Result<Vec<Source>, LogError> {
        files.iter().map(|file| Source::open(file)).collect()
    }

    /// All lines, each with its value of the field `by`.
    pub(super) fn merged(
        &self,
        files: &[PathBuf],
        mut sources: Vec<Source>,
        by: Option<&str>,
        shuffle: u64,
    ) -> Result<(Merged, Notes), LogError> {
        if let Some(place) = sources.iter().position(Source::is_history) {
            let what = "has a history header; check it by itself, with no options but --map and --ignore";
            return Err(format!("{} {what}", files[place].display()).into());
        }
        let mut translation = Translation { by: by.map(str::to_owned), ..self.translation()? };
        let seen = translation.seen.clone();
        let known = sources.iter().filter(|source| !source.is_text()).flat_map(Source::recognised).next();
        let reading = Rc::new(self.reading_of(&mut sources, files)?);
        if reading.has_phrases() && files.len() > 1 && !reading.names_nodes() && !translation.names("node") {
            translation.set.push(("node".to_owned(), "{file}".to_owned()));
        }
        seen.borrow_mut().reads(reading.has_phrases(), reading.asked(), reading.recognised.map(|preset| preset.name));
        seen.borrow_mut().says_idle = reading.says_idle;
        translation.named_time().clone_into(&mut seen.borrow_mut().time);
        let answers: Vec<bool> = sources.iter().map(Source::is_answer).collect();
        seen.borrow_mut().answered = answers.contains(&true);
        let mut surveyed: Vec<Surveyed> = Vec::new();
        for (source, file) in sources.into_iter().zip(files) {
            let name = file.display().to_string();
            // Whoever says what fields mean reads the records as they are.
            let own = reading.is_empty() && self.map.is_empty() && self.word.is_empty();
            let rows = if own && self.format.is_none() && source.is_of_monitor() {
                service::of_monitor(source.whole(), (files.len() > 1).then_some(&*name), &seen)
            } else {
                source.rows(self.format, self.delimiter, &reading, &seen).map_err(|what| LogError::of(&name, what))?
            };
            let rows =
                if own { service::told(rows, self.skew.unwrap_or(0).saturating_mul(1_000), &seen) } else { rows };
            surveyed.push(Surveyed::new(rows, &name, file, &translation));
        }
        // `{file}` must distinguish the files.
        let places: Vec<_> = files.iter().map(|file| (file.parent(), unrotated(file))).collect();
        let stems: Vec<String> = surveyed.iter().map(|file| file.stem.clone()).collect();
        for (file, place) in surveyed.iter_mut().zip(&places) {
            // Parts of one log are of one node.
            if stems.iter().zip(&places).any(|(stem, other)| *stem == file.stem && other != place) {
                file.stem.clone_from(&file.name);
            }
        }
        // A table may be a whole history, with its header.
        let header = surveyed.first_mut().filter(|_| files.len() == 1).and_then(Surveyed::take_header);
        let unit = match header {
            Some(_) => Some(Unit::Us),
            None => self.surveyed(&mut surveyed, &translation, known.filter(|_| reading.is_empty()))?,
        };
        let translation = Rc::new(translation.counting(unit).without_header(header.is_none()));
        let by_time = self.order.as_deref() == Some(translation.named_time());
        let digit_ns = surveyed.iter().map(|file| file.digit_ns(&translation)).collect();
        let opened = surveyed.into_iter().zip(answers).map(|(file, is_answer)| {
            let (name, lines) = (file.name.clone(), file.told(translation.clone()));
            let sorts = by_time || is_answer && matches!(self.order.as_deref(), None | Some("time"));
            let lines = if sorts { merged::by_time(&name, lines, is_answer)? } else { lines };
            Ok((name, lines))
        });
        let opened = opened.collect::<Result<_, LogError>>()?;
        let skew_ns = self.skew.unwrap_or(0).saturating_mul(1_000);
        let ordering = Ordering { skew_ns, digit_ns, shuffle, ..Ordering::default() };
        let lines = Merged::new(opened, self.order_of_lines(translation.named_time()), seen.clone(), ordering)?;
        let names = files.iter().map(|file| file.display().to_string()).collect();
        let notes = Notes::of(seen, &translation, names, unit.filter(|_| self.time_unit.is_none()), skew_ns);
        let notes = notes.of_times_in(self.time_unit).read_again(self, files);
        Ok((if let Some(header) = header { lines.of_history(header) } else { lines }, notes))
    }

    /// Surveys the files. What is not understood may not matter, if messages of `known` are all that is wanted.
    fn surveyed(
        &self,
        files: &mut [Surveyed],
        translation: &Translation,
        known: Option<&Preset>,
    ) -> Result<Option<Unit>, LogError> {
        guess::survey(files, translation, self).map_err(|wrong| match known {
            // What is wrong with one line comes first.
            Some(preset) if wrong.line.is_none() => wrong.or_preset(preset.name),
            _ => wrong,
        })
    }

    /// How these options read text.
    fn reading(&self) -> Result<Reading, LogError> {
        let lines = self.pattern.iter().map(|text| Pattern::read(text, true)).collect::<Result<_, _>>()?;
        let says_node = |pair: &String| pair.starts_with("node=");
        let mut reading = Reading::of_lines(lines, self.year, !self.map.iter().chain(&self.set).any(says_node));
        for (says, all) in [
            (Says::Elected, &self.elected),
            (Says::Deposed, &self.deposed),
            (Says::Accepted, &self.accepted),
            (Says::Refused, &self.refused),
        ] {
            all.iter().try_for_each(|text| reading.hears(says, text))?;
        }
        self.preset.iter().try_for_each(|preset| reading.knows(preset))?;
        Ok(reading)
    }

    /// How the text of these files is read: as the options say, or else by the presets that are recognised.
    fn reading_of(&self, sources: &mut [Source], files: &[PathBuf]) -> Result<Reading, LogError> {
        let mut reading = self.reading()?;
        let says_events = |pair: &String| pair.starts_with("event=");
        // Only where nothing else can be meant.
        let open = reading.is_empty() && self.format.is_none_or(|format| format == Format::Text);
        let open = open && self.map.is_empty() && self.word.is_empty() && self.only.is_empty();
        let open = open && !self.set.iter().any(says_events);
        if reading.is_empty() && self.format.is_none() {
            for (source, file) in sources.iter_mut().zip(files).filter(|(source, _)| source.is_text()) {
                source.look_further(file)?;
            }
        }
        if open && sources.iter().all(Source::is_text) {
            let mut found: Vec<&'static Preset> = sources.iter().flat_map(Source::recognised).collect();
            found.sort_unstable_by_key(|preset| preset.name);
            found.dedup();
            let names: Vec<&str> = found.iter().map(|preset| preset.name).collect();
            found.retain(|preset| !preset.within.iter().any(|program| names.contains(program)));
            if let [one, other, ..] = found[..] {
                let what = format!("has messages of {} and of {}, which elect for themselves", one.name, other.name);
                return Err(format!("{what}; pass --preset {} or --preset {}", one.name, other.name).into());
            }
            for preset in found {
                reading.knows(preset)?;
                reading.recognised = Some(preset);
            }
        }
        Ok(reading)
    }

    /// A field given as the order is [`Order::Time`] if it is the time itself.
    fn order_of_lines(&self, time: &str) -> Order {
        match self.order.as_deref() {
            None | Some("time") => Order::Time,
            Some(field) if field == time => Order::Time,
            Some("line") => Order::Line,
            Some(_) => Order::Number,
        }
    }
}
