//! The options that say how a log names and writes things.

use super::{
    LogError,
    preset::Preset,
    source::{self, Format},
    times::{self, Times, Unit},
    translate::Translation,
};
use chrono::FixedOffset;
use protocols::history::json::Fields;
use std::{collections::BTreeMap, time::Duration};

/// A value of `--set` that says that each resource has leaders of its own.
pub(super) const OWN: &str = "group={resource}";

/// How a log names and writes things.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "What your log calls things"))]
pub struct Options {
    /// The log's name for one of our fields: `--map token=fence_token`; several with commas, or repeat the option
    #[cfg_attr(feature = "clap", arg(long, value_name = "OURS=THEIRS", value_delimiter = ','))]
    pub(super) map: Vec<String>,
    /// Fields to ignore; any other unknown field is an error
    #[cfg_attr(feature = "clap", arg(long, value_name = "FIELD", value_delimiter = ','))]
    pub(super) ignore: Vec<String>,
    /// A value for lines that lack a field: `--set resource=orders`; `{file}` stands for the file's name without its
    /// extension: `--set node={file}`. `--set group={resource}` says that each resource has leaders of its own
    #[cfg_attr(feature = "clap", arg(long, value_name = "FIELD=VALUE", value_delimiter = ','))]
    pub(super) set: Vec<String>,
    /// The meaning of one of the log's values: `--word verdict:REJECTED=fenced`; several with commas, or repeat the
    /// option
    #[cfg_attr(feature = "clap", arg(long, value_name = "FIELD:THEIRS=OURS"))]
    pub(super) word: Vec<String>,
    /// Judge only lines that have this field, or this field with this value: `--only fence_token`, `--only msg=write`;
    /// lines of plain text are skipped
    #[cfg_attr(feature = "clap", arg(long, value_name = "FIELD[=VALUE]"))]
    pub(super) only: Vec<String>,
    /// What a line of text looks like, its fields in braces: `--pattern '{time} [{node}] {verdict} {token}'`, where … is
    /// any text; or /a regular expression/ with named groups. Lines that fit no pattern are skipped
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATTERN"))]
    pub(super) pattern: Vec<String>,
    /// Text in the message of a line by which a node was elected: `--elected 'became leader of {resource}'`. With this
    /// option or the next three, lines that say none of it are skipped
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATTERN"))]
    pub(super) elected: Vec<String>,
    /// The same for a line by which a node stopped leading
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATTERN"))]
    pub(super) deposed: Vec<String>,
    /// The same for a write that was accepted: `--accepted 'stored {request} with token {token}'`
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATTERN"))]
    pub(super) accepted: Vec<String>,
    /// The same for a write that was refused for its token
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATTERN"))]
    pub(super) refused: Vec<String>,
    /// Read the messages of a known program (client-go, consul, kafka, patroni, …); plain text is recognised without it
    #[cfg_attr(feature = "clap", arg(long, value_parser = super::preset::find, value_name = "NAME", value_delimiter = ','))]
    pub(super) preset: Vec<&'static Preset>,
    /// The year of times that name none, as those of klog and syslog
    #[cfg_attr(feature = "clap", arg(long, value_parser = clap::value_parser!(u32).range(1970..=2261), value_name = "YEAR"))]
    pub(super) year: Option<u32>,
    /// How to order lines: time (the default), line (their place in the file), or a field with a number that the
    /// resource assigned; naming the time's own field sorts a file that is not in order of time
    #[cfg_attr(feature = "clap", arg(long, value_name = "time|line|FIELD"))]
    pub(super) order: Option<String>,
    /// How far the clocks of the files may differ; a verdict that depends on such a difference is inconclusive
    #[cfg_attr(feature = "clap", arg(long, value_parser = scenarios::units::duration_us, value_name = "D"))]
    pub(super) skew: Option<u64>,
    /// Tokens have no order, like UUIDs, and are only compared for equality; not needed for tokens that are not numbers
    #[cfg_attr(feature = "clap", arg(long))]
    pub(super) opaque_tokens: bool,
    /// The unit of numeric times; by default the unit that puts them in this century
    #[cfg_attr(feature = "clap", arg(long, value_name = "UNIT", value_enum))]
    pub(super) time_unit: Option<Unit>,
    /// The strftime format of times: `--time-format '%d.%m.%Y %H:%M:%S,%3f'`; not needed for ISO 8601 and the formats
    /// of common databases and loggers
    #[cfg_attr(feature = "clap", arg(long, value_parser = times::format, value_name = "FORMAT"))]
    pub(super) time_format: Option<String>,
    /// The time zone of times that name none, such as +02:00; UTC by default
    #[cfg_attr(feature = "clap", arg(long, value_parser = times::zone, value_name = "ZONE", allow_hyphen_values = true))]
    pub(super) zone: Option<FixedOffset>,
    /// The unit of durations (`duration`, `ttl`) that are plain numbers
    #[cfg_attr(feature = "clap", arg(long, value_name = "UNIT", value_enum))]
    pub(super) duration_unit: Option<Unit>,
    /// How long two nodes may believe that they lead at the same time: for clocks that differ, or if a fence makes it
    /// harmless; 0 by default
    #[cfg_attr(feature = "clap", arg(long, value_parser = scenarios::units::duration_us, value_name = "TIME"))]
    pub(super) belief_overlap: Option<u64>,
    /// The format of the files; by default it is guessed from the start of each
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub(super) format: Option<Format>,
    /// The separator of a table's values: a character, or tab; by default it is guessed from the first line
    #[cfg_attr(feature = "clap", arg(long, value_parser = source::delimiter, value_name = "CHAR"))]
    pub(super) delimiter: Option<u8>,
}

