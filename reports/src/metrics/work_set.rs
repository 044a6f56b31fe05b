//! The cost of hand-overs for the leader's work-set.

use super::{Metrics, ms};
use crate::by_resource::{ByResource, Row};
use protocols::{
    message::Write,
    types::{Operation, Payload},
};

/// Folds accepted writes that do items or record progress.
#[derive(Default)]
pub(super) struct WorkSet {
    on: ByResource<On>,
    any: bool,
    stalled_us: u64,
}

#[derive(Clone, Default)]
struct On {
    row: Row,
    /// When the last new item was done.
    advanced_us: Option<u64>,
}

impl WorkSet {
    pub(super) fn accepted(&mut self, t_us: u64, write: &Write, payload: Payload) {
        let item = payload.number.get();
        match write.operation {
            Operation::Perform => {
                self.any = true;
                let on = self.on.at(write.resource);
                let since_us = on.advanced_us.unwrap_or(t_us);
                self.stalled_us = self.stalled_us.max(t_us.saturating_sub(since_us));
                if on.row.did(item, t_us) {
                    on.advanced_us = Some(t_us);
                }
            }
            Operation::Record => self.on.at(write.resource).row.passed(item, t_us),
            _ => {}
        }
    }

    pub(super) fn finish(&self, metrics: &mut Metrics) {
        if !self.any {
            return;
        }
        let rows = || self.on.iter().filter(|(_, on)| on.advanced_us.is_some()).map(|(_, on)| &on.row);
        metrics.work_done = Some(rows().map(Row::items).sum());
        metrics.work_redone = Some(rows().map(|row| row.redone).sum());
        metrics.work_skipped = Some(rows().flat_map(Row::gaps).map(|(from, to, _)| to - from + 1).sum());
        metrics.work_stalled_ms_max = Some(ms(self.stalled_us as i64));
    }
}
