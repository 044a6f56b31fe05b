//! Compares a sweep's cells with their baseline, and with the recorded shares of cells left to chance.

use super::cell::Cell;
use crate::{
    baseline::Unreadable,
    baseline::{Baseline, By, Moved, runs::Runs},
    promise::Chance,
};
use reports::invariant::Entry;
use scenarios::Params;
use serde::{Deserialize, Serialize};

/// The least number of runs for which a cell left to chance is compared with its recorded share.
const CHANCE_RUNS_MIN: u64 = 100;

/// What decides whether there is a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Compared {
    /// The options that affect figures; sweeps with other options are not comparable.
    pub options: String,
    /// The first seed, and the one after the last.
    pub seeds: [u64; 2],
    /// Whether the store fences, if shares are recorded for these options; otherwise `None`.
    pub chance: Option<bool>,
}

impl Compared {
    /// The figures far outside the baseline, and, in words, the marks and invariants that it does not know.
    ///
    /// # Errors
    /// The committed baseline is unreadable, which a test rules out.
    pub fn with_baseline(
        &self,
        cells: &[Cell],
        invariants: &[&'static Entry],
    ) -> Result<(Vec<Moved>, Vec<String>), Unreadable> {
        let baseline = Baseline::committed_with(&self.options)?;
        let mut moved = self.by_chance(cells);
        if baseline.options == self.options {
            let seeds = self.seeds[0]..self.seeds[1];
            moved.extend(cells.iter().flat_map(|cell| baseline.moved(&cell.name(), &seeds, &cell.seen)));
        }
        let digests = cells.iter().map(|cell| (cell.name(), &cell.seen.digests));
        moved.extend(Runs::committed()?.changed(&self.options, digests));
        Ok((moved, baseline.unrecorded(invariants, cells.iter().map(|cell| &cell.seen))))
    }

    /// Cells left to chance in which safety was violated far more or less often than recorded. A few runs are not
    /// compared.
    fn by_chance(&self, cells: &[Cell]) -> Vec<Moved> {
        let Some(fencing) = self.chance else { return Vec::new() };
        let known = cells.iter().filter(|c| c.nodes == Params::default().nodes && c.runs >= CHANCE_RUNS_MIN);
        let far = |cell: &Cell| {
            let chance = Chance::find(&cell.scenario, &cell.protocol, fencing)?;
            let violated = cell.verdicts.get("safety").copied().unwrap_or(0);
            chance.far_off(violated, cell.runs)?;
            let was = [chance.of_1000 as f64; 5].into();
            let is = (violated as f64 * 1e3 / cell.runs as f64).round();
            let figure = "unsafe runs of 1000".to_owned();
            Some(Moved { cell: cell.name(), figure, was, is, by: By::Median, runs: cell.runs as usize })
        };
        known.filter_map(far).collect()
    }
}