impl Options {
    /// The log's field `theirs` is our field `ours`: `--map ours=theirs`.
    #[must_use]
    pub fn map(mut self, ours: &str, theirs: &str) -> Self {
        self.map.push(format!("{ours}={theirs}"));
        self
    }

    /// Ignores these fields: `--ignore`.
    #[must_use]
    pub fn ignore(mut self, fields: &[&str]) -> Self {
        self.ignore.extend(fields.iter().map(|field| (*field).to_owned()));
        self
    }

    /// Lines without the field `ours` get this value: `--set ours=value`.
    #[must_use]
    pub fn set(mut self, ours: &str, value: &str) -> Self {
        self.set.push(format!("{ours}={value}"));
        self
    }

    /// The value `theirs` of our field `field` means `ours`: `--word field:theirs=ours`.
    #[must_use]
    pub fn word(mut self, field: &str, theirs: &str, ours: &str) -> Self {
        self.word.push(format!("{field}:{theirs}={ours}"));
        self
    }

    /// Judges only lines that have this field, with this value if one is given: `--only`.
    #[must_use]
    pub fn only(mut self, field: &str, value: Option<&str>) -> Self {
        self.only.push(value.map_or_else(|| field.to_owned(), |value| format!("{field}={value}")));
        self
    }

    /// A message with this text says that its node was elected: `--elected`.
    #[must_use]
    pub fn elected(mut self, pattern: &str) -> Self {
        self.elected.push(pattern.to_owned());
        self
    }

    /// A message with this text says that its node leads no more: `--deposed`.
    #[must_use]
    pub fn deposed(mut self, pattern: &str) -> Self {
        self.deposed.push(pattern.to_owned());
        self
    }

    /// A message with this text says that a write was accepted: `--accepted`.
    #[must_use]
    pub fn accepted(mut self, pattern: &str) -> Self {
        self.accepted.push(pattern.to_owned());
        self
    }

    /// A message with this text says that a write was refused for its token: `--refused`.
    #[must_use]
    pub fn refused(mut self, pattern: &str) -> Self {
        self.refused.push(pattern.to_owned());
        self
    }

    /// Orders lines by `time`, `line`, or a field with a number: `--order`.
    #[must_use]
    pub fn order(mut self, by: &str) -> Self {
        self.order = Some(by.to_owned());
        self
    }

