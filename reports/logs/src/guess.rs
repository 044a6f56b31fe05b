//! Surveys the first lines of a log before judging any: one sentence names everything that is not understood, and the
//! options that would probably explain it. Nothing is judged by a guess, since the wrong guess may be the token.

use super::{
    advice::{Known, advice},
    called::{FIELDS, VERDICTS},
    columns::{self, Column},
    error::LogError,
    looks::tells_role,
    opaque::Opaque,
    options::Options,
    surveyed::{self, Surveyed},
    text,
    times::{Times, Unit},
    translate::Translation,
    values::{is_number, plain, quoted as in_quotes},
};
use protocols::history::json::{EVENTS, Fields};
use scenarios::suggest::unknown;

/// The fields that a write may have.
const OF_A_WRITE: [&str; 21] = [
    "event",
    "t_us",
    "group",
    "node",
    "resource",
    "request",
    "verdict",
    "token",
    "epoch",
    "generation",
    "term",
    "seq",
    "read",
    "version",
    "payload",
    "operation",
    "highest",
    "first",
    "until",
    "duration",
    "shared",
];
/// Fields that are judged only if the user says that they are meant: many logs have a `duration` of something else, or
/// a `group` that is no leadership.
const SAID: [&str; 7] = ["until", "duration", "ttl", "shared", "read", "version", "group"];
/// Surveys `files`; returns the unit of numeric times, if they need one.
///
/// # Errors
/// Something is not understood: one sentence that also says what to do.
pub fn survey(files: &mut [Surveyed], translation: &Translation, args: &Options) -> Result<Option<Unit>, LogError> {
    let (mut columns, mut whole, mut lines): (Vec<Column>, bool, usize) = (Vec::new(), true, 0);
    for file in &mut *files {
        whole &= file.first.len() < surveyed::LINES;
        if let Some(Err((line, what))) = file.first.iter().find(|row| row.is_err()).cloned() {
            return Err(unread(file, line, &what));
        }
        for (_, fields) in file.first.iter().flatten() {
            lines += 1;
            columns::add(&mut columns, fields);
        }
    }
    let names = files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ");
    if columns.is_empty() {
        let seen = translation.seen.borrow();
        let others = match seen.others {
            0 => String::new(),
            others if seen.service.is_some() => {
                format!("; it has {others} records that say nothing about who leads")
            }
            others if seen.by_message => {
                format!("; none of {others} lines says what was asked for")
            }
            others => format!("; --only skipped {others}"),
        };
        return Err(format!("{names} holds no events{others}").into());
    }
    if whole {
        translation.known(
            |theirs| columns.iter().any(|c| c.name == theirs),
            || columns.iter().map(|c| c.name.clone()).collect(),
        )?;
    }
    let stem = files[0].stem.clone();
    let survey = Survey { columns, translation, args, several: files.len() > 1, stem, lines };
    let survey = survey.without_silent();
    if survey.wrong().is_none() {
        let token = ["token", "epoch"].into_iter().find_map(|ours| survey.column(ours));
        if args.opaque_tokens || token.is_some_and(|column| column.is_text() && !column.can_be("token")) {
            translation.seen.borrow_mut().opaque = Some(Opaque::default());
        }
        return survey.unit().map_err(|what| LogError::of(&names, what));
    }
    // Later lines may have what the first lack, such as a refused write.
    let Survey { mut columns, mut lines, stem, .. } = survey;
    for row in files.iter_mut().flat_map(|file| file.later(translation)) {
        lines += 1;
        columns::add(&mut columns, &row);
    }
    let survey = Survey { columns, translation, args, several: files.len() > 1, stem, lines }.without_silent();
    Err(LogError::of(&names, format!("{}{}", survey.wrong().unwrap_or_default(), advice(&survey.known()))))
}

/// The first line that cannot be read, with what helps.
fn unread(file: &mut Surveyed, line: u64, what: &str) -> LogError {
    let what = match file.name.as_str() {
        "-" => what.to_owned(),
        name => what.replace(" FILE ", &format!(" {} ", in_quotes(name))),
    };
    let guess = (what == text::TEXT).then(|| file.field_of_records()).flatten();
    let only = match guess {
        Some(field) => format!("; if this guess is right, add --only {}", in_quotes(&field)),
        None if text::is_text(&what) => {
            "; pass --only FIELD to skip plain text and judge only lines with that field".to_owned()
        }
        None => String::new(),
    };
    LogError::at(&file.name, line, format!("{what}{only}"))
}

impl Translation {
    /// Checks that the log has every field that options name.
    ///
    /// # Errors
    /// A field is missing: one sentence.
    pub(crate) fn known(&self, has: impl Fn(&str) -> bool, all: impl Fn() -> Vec<String>) -> Result<(), String> {
        let mapped = self.maps.iter().map(|(ours, theirs)| (format!("--map {ours}={theirs}"), theirs));
        let ordered = self.order.iter().map(|field| (format!("--order {field}"), field));
        for (option, theirs) in mapped.chain(ordered) {
            if !has(theirs) {
                let all = all();
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                return Err(format!("{option}: {}", unknown("field", theirs, &all)));
            }
        }
        Ok(())
    }
}

