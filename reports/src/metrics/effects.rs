//! How many external effects there were, and how many repeated ones.

use super::Metrics;
use crate::{by_resource::ByResource, row::Row};
use protocols::{
    message::Write,
    types::{Operation, Payload},
};

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