    /// The clocks of the files may differ by up to `most`: `--skew`.
    #[must_use]
    pub fn skew(mut self, most: Duration) -> Self {
        self.skew = Some(us(most));
        self
    }

    /// Two nodes may believe that they lead at the same time for up to `most`: `--belief-overlap`.
    #[must_use]
    pub fn belief_overlap(mut self, most: Duration) -> Self {
        self.belief_overlap = Some(us(most));
        self
    }

    /// The unit of numeric times: `--time-unit`.
    #[must_use]
    pub fn times_in(mut self, unit: Unit) -> Self {
        self.time_unit = Some(unit);
        self
    }

    /// The unit of numeric durations: `--duration-unit`.
    #[must_use]
    pub fn lengths_in(mut self, unit: Unit) -> Self {
        self.duration_unit = Some(unit);
        self
    }

    /// Tokens have no order: `--opaque-tokens`.
    #[must_use]
    pub fn opaque_tokens(mut self) -> Self {
        self.opaque_tokens = true;
        self
    }

    /// The format of the files: `--format`.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// The strftime format of times: `--time-format`.
    ///
    /// # Errors
    /// The format is invalid.
    pub fn time_format(mut self, format: &str) -> Result<Self, LogError> {
        self.time_format = Some(times::format(format)?);
        Ok(self)
    }

    /// The time zone of times that name none, such as `+02:00`: `--zone`.
    ///
    /// # Errors
    /// The zone is invalid.
    pub fn zone(mut self, zone: &str) -> Result<Self, LogError> {
        self.zone = Some(times::zone(zone)?);
        Ok(self)
    }

    /// The separator of a table's values, a character or `tab`: `--delimiter`.
    ///
    /// # Errors
    /// It is longer than one character.
    pub fn delimiter(mut self, delimiter: &str) -> Result<Self, LogError> {
        self.delimiter = Some(source::delimiter(delimiter)?);
        Ok(self)
    }
}

fn us(length: Duration) -> u64 {
    u64::try_from(length.as_micros()).unwrap_or(u64::MAX)
}

impl Options {
    /// The log's name for the resource.
    pub(super) fn resource(&self) -> &str {
        self.map.iter().find_map(|pair| pair.strip_prefix("resource=")).unwrap_or("resource")
    }

    /// Whether each resource is said to have leaders of its own.
    pub(super) fn has_own_leaders(&self) -> bool {
        self.set.iter().any(|pair| pair == OWN)
    }

    /// Do the options only rename or ignore fields, the time excepted?
    pub(super) fn only_renames(&self) -> bool {
        let Options { map, set, word, only, order, time_unit, time_format, zone, .. } = self;
        let phrases = [&self.pattern, &self.elected, &self.deposed, &self.accepted, &self.refused];
        let text = self.preset.is_empty() && phrases.iter().all(|all| all.is_empty());
        let nothing = text && set.is_empty() && word.is_empty() && only.is_empty() && order.is_none();
        nothing
            && !self.opaque_tokens
            && time_unit.is_none()
            && time_format.is_none()
            && zone.is_none()
            && !map.iter().any(|pair| pair.starts_with("t_us="))
    }

    /// The pairs of `--map`, our names first.
    ///
    /// # Errors
    /// A pair lacks one of its names.
    pub(super) fn maps(&self) -> Result<Vec<(String, String)>, String> {
        let pairs = pairs(&self.map);
        let pairs = pairs.iter().map(|pair| match pair.split_once('=') {
            None => Err(format!("--map {pair} does not say which field is which, such as token=fence_token")),
            Some((ours, "")) => Err(format!(
                "--map {ours}= names no field of the log; write its name after the `=`, such as {ours}=fence_token"
            )),
            Some(("", theirs)) => Err(format!(
                "--map ={theirs} does not say what `{theirs}` is; write it before the `=`, such as token={theirs}"
            )),
            Some((ours, theirs)) => Ok((ours.to_owned(), theirs.to_owned())),
        });
        pairs.collect()
    }

