//! Known answers: histories of which it is known what the judge must say, whole, so that no part of it can go blind.
//!
//! The histories are sections `== NAME` of `testdata/known/*.txt`, and `testdata/judgements.txt` says of each what came of it: the verdict, what each
//! invariant saw that could have failed, and the figures that are not nothing. A history named after an invariant,
//! `<invariant>-ok…` or `<invariant>-bad…`, shows one clause of it; `run-…` are whole runs, `figures-…` stories whose figures
//! were counted by hand, and `groups-…` stories of several groups, of which one at most does wrong.

use crate::{Judgement, Judges, Metrics, Names};
use protocols::history::{
    Event, Header, Sink,
    json::{ReadError, Reader},
};
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write, sync::LazyLock};

/// A history, and what its name is.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// What its section is called.
    pub name: &'static str,
    /// The history, as JSON lines.
    pub text: &'static str,
}

/// What the judge must say of every history.
pub const JUDGEMENTS: &str = include_str!("../testdata/judgements.txt");

/// A history that was read.
#[derive(Clone, Debug)]
pub struct History {
    /// What it says of its run; a foreign log has none.
    pub header: Option<Header>,
    /// What its processes are called.
    pub names: Names,
    /// Everything that happened.
    pub events: Vec<Event>,
}

impl History {
    /// Reads JSON lines.
    ///
    /// # Errors
    /// What is wrong with which line.
    pub fn parse(text: &[u8]) -> Result<History, ReadError> {
        let mut reader = Reader::new(text)?;
        let events = reader.by_ref().collect::<Result<Vec<_>, _>>()?;
        Ok(History { header: reader.header().cloned(), names: Names::of(reader.names(), reader.header()), events })
    }

    /// What the judge makes of it.
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
    /// It cannot be read, which is wrong as well.
    pub fn judge(&self) -> Result<Judgement, ReadError> {
        Ok(History::parse(self.text.as_bytes())?.judge())
    }

    /// What the judge must say of it; nothing where that was never written down.
    pub fn must_say(&self) -> &'static str {
        // Every sweep asks for all of them: the text is gone through once.
        static ANSWERS: LazyLock<BTreeMap<&str, &str>> =
            LazyLock::new(|| JUDGEMENTS.split("== ").filter_map(|part| part.split_once('\n')).collect());
        ANSWERS.get(self.name).copied().unwrap_or_default()
    }

    /// The first line in which `judgement` differs from what is known, in one sentence.
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

/// A judgement in lines: the verdict, every invariant that was violated or could have been, and the figures that are not
/// those of an empty run.
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

/// The history of that name.
pub fn find(name: &str) -> Option<&'static Known> {
    ALL.iter().find(|known| known.name == name)
}

/// Every history of which it is known, by name.
pub static ALL: &[Known] = &include!(concat!(env!("OUT_DIR"), "/known.rs"));