struct Survey<'a> {
    columns: Vec<Column>,
    translation: &'a Translation,
    args: &'a Options,
    /// Is there more than one file?
    several: bool,
    /// The first file's name without extension.
    stem: String,
    /// How many lines were looked at.
    lines: usize,
}

impl Survey<'_> {
    /// Drops fields without a value.
    fn without_silent(mut self) -> Self {
        self.columns.retain(|column| column.lines > 0);
        self
    }

    /// Collects what the advice depends on.
    fn known(&self) -> Known<'_> {
        let unknown = self.unknown();
        let is_known = |column: &&Column| !unknown.iter().any(|other| other.name == column.name);
        let known = self.columns.iter().filter(is_known);
        let mapped = known.filter_map(|column| {
            let ours = self.ours(column)?;
            Some((OF_A_WRITE.into_iter().find(|name| *name == ours)?, column))
        });
        let set = self.translation.set.iter().map(|(field, _)| field.as_str()).collect();
        let (missing, words, of_some) = (self.missing(), self.words(), self.of_some());
        let (several, lines, elections) = (self.several, self.lines, self.only_elections());
        Known {
            mapped: mapped.collect(),
            unknown,
            missing,
            set,
            words,
            of_some,
            several,
            elections,
            stem: &self.stem,
            lines,
        }
    }

    /// The log's column for our field, if there is one.
    fn column(&self, ours: &str) -> Option<&Column> {
        self.columns.iter().find(|column| self.ours(column) == Some(ours))
    }

    /// Our name for the column, from its own name or from options, if its values fit.
    fn ours<'b>(&'b self, column: &'b Column) -> Option<&'b str> {
        let ours = self.translation.fields.ours(&column.name)?;
        // A needed field counts even if its values do not fit, so that the misfit is reported: the field was probably
        // meant.
        let must = self.is_mapped(column) || FIELDS.iter().any(|(called, _)| *called == ours);
        (must || column.can_be(ours)).then_some(ours)
    }

    fn is_mapped(&self, column: &Column) -> bool {
        self.translation.maps.values().any(|theirs| *theirs == column.name)
    }

    fn is_set(&self, ours: &str) -> bool {
        self.translation.set.iter().any(|(field, _)| field == ours)
    }

    fn has(&self, ours: &str) -> bool {
        self.column(ours).is_some() || self.is_set(ours)
    }

    /// Is it in the words of our histories? If a service has answered with it, the time is that service's.
    fn is_ours(&self) -> bool {
        self.columns.iter().any(|column| column.name == "t_us") && !self.translation.seen.borrow().answered
    }

    fn has_token(&self) -> bool {
        ["token", "epoch"].iter().any(|ours| self.has(ours))
    }

    /// Are all lines writes?
    fn only_writes(&self) -> bool {
        let events = self.column("event").map(|column| column.values.iter().all(|value| value == "apply"));
        events.unwrap_or_else(|| self.translation.set.iter().all(|(field, value)| field != "event" || value == "apply"))
    }

    /// Do all lines report elections, depositions or grants?
    fn only_elections(&self) -> bool {
        let ours =
            |word: String| self.translation.words.get(&("event".to_owned(), word.clone())).cloned().unwrap_or(word);
        let leads = |word: String| ["elected", "deposed", "grant", "grant-end"].contains(&&*ours(word));
        match self.column("event") {
            Some(column) => column.values.iter().map(plain).all(leads),
            None => self.translation.set.iter().any(|(field, value)| field == "event" && leads(value.clone())),
        }
    }

    /// The log's fields whose meaning is unknown.
    fn unknown(&self) -> Vec<&Column> {
        let is_unknown = |column: &&Column| {
            let Some(ours) = self.translation.fields.ours(&column.name) else { return false };
            let mapped = self.is_mapped(column);
            let of_another = self.only_writes() && !OF_A_WRITE.contains(&ours);
            // `term` is the token in many stores that use Raft, but the generation in our histories.
            let term = ours == "term" && !self.has_token();
            // Seconds since 1970 are no token, an HTTP request line is no request number, and a value that changes on
            // every line does not count elections.
            let other_sense = match ours {
                "epoch" => column.values.iter().all(|value| Times::unit_of(value).is_some()),
                "request" => column.is_content(),
                "generation" => column.lines > 2 && column.is_distinct(),
                _ => false,
            };
            let theirs = !self.is_ours();
            let of_another = of_another || (theirs && SAID.contains(&ours));
            // An operation on a plan's items also names the item.
            let itemless = ours == "operation" && !self.columns.iter().any(|column| column.name == "payload");
            let other = || of_another || term || itemless || (theirs && other_sense) || self.ours(column).is_none();
            Fields::type_of(ours).is_none() || (!mapped && other())
        };
        self.columns.iter().filter(is_unknown).collect()
    }

    fn missing(&self) -> Vec<&'static str> {
        let needed = ["t_us", "resource", "node", "verdict"];
        let always = |ours: &str| ours == "t_us" || (ours == "node" && self.only_elections());
        needed.into_iter().filter(|ours| (always(ours) || self.only_writes()) && !self.has(ours)).collect()
    }

    /// Verdict values whose meaning is unknown.
    fn words(&self) -> Vec<String> {
        let Some(column) = self.column("verdict") else { return Vec::new() };
        let told = |word: &String| self.translation.words.contains_key(&("verdict".to_owned(), word.clone()));
        let ours = |word: &String| VERDICTS.iter().any(|(ours, _)| ours == word);
        column.values.iter().map(plain).filter(|word| !told(word) && !ours(word)).collect()
    }

    /// Event values whose meaning is unknown.
    fn events(&self) -> Vec<String> {
        let Some(column) = self.column("event").filter(|column| self.is_mapped(column)) else { return Vec::new() };
        let told = |word: &String| self.translation.words.contains_key(&("event".to_owned(), word.clone()));
        column.values.iter().map(plain).filter(|word| !told(word) && !EVENTS.contains(&&**word)).collect()
    }

    /// A field that every write needs but only some lines have: the other lines are about something else.
    fn of_some(&self) -> Option<(&'static str, &Column)> {
        let needed = ["verdict", "node", "resource", "t_us"].into_iter().filter(|_| self.only_writes());
        let found = needed.filter(|ours| !self.is_set(ours)).filter_map(|ours| Some((ours, self.column(ours)?)));
        found.filter(|(_, column)| column.lines < self.lines).min_by_key(|(_, column)| column.lines)
    }

    /// Everything that is not understood, as one sentence.
    fn wrong(&self) -> Option<String> {
        let mut wrong = Vec::new();
        let quoted: Vec<String> = self.unknown().iter().map(|column| format!("`{}`", column.name)).collect();
        if !quoted.is_empty() {
            let fields = if quoted.len() == 1 { "field" } else { "fields" };
            wrong.push(format!("unknown {fields} {}", quoted.join(", ")));
        }
        let missing = self.missing();
        if !missing.is_empty() {
            let called = |ours: &'static str| if ours == "t_us" { "time (t_us)" } else { ours };
            let missing: Vec<&str> = missing.into_iter().map(called).collect();
            wrong.push(format!("missing: {}", missing.join(", ")));
        }
        let words = self.words();
        if !words.is_empty() {
            let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            wrong.push(format!("unknown verdicts: {} (known: ok, duplicate, fenced, failed)", quoted.join(", ")));
        }
        if let Some(first) = self.events().first().filter(|_| wrong.is_empty()) {
            let (name, word) = self.column("event").map_or(("", first), |column| (&*column.name, first));
            if self.column("event").is_some_and(tells_role) {
                wrong.push(format!(
                    "the meaning of `{name}`={word:?} is unknown: --word 'event:1=elected,event:0=deposed' if it says \
                     whether a node leads (with the field's own values for 1 and 0)"
                ));
                return Some(wrong.join("; "));
            }
            let (apply, only) = (in_quotes(&format!("event:{word}=apply")), in_quotes(&format!("{name}={word}")));
            wrong.push(format!(
                "the event `{name}`={word:?} is unknown: --word {apply} if it is a write, or the same with elected, \
                 deposed, grant or grant-end; --only FIELD=VALUE to skip lines about something else, --only {only} to \
                 keep only such lines"
            ));
        }
        if let Some((_, some)) = self.of_some().filter(|_| wrong.is_empty()) {
            let (some, name, lines) = (some.lines, &some.name, self.lines);
            wrong.push(format!(
                "only {some} of the first {lines} lines have the field `{name}`, which every write needs"
            ));
        }
        (!wrong.is_empty()).then(|| wrong.join("; "))
    }

    fn unit(&self) -> Result<Option<Unit>, String> {
        if self.translation.seen.borrow().service.is_some() {
            return Ok(Some(Unit::Us));
        }
        let Some(column) = self.column("t_us").filter(|_| self.args.time_unit.is_none()) else { return Ok(None) };
        let Some(value) = column.values.iter().find(|value| Times::default().ns(value).is_err() || is_number(value))
        else {
            return Ok(None);
        };
        if !is_number(value) {
            return Ok(None);
        }
        match (Times::unit_of(value), column.name == "t_us") {
            (Some(unit), true) if unit != Unit::Us => Err(format!(
                "t_us ({}) looks like {unit} since 1970; pass its --time-unit, or --time-unit us if it does not count \
                 from 1970",
                plain(value)
            )),
            (_, true) => Ok(Some(Unit::Us)),
            (Some(unit), false) => Ok(Some(unit)),
            (None, false) => Err(format!(
                "the unit of `{}` ({}) is unknown; pass --time-unit s, ms, us or ns",
                column.name,
                plain(value)
            )),
        }
    }
}
