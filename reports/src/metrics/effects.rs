//! What became of the work: numbers that were skipped or reused, external effects and repeated ones, and caches with old
//! data.

use super::{Metrics, ms};
use crate::by_resource::{ByResource, Row};
use protocols::{
    message::Write,
    types::{Incarnation, Operation, Payload},
};
use std::collections::BTreeMap;

/// Folds external effects.
#[derive(Default)]
pub(super) struct Outside {
    on: ByResource<Row>,
    any: bool,
}

impl Outside {
    /// Takes a write, accepted or not: that no effect was accepted is a figure, too.
    pub(super) fn tried(&mut self, write: &Write) {
        self.any |= write.operation == Operation::Effect;
    }

    pub(super) fn accepted(&mut self, t_us: u64, write: &Write, payload: Payload) {
        if write.operation == Operation::Effect {
            self.on.at(write.resource).did(payload.number.get(), t_us);
        }
    }

    pub(super) fn finish(&self, metrics: &mut Metrics) {
        if self.any {
            let rows = || self.on.iter().map(|(_, row)| row);
            metrics.effects_done = Some(rows().map(Row::items).sum());
            metrics.effects_repeated = Some(rows().map(|row| row.redone).sum());
            metrics.effects_left_out = Some(rows().flat_map(Row::gaps).map(|(from, to, _)| to - from + 1).sum());
        }
    }
}

// Numbers of `sequence` that were skipped, and those that were reused.

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

// How long caches served older data than they had had.

/// Folds accepted refreshes of caches.
#[derive(Default)]
pub(super) struct Caches {
    on: ByResource<On>,
    any: bool,
}

#[derive(Clone, Default)]
struct On {
    newest: u64,
    /// Since when it has had an older version, microseconds.
    set_back_us: Option<u64>,
    stale_us: u64,
}

impl Caches {
    pub(super) fn accepted(&mut self, t_us: u64, write: &Write, payload: Payload) {
        if write.operation != Operation::Refresh {
            return;
        }
        self.any = true;
        let on = self.on.at(write.resource);
        on.stale_us += on.set_back_us.take().map_or(0, |since_us| t_us.saturating_sub(since_us));
        on.set_back_us = (payload.number.get() < on.newest).then_some(t_us);
        on.newest = on.newest.max(payload.number.get());
    }

    pub(super) fn finish(&self, end_us: u64, metrics: &mut Metrics) {
        let stale_us = |on: &On| on.stale_us + on.set_back_us.map_or(0, |since_us| end_us.saturating_sub(since_us));
        let longest_us = self.on.iter().map(|(_, on)| stale_us(on)).max().unwrap_or(0);
        metrics.cache_stale_ms = self.any.then(|| ms(longest_us as i64));
    }
}
