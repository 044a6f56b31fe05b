//! Tells whether a run shows a bug, and how many runs of a sweep do. A bug can show without a broken promise: in cells
//! that promise nothing, or by moving a figure.

use crate::run::Run;
use protocols::{bug::Bug, by_design};
use reports::Judgement;
use scenarios::registry::Missing;
use serde::{Deserialize, Serialize};

/// Whether a run shows the bug's stated effect: a violation of its invariant, or its figure above the correct code's.
pub fn shows(bug: &Bug, judgement: &Judgement) -> bool {
    let Some(figure) = bug.violation.strip_prefix("metrics.") else {
        return judgement.violated().any(|name| name == bug.violation);
    };
    let metrics = serde_json::to_value(&judgement.metrics).unwrap_or_default();
    metrics[figure].as_f64().is_some_and(|value| value > bug.shown.above as f64)
}

/// How many runs of a sweep show a bug.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Shown {
    /// The bug's id.
    #[serde(rename = "id")]
    pub bug: &'static str,
    /// The invariant that the bug violates, or the figure that it moves, as `metrics.elections`.
    pub violation: &'static str,
    /// The bug shows if the figure is above this.
    pub above: u64,
    /// The number of runs that show it.
    pub shown: u64,
    /// The number of all runs.
    pub runs: u64,
    /// The command of the first run that shows it.
    pub command: Option<String>,
    /// The index of that run in the sweep.
    #[serde(skip)]
    pub first: Option<u64>,
}

/// The result of a shard.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Part {
    id: String,
    shown: u64,
    runs: u64,
    first: Option<(u64, String)>,
}

impl From<&Shown> for Part {
    fn from(seen: &Shown) -> Part {
        let Shown { bug, shown, runs, .. } = *seen;
        Part { id: bug.to_owned(), shown, runs, first: seen.first.zip(seen.command.clone()) }
    }
}

/// The merged results of all shards for each bug, which is one of `known` or unsafe by design.
///
/// # Errors
/// A bug is unknown.
pub fn together(shards: &[Vec<Part>], known: &[&'static Bug]) -> Result<Vec<Shown>, Missing> {
    let Some(first) = shards.first() else { return Ok(Vec::new()) };
    let of_all = |place: usize| {
        let parts: Vec<&Part> = shards.iter().filter_map(|shard| shard.get(place)).collect();
        let id = &first[place].id;
        let bug =
            known.iter().copied().chain(by_design::ALL.iter().map(|design| &design.bug)).find(|bug| bug.id == *id);
        let bug = bug.ok_or_else(|| Missing { what: "bug", name: id.clone() })?;
        let (shown, runs) = (parts.iter().map(|p| p.shown).sum(), parts.iter().map(|p| p.runs).sum());
        let (first, command) = parts.iter().filter_map(|part| part.first.clone()).min().unzip();
        Ok(Shown { bug: bug.id, violation: bug.violation, above: bug.shown.above, shown, runs, command, first })
    };
    (0..first.len()).map(of_all).collect()
}

impl Shown {
    /// What shows the bug, in words.
    pub fn what(&self) -> String {
        match self.violation.strip_prefix("metrics.") {
            Some(figure) => format!("{figure} above {}", self.above),
            None => self.violation.to_owned(),
        }
    }
}

/// Watches a sweep's runs for bugs.
pub(crate) struct Watch(Vec<(&'static Bug, Shown)>);

impl Watch {
    pub(crate) fn new(bugs: &[&'static Bug]) -> Self {
        let nothing = |bug: &&'static Bug| {
            let Bug { id, violation, ref shown, .. } = **bug;
            (*bug, Shown { bug: id, violation, above: shown.above, shown: 0, runs: 0, command: None, first: None })
        };
        Watch(bugs.iter().map(nothing).collect())
    }

    /// Adds the run with this index; `command` repeats it.
    pub(crate) fn add(&mut self, run: &Run, index: u64, command: impl Fn() -> String) {
        for (bug, seen) in &mut self.0 {
            seen.runs += 1;
            if shows(bug, &run.judgement) {
                seen.shown += 1;
                if seen.first.is_none() {
                    (seen.command, seen.first) = (Some(command()), Some(index));
                }
            }
        }
    }

    /// The results, one per bug.
    pub(crate) fn seen(self) -> Vec<Shown> {
        self.0.into_iter().map(|(_, seen)| seen).collect()
    }
}
