//! Known answers: histories with the complete judgement that they must get, so that no part of the judge can go blind.
//!
//! The histories are sections `== NAME` of `testdata/known/*.txt`. `testdata/judgements.txt` has the judgement of each:
//! the verdict, the results of the invariants that could have failed, and the figures that are not empty. A history
//! named after an invariant, `<invariant>-ok…` or `<invariant>-bad…`, shows one clause of it; `run-…` are whole runs,
//! `figures-…` are stories whose figures were counted by hand, and `groups-…` are stories of several groups, at most
//! one of which does wrong.

use crate::{Judgement, Judges, Metrics, Names};
use protocols::history::{
    Event, Header, Sink,
    json::{ReadError, Reader},
};
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write, sync::LazyLock};

/// A named history.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The name of its section.
    pub name: &'static str,
    /// The history as JSON lines.
    pub text: &'static str,
}

/// The expected judgements of all histories.
pub const JUDGEMENTS: &str = include_str!("../testdata/judgements.txt");

/// A parsed history.
#[derive(Clone, Debug)]
pub struct History {
    /// Its header; a log has none.
    pub header: Option<Header>,
    /// The names of its processes and resources.
    pub names: Names,
    pub events: Vec<Event>,
}

impl History {
    /// Reads JSON lines.
    ///
    /// # Errors
    /// A line is wrong: which, and why.
    pub fn parse(text: &[u8]) -> Result<History, ReadError> {
        let mut reader = Reader::new(text)?;
        let events = reader.by_ref().collect::<Result<Vec<_>, _>>()?;
        Ok(History { header: reader.header().cloned(), names: Names::of(reader.names(), reader.header()), events })
    }

    /// Judges it.
    pub fn judge(&self) -> Judgement {
        let mut judge = Judges::new(self.header.as_ref());
        self.events.iter().for_each(|event| judge.record(event));
        judge.finish_with(&self.names)
    }
}

impl Known {
    /// Reads and judges it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn judge(&self) -> Result<Judgement, ReadError> {
        Ok(History::parse(self.text.as_bytes())?.judge())
    }

    /// The expected judgement; empty if none was written down.
    pub fn must_say(&self) -> &'static str {
        // Every sweep asks for all of them, so the text is parsed once.
        static ANSWERS: LazyLock<BTreeMap<&str, &str>> =
            LazyLock::new(|| JUDGEMENTS.split("== ").filter_map(|part| part.split_once('\n')).collect());
        ANSWERS.get(self.name).copied().unwrap_or_default()
    }

    /// The first line in which `judgement` differs from the expected one, as a sentence.
    pub fn differs(&self, judgement: &Judgement) -> Option<String> {
        let (is, must) = (say(judgement), self.must_say());
        let (mut is, mut must) = (is.lines(), must.lines());
        loop {
            return match (is.next(), must.next()) {
                (None, None) => None,
                (Some(is), Some(must)) if is == must => continue,
                (is, must) => {
                    let [is, must] = [is, must].map(|line| line.unwrap_or("nothing").trim());
                    Some(format!("the judge must say “{must}”, but says “{is}”"))
                }
            };
        }
    }
}

/// A judgement as lines: the verdict, every invariant that was violated or could have been, and the figures that differ
/// from those of an empty run.
pub fn say(judgement: &Judgement) -> String {
    let mut text = format!("{}, exit {}\n", judgement.verdict.name(), judgement.verdict.exit_code());
    for seen in judgement.invariants.iter().filter(|seen| seen.could_fail || !seen.holds) {
        let mark = match (seen.holds, seen.could_fail) {
            (true, _) => '✓',
            (false, true) => '✗',
            (false, false) => '?',
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {mark} {}: {}", seen.name, seen.detail);
        if seen.while_half_heard {
            text.push_str("    only while somebody was half heard\n");
        }
    }
    let [is, usual] = [&judgement.metrics, &Metrics::default()].map(|m| serde_json::to_value(m).unwrap_or_default());
    if let Value::Object(figures) = is {
        for (name, value) in figures.iter().filter(|(name, value)| usual.get(name.as_str()) != Some(*value)) {
            let _ = writeln!(text, "  {name} = {value}");
        }
    }
    let unlisted = [
        ("requests_invoked", judgement.metrics.requests_invoked),
        ("requests_answered", judgement.metrics.requests_answered),
    ];
    for (name, value) in unlisted.into_iter().filter(|(_, value)| *value > 0) {
        let _ = writeln!(text, "  {name} = {value}");
    }
    if let Some(after) = judgement.metrics.served_after_ms {
        let _ = writeln!(text, "  served_after_ms = {after:.3}");
    }
    let _ = writeln!(text, "  {} events until {} µs", judgement.history_events, judgement.end_us);
    for (group, judged) in judgement.groups.iter().enumerate() {
        let _ = write!(text, "group {group}: {}", say(judged));
    }
    text
}

/// The history with this name.
pub fn find(name: &str) -> Option<&'static Known> {
    ALL.iter().find(|known| known.name == name)
}

/// All known histories, by name.
pub static ALL: &[Known] = &include!(concat!(env!("OUT_DIR"), "/known.rs"));
