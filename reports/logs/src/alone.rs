//! Judges a subset of a log's lines by themselves.

use super::LogError;
use protocols::history::{
    Sink,
    json::{Lines, Reader, Telling},
};
use reports::{Judges, Names, Verdict, invariant::Entry};
use serde_json::{Map, Value};

/// A judge for a subset of a log's lines.
pub struct Alone {
    telling: Telling,
    judges: Judges,
    /// Some line could not be read as an event.
    wrong: bool,
}

impl Alone {
    pub fn new(invariants: &[&'static Entry], overlap_us: u64) -> Alone {
        let judges = Judges::allowing(invariants, None, overlap_us);
        Alone { telling: Telling::default(), judges, wrong: false }
    }

    pub fn line(&mut self, fields: &Map<String, Value>) {
        self.wrong |= self.telling.line(fields).is_err();
        self.telling.take().for_each(|event| self.judges.record(&event));
    }

    /// True if all lines were readable and no safety invariant is violated.
    pub fn holds(mut self) -> bool {
        self.telling.over();
        self.telling.take().for_each(|event| self.judges.record(&event));
        !self.wrong && self.judges.finish_with(&Names::of(self.telling.names(), None)).verdict != Verdict::Safety
    }
}

/// True if all lines are readable and no safety invariant is violated.
pub fn hold(lines: Box<dyn Lines<Error = LogError>>, invariants: &[&'static Entry], overlap_us: u64) -> bool {
    let Ok(mut reader) = Reader::of(lines) else { return false };
    let mut judges = Judges::allowing(invariants, None, overlap_us);
    for event in reader.by_ref() {
        let Ok(event) = event else { return false };
        judges.record(&event);
    }
    judges.finish_with(&Names::of(reader.names(), None)).verdict != Verdict::Safety
}
