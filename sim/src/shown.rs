//! Does a run show a bug, and how many of a sweep do? A bug need not break a promise to show: many are in cells that promise
//! nothing, or move a figure.

use crate::run::Run;
use protocols::{bug::Bug, by_design};
use reports::Judgement;
use scenarios::registry::Missing;
use serde::{Deserialize, Serialize};

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
    /// Which of the sweep's runs that is.
    #[serde(skip)]
    pub first: Option<u64>,
}

/// The same as a shard leaves it.
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

/// What all shards have seen of each bug, which is one of `known` or wrong by design.
///
/// # Errors
/// Nobody knows such a bug: one sentence.
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
            (*bug, Shown { bug: id, violation, above: shown.above, shown: 0, runs: 0, command: None, first: None })
        };
        Watch(bugs.iter().map(nothing).collect())
    }

    /// The `index`th run has ended; `command` is what repeats it.
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

    /// What was seen of each.
    pub(crate) fn seen(self) -> Vec<Shown> {
        self.0.into_iter().map(|(_, seen)| seen).collect()
    }
}
