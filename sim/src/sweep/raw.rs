//! A cell with all the values behind its medians, as saved by shards for merging.

use super::cell::Cell;
use crate::{baseline::Seen, exact};
use serde::{Deserialize, Serialize};

/// A cell with the values that its own JSON omits.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Raw {
    cell: Cell,
    #[serde(with = "exact::list")]
    dual_belief_ms_max: Vec<f64>,
    #[serde(with = "exact::list")]
    failovers_ms: Vec<f64>,
    #[serde(with = "exact::list")]
    election_times_ms: Vec<f64>,
    #[serde(with = "exact::list")]
    darks_ms: Vec<f64>,
    seen: Seen,
}

impl From<&Cell> for Raw {
    fn from(cell: &Cell) -> Raw {
        Raw {
            dual_belief_ms_max: vec![cell.dual_belief_ms_max],
            failovers_ms: cell.failovers_ms.clone(),
            election_times_ms: cell.election_times_ms.clone(),
            darks_ms: cell.darks_ms.clone(),
            seen: cell.seen.clone(),
            cell: cell.clone(),
        }
    }
}

impl From<Raw> for Cell {
    fn from(raw: Raw) -> Cell {
        let Raw { cell, dual_belief_ms_max, failovers_ms, election_times_ms, darks_ms, seen } = raw;
        let dual_belief_ms_max = dual_belief_ms_max.first().copied().unwrap_or_default();
        Cell { dual_belief_ms_max, failovers_ms, election_times_ms, darks_ms, seen, ..cell }
    }
}
