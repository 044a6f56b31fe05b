//! The baselines committed with this build.

use super::Baseline;
use crate::error::Failed;
use serde::Deserialize;
use std::collections::BTreeSet;

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
