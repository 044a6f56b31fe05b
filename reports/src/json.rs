//! The JSON object that `--json` prints. Its names are a contract: scripts outside this repository read them.

use crate::{Cause, Judgement, Metrics, Verdict, agreement::Specified, invariant::InvariantResult};
use protocols::{fence::checks::Fencing, history::Header};
use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::{
    Value,
    ser::{Formatter, PrettyFormatter},
};
use std::io::{self, Write};

/// Schema version of the object.
pub const SCHEMA: u32 = 1;

/// What is known of a run beside its history. Empty for a history from elsewhere.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunFacts {
    /// The chained hash of everything that the world did, in hexadecimal.
    pub trace_hash: Option<String>,
    /// Events of the world.
    pub events: Option<u64>,
    /// Virtual time of the run, milliseconds; taken from the history if unknown.
    pub simulated_ms: Option<u64>,
    /// How far clocks may drift before reads from memory become stale, if reads are answered from memory.
    pub read_lease: Option<ReadLease>,
    /// Real time of the run, milliseconds: the only value that may differ between two runs of one plan.
    pub wall_ms: Option<u64>,
}

/// The bound on the drift of clocks while a leader answers reads from memory.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ReadLease {
    /// How long the leader believes after it sent what confirmed it, milliseconds on its own clock.
    pub leader_ms: f64,
    /// How long a possible successor waits after that arrived, milliseconds on another clock.
    pub others_ms: f64,
    /// The additional minimum duration of a takeover, milliseconds of true time.
    pub takeover_min_ms: f64,
    /// The largest harmless drift of either clock, parts per million; null if none is.
    pub holds_up_to_ppm: Option<u64>,
}

/// The object. Unknown values are null.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report<'a> {
    /// [`SCHEMA`].
    pub schema: u32,
    pub scenario: Option<&'a str>,
    pub protocol: Option<&'a str>,
    /// The seed of the plan.
    pub seed: Option<u64>,
    /// What the store checked: true for everything, false for nothing, or a word for that check alone.
    pub fencing: Option<Fencing>,
    /// The digest of the plan.
    pub plan_digest: Option<&'a str>,
    /// See [`RunFacts`].
    pub trace_hash: Option<&'a str>,
    /// See [`RunFacts`].
    pub events: Option<u64>,
    /// See [`RunFacts`].
    pub simulated_ms: u64,
    /// See [`RunFacts`].
    pub wall_ms: Option<u64>,
    /// See [`RunFacts`]; omitted if reads are not answered from memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_lease: Option<ReadLease>,
    /// The beginning of a log whose times are times of day, in its own zone; times in sentences are in that zone, too.
    /// Omitted for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begins: Option<String>,
    pub verdict: Verdict,
    /// What happened and why, in a few sentences; omitted if nobody listened for it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// The results of the invariants.
    pub invariants: &'a [InvariantResult],
    pub specification: &'a Specified,
    pub metrics: Figures<'a>,
    /// Notes about a log that bear on the verdict; omitted if there are none.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub notes: &'a [String],
    /// What could not be checked in a log; omitted if everything was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<Unchecked>,
    /// The results of each group; omitted for a single group. Everything else is then about all groups together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group<'a>>,
}

/// A history's figures; for a log, which does not report everything, only those that it knows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figures<'a> {
    all: &'a Metrics,
    whole: bool,
}

/// Figures that a log of writes does not show. A number other than 0 was shown after all.
const UNTOLD: [&str; 11] = [
    "leaders_believing_max",
    "elections",
    "contested_elections",
    "false_failovers",
    "avoidable_failovers",
    "failover_censored",
    "messages",
    "writes_unknown",
    "dual_belief_ms",
    "dual_belief_awake_ms",
    "dual_belief_longest_ms",
];

impl Serialize for Figures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.whole {
            return self.all.serialize(serializer);
        }
        let mut figures = serde_json::to_value(self.all).map_err(S::Error::custom)?;
        for name in UNTOLD {
            if let Some(figure) = figures.get_mut(name).filter(|figure| figure.as_f64() == Some(0.0)) {
                *figure = Value::Null;
            }
        }
        if let Some(figure) = figures.get_mut("leaders_acting_by_effect_max").filter(|_| self.all.by_turns) {
            *figure = Value::Null;
        }
        figures.serialize(serializer)
    }
}

