//! Numbers of `sequence` that were skipped, and those that were reused.

use super::Metrics;
use protocols::types::Incarnation;
use std::collections::BTreeMap;

/// Folds accepted numbers.
#[derive(Default)]
pub(super) struct Numbers {
    last: Option<u64>,
    highest: Option<u64>,
    /// If every node has a copy of the data: the last number of each leadership. Copies count independently, so a
    /// difference between two of them is no gap.
    by_leader: Option<BTreeMap<Incarnation, u64>>,
}

impl Numbers {
    /// For a run with copies, or with one store.
    pub(super) fn new(copies: bool) -> Self {
        Numbers { by_leader: copies.then(BTreeMap::new), ..Numbers::default() }
    }

    pub(super) fn accepted(&mut self, incarnation: Incarnation, seq: u64, metrics: &mut Metrics) {
        let last = match &mut self.by_leader {
            Some(by_leader) => by_leader.insert(incarnation, seq),
            None => self.last.replace(seq),
        };
        if let Some(last) = last {
            metrics.seq_gaps += seq.saturating_sub(last).saturating_sub(1);
        }
        metrics.seq_reused += u64::from(self.highest.is_some_and(|highest| seq <= highest));
        self.highest = self.highest.max(Some(seq));
    }
}