    pub(super) fn fields(&self) -> Result<Fields, String> {
        let mut fields = Fields::default();
        for (ours, theirs) in self.maps()? {
            fields.map(&ours, &theirs).map_err(|what| format!("--map {ours}={theirs}: {what}"))?;
        }
        // A field that an earlier suggestion ignored may be mapped by a later one.
        let pairs = pairs(&self.map);
        let mapped = |field: &str| pairs.iter().any(|pair| pair.split_once('=').is_some_and(|(_, own)| own == field));
        self.ignore.iter().filter(|field| !mapped(field)).for_each(|field| fields.ignore(field));
        Ok(fields)
    }

    pub(super) fn translation(&self) -> Result<Translation, String> {
        let (fields, mut set, mut words) = (self.fields()?, Vec::new(), BTreeMap::new());
        let maps: BTreeMap<String, String> = self.maps()?.into_iter().collect();
        for pair in self.set.iter().filter(|pair| *pair != OWN) {
            let (field, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("--set {pair} does not say what a field is, such as resource=orders"))?;
            Fields::known(field).map_err(|what| format!("--set {pair}: {what}"))?;
            set.push((field.to_owned(), value.to_owned()));
        }
        for triple in self.word.iter().flat_map(|triples| listed(triples)) {
            // The log's word may contain either sign.
            let parts = triple.split_once(':').and_then(|(field, pair)| Some((field, pair.rsplit_once('=')?)));
            let (field, (theirs, ours)) = parts.ok_or_else(|| {
                format!("--word {triple} does not say what a word means, such as verdict:REJECTED=fenced")
            })?;
            Fields::known(field).map_err(|what| format!("--word {triple}: {what}"))?;
            words.insert((field.to_owned(), theirs.to_owned()), ours.to_owned());
        }
        let only = self.only.iter().map(|text| match text.split_once('=') {
            Some((field, value)) => (field.to_owned(), Some(value.to_owned())),
            None => (text.clone(), None),
        });
        let time = maps.get("t_us").map_or("t_us", String::as_str);
        let order = self.order.clone().filter(|order| !["time", "line", time].contains(&order.as_str()));
        let (only, times) = (
            only.collect(),
            Times {
                format: self.time_format.clone(),
                unit: self.time_unit,
                zone: self.zone,
                length: self.duration_unit,
                is_guess: false,
            },
        );
        Ok(Translation {
            fields,
            maps,
            set,
            words,
            times,
            only,
            order,
            by: None,
            seen: Default::default(),
            alone: true,
            said: Default::default(),
        })
    }
}

/// Rejoins pairs that were split at commas: a part without `=` belongs to the name before it, which contains a comma.
fn pairs(parts: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for part in parts {
        match all.last_mut().filter(|_| !part.contains('=')) {
            Some(last) => *last += &format!(",{part}"),
            None => all.push(part.clone()),
        }
    }
    all
}

/// Splits at commas. A comma within a word is not followed by a field and a colon.
fn listed(triples: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for part in triples.split(',') {
        let begins = part.split_once(':').is_some_and(|(field, _)| Fields::known(field.trim()).is_ok());
        match all.last_mut().filter(|_| !begins) {
            Some(last) => *last += &format!(",{part}"),
            None => all.push(part.to_owned()),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{listed, pairs};

    #[test]
    fn names_may_have_commas_in_them() {
        let parts = ["verdict=Result", " final", "token=fence"].map(str::to_owned);
        assert_eq!(pairs(&parts), ["verdict=Result, final", "token=fence"]);
        assert_eq!(pairs(&["token".to_owned()]), ["token"]);
    }

    #[test]
    fn words_may_have_commas_in_them() {
        assert_eq!(listed("verdict:A=ok,verdict:B=fenced"), ["verdict:A=ok", "verdict:B=fenced"]);
        assert_eq!(
            listed("verdict:rejected, stale=fenced,verdict:ok=ok"),
            ["verdict:rejected, stale=fenced", "verdict:ok=ok"]
        );
        assert_eq!(listed("verdict"), ["verdict"]);
    }
}