/// An invariant that could not be checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Unchecked {
    pub name: &'static str,
    /// What the log would have to contain.
    pub needs: &'static str,
}

/// The results of one of several groups.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Group<'a> {
    /// The group's number, from 0.
    pub group: usize,
    pub verdict: Verdict,
    /// The results of the invariants in it.
    pub invariants: &'a [InvariantResult],
    pub metrics: &'a Metrics,
}

impl<'a> Group<'a> {
    fn new((group, judgement): (usize, &'a Judgement)) -> Self {
        let Judgement { verdict, invariants, metrics, .. } = judgement;
        Group { group, verdict: *verdict, invariants, metrics }
    }
}

impl<'a> Report<'a> {
    /// Assembles the object.
    pub fn new(header: Option<&'a Header>, facts: &'a RunFacts, judgement: &'a Judgement) -> Self {
        Report {
            schema: SCHEMA,
            scenario: header.map(|h| h.scenario.as_str()),
            protocol: header.map(|h| h.protocol.as_str()),
            seed: header.map(|h| h.seed),
            fencing: header.map(|h| h.fencing),
            plan_digest: header.map(|h| h.plan_digest.as_str()),
            trace_hash: facts.trace_hash.as_deref(),
            events: facts.events,
            simulated_ms: facts.simulated_ms.unwrap_or(judgement.end_us / 1000),
            wall_ms: facts.wall_ms,
            read_lease: facts.read_lease,
            begins: None,
            verdict: judgement.verdict,
            cause: String::new(),
            invariants: &judgement.invariants,
            specification: &judgement.specified,
            metrics: Figures { all: &judgement.metrics, whole: header.is_some() },
            notes: &[],
            unchecked: Vec::new(),
            groups: judgement.groups.iter().enumerate().map(Group::new).collect(),
        }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_cause(self, cause: &Cause) -> Self {
        Report { cause: cause.text(), begins: cause.clock().begins(), ..self }
    }

    /// Adds what is known of the log that it came from.
    #[must_use]
    pub fn with_log(self, notes: &'a [String], unchecked: &[(&'static str, &'static str)]) -> Self {
        let unchecked = unchecked.iter().map(|(name, needs)| Unchecked { name, needs }).collect();
        Report { notes, unchecked, ..self }
    }

    /// The object as indented JSON, without a line end.
    pub fn to_text(&self) -> String {
        pretty(self)
    }
}

/// Indented JSON, without a line end. Fractions have three decimals, or six below 1: measurements in microseconds have
/// no more.
pub fn pretty<T: Serialize>(value: &T) -> String {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, Rounded(PrettyFormatter::new()));
    // Strings, numbers and lists always serialize.
    let written = value.serialize(&mut serializer);
    written.ok().and_then(|()| String::from_utf8(text).ok()).unwrap_or_default()
}

/// Writes as serde_json does, but without needless decimals.
struct Rounded<'a>(PrettyFormatter<'a>);

impl Formatter for Rounded<'_> {
    fn write_f64<W: ?Sized + Write>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        let scale = if value.abs() >= 1.0 { 1e3 } else { 1e6 };
        let rounded = (value * scale).round() / scale;
        self.0.write_f64(to, if rounded.is_finite() { rounded } else { value })
    }
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_array(to)
    }
    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_array(to)
    }
    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(to, first)
    }
    fn end_array_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_array_value(to)
    }
    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object(to)
    }
    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object(to)
    }
    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(to, first)
    }
    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object_value(to)
    }
    fn end_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object_value(to)
    }
}

#[cfg(test)]
mod tests {
    use super::pretty;

    #[test]
    fn fractions_have_no_needless_digits() {
        let values = [9.628_600_000_001, 0.123_456_789, 2.0, -12.345_678, 0.0];
        let text = pretty(&serde_json::json!({ "ms": values, "of": { "none": [] } }));
        let compact: String = text.split_whitespace().collect();
        assert_eq!(compact, r#"{"ms":[9.629,0.123457,2.0,-12.346,0.0],"of":{"none":[]}}"#);
        assert!(text.starts_with("{\n  \"ms\": [\n    9.629,"), "{text}");
    }
}
