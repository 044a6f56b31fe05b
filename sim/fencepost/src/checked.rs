//! What a check that passed has run.

use crate::Exhausted;
use std::{fmt, time::Duration};

/// What was run; every run held, and each could have failed, but for the inconclusive ones.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// All runs, those of the calibration included.
    pub runs: u64,
    /// Runs in which what the scenario is about did not arise. At least one run of each scenario is not among them.
    pub inconclusive: u64,
    /// The sends before which the leader was stopped.
    pub sends: u64,
    /// All of its sends in that time. Of very many, only the first are stopped at.
    pub all_sends: u64,
    /// What [`World::exhaustive`](crate::World::exhaustive) covered.
    pub exhausted: Option<Exhausted>,
    /// The virtual time from a leader's death to the first write of another, as measured first.
    pub takeover: Duration,
    /// Calls of the service that are not simulated, each once.
    pub refused: Vec<String>,
    /// How long it took.
    pub took: Duration,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Checked { runs, inconclusive, sends, all_sends, exhausted, takeover, took, .. } = self;
        write!(f, "{runs} runs held in {:.1} s", took.as_secs_f64())?;
        if *sends > 0 {
            write!(f, ", {sends} of them stopped before a send")?;
        }
        if sends < all_sends {
            write!(f, " (there are {all_sends} sends)")?;
        }
        if let Some(exhausted) = exhausted {
            write!(f, ", exhaustive: {exhausted}")?;
        }
        if *inconclusive > 0 {
            write!(f, ", {inconclusive} inconclusive")?;
        }
        write!(f, "; another leads {:.1} s after a leader's death", takeover.as_secs_f64())?;
        match self.refused.as_slice() {
            [] => Ok(()),
            refused => write!(f, "; not simulated: {}", refused.join("; ")),
        }
    }
}
