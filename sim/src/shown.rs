//! Does a run show a bug, and how many of a sweep do? A bug need not break a promise to show: many are in cells that promise
//! nothing, or move a figure.

use crate::run::Run;
use protocols::bug::Bug;
use reports::Judgement;
use serde::Serialize;

/// Does a run show what the bug is said to do: violate its invariant, or have its figure above the fixed form's?
pub fn shows(bug: &Bug, judgement: &Judgement) -> bool {
    let Some(figure) = bug.violation.strip_prefix("metrics.") else {
        return judgement.violated().any(|name| name == bug.violation);
    };
    let metrics = serde_json::to_value(&judgement.metrics).unwrap_or_default();
    metrics[figure].as_f64().is_some_and(|value| value > bug.shown.above as f64)
}

/// In how many runs of a sweep a bug shows.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Shown {
    /// Its id.
    #[serde(rename = "id")]
    pub bug: &'static str,
    /// The invariant that it violates, or the figure that it moves, as `metrics.elections`.
    pub violation: &'static str,
    /// The value above which a figure shows it.
    pub above: u64,
    /// In so many runs it shows.
    pub shown: u64,
    /// Of so many.
    pub runs: u64,
    /// The command of the first run that shows it.
    pub command: Option<String>,
}

impl Shown {
    /// What shows it, in words.
    pub fn what(&self) -> String {
        match self.violation.strip_prefix("metrics.") {
            Some(figure) => format!("{figure} above {}", self.above),
            None => self.violation.to_owned(),
        }
    }
}

/// Looks for bugs in the runs of a sweep.
pub(crate) struct Watch(Vec<(&'static Bug, Shown)>);

impl Watch {
    /// For these.
    pub(crate) fn new(bugs: &[&'static Bug]) -> Self {
        let nothing = |bug: &&'static Bug| {
            let Bug { id, violation, ref shown, .. } = **bug;
            (*bug, Shown { bug: id, violation, above: shown.above, shown: 0, runs: 0, command: None })
        };
        Watch(bugs.iter().map(nothing).collect())
    }

    /// A run has ended; `command` is what repeats it.
    pub(crate) fn add(&mut self, run: &Run, command: impl Fn() -> String) {
        for (bug, seen) in &mut self.0 {
            seen.runs += 1;
            if shows(bug, &run.judgement) {
                seen.shown += 1;
                seen.command.get_or_insert_with(&command);
            }
        }
    }

    /// What was seen of each.
    pub(crate) fn seen(self) -> Vec<Shown> {
        self.0.into_iter().map(|(_, seen)| seen).collect()
    }
}
