//! The baselines committed with this build, and one recorded in parts.

use super::Baseline;
use crate::error::Failed;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The baseline of the default sweep.
const COMMITTED: &str = include_str!("../../data/scenarios.json");
/// The baseline of the default swarm.
const SWARM: &str = include_str!("../../data/swarm.json");

/// A file in `seeds/baseline/` that cannot be read. A test rules this out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("seeds/baseline/{file}{why}")]
pub struct Unreadable {
    /// Its name within that folder.
    pub file: &'static str,
    /// Completes the message, which begins with the file: what is wrong with it.
    pub why: String,
}

impl From<Unreadable> for Failed {
    fn from(wrong: Unreadable) -> Failed {
        Failed::Harness(wrong.to_string())
    }
}

fn no_baseline(file: &'static str) -> impl FnOnce(serde_json::Error) -> Unreadable {
    move |e| Unreadable { file, why: format!(" is not a baseline: {e}") }
}

impl Baseline {
    /// The default sweep's committed baseline.
    ///
    /// # Errors
    /// It is unreadable, which a test rules out.
    pub fn committed() -> Result<Baseline, Unreadable> {
        serde_json::from_str(COMMITTED).map_err(no_baseline("scenarios.json"))
    }

    /// The committed baseline, without its cells if it was recorded with other options. It is not compared then, and
    /// two megabytes of figures take as long to read as some ten runs.
    ///
    /// # Errors
    /// It is unreadable, which a test rules out.
    pub fn committed_with(options: &str) -> Result<Baseline, Unreadable> {
        #[derive(Deserialize)]
        struct Head {
            options: String,
            knows: BTreeSet<String>,
        }
        let head: Head = serde_json::from_str(COMMITTED).map_err(no_baseline("scenarios.json"))?;
        if head.options == options {
            return Baseline::committed();
        }
        Ok(Baseline { options: head.options, knows: head.knows, ..Baseline::default() })
    }

    /// The default swarm's committed baseline.
    ///
    /// # Errors
    /// It is unreadable, which a test rules out.
    pub fn committed_swarm() -> Result<Baseline, Unreadable> {
        serde_json::from_str(SWARM).map_err(no_baseline("swarm.json"))
    }
}

// A baseline recorded in parts: the cells of one sweep, plus those of an earlier one that it left out.

impl Baseline {
    /// Adds the cells of `earlier` that `keeps` wants and this baseline lacks. Adds nothing if the options differ.
    #[must_use]
    pub fn with_others_of(mut self, earlier: &Baseline, keeps: impl Fn(&str) -> bool) -> Baseline {
        if earlier.options != self.options {
            return self;
        }
        let missing = earlier.runs.keys().filter(|cell| !self.runs.contains_key(*cell) && keeps(cell));
        let missing: Vec<String> = missing.cloned().collect();
        if missing.is_empty() {
            return self;
        }
        // A mark that only one of the two knows cannot be compared in all cells.
        self.knows.retain(|name| earlier.knows.contains(name));
        let knows = self.knows.clone();
        self.shares.values_mut().for_each(|shares| shares.retain(|name, _| knows.contains(name)));
        let recorded: Vec<String> = self.runs.keys().cloned().collect();
        let all = recorded.into_iter().map(|cell| (cell, self.seeds));
        let mut seeds: BTreeMap<String, [u64; 2]> = all.collect();
        for cell in missing {
            seeds.insert(cell.clone(), earlier.seeds_of(&cell));
            let (cells, shares, values) =
                (earlier.cells.get(&cell), earlier.shares.get(&cell), earlier.values.get(&cell));
            self.cells.extend(cells.map(|of| (cell.clone(), of.clone())));
            self.shares.extend(shares.map(|of| (cell.clone(), of.clone())));
            self.values.extend(values.map(|of| (cell.clone(), of.clone())));
            self.runs.extend(earlier.runs.get(&cell).map(|runs| (cell, *runs)));
        }
        // `seeds` holds the range that most cells have.
        let with = |of: [u64; 2]| seeds.values().filter(|seeds| **seeds == of).count();
        if with(earlier.seeds) > with(self.seeds) {
            self.seeds = earlier.seeds;
        }
        self.seeds_of = seeds.into_iter().filter(|(_, seeds)| *seeds != self.seeds).collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_figures_are_read_for_their_own_options_only() {
        let whole = Baseline::committed().unwrap();
        assert_eq!(Baseline::committed_with(&whole.options).unwrap(), whole);
        let other = Baseline::committed_with("--rate 10").unwrap();
        assert_eq!((&other.options, &other.knows), (&whole.options, &whole.knows));
        assert!(other.cells.is_empty());
    }
}
