//! Stale reads, and answers from a former leader.

use super::model::Misread;
use crate::freshness::Reads;
use protocols::history::Event;

/// Stale reads of one node within this time of each other, microseconds, are reported together.
const TOGETHER_US: u64 = 1_000_000;

/// Folds reads and the answers that clients got.
#[derive(Debug, Default)]
pub(super) struct Misreads {
    reads: Reads,
    pub(super) all: Vec<Misread>,
}

impl Misreads {
    /// Takes the event at `place` in the history.
    pub(super) fn observe(&mut self, event: &Event, place: u64) {
        let Some(read) = self.reads.observe(event).filter(|read| read.is_stale() || read.is_of_former()) else {
            return;
        };
        let (t, node) = (event.t_us, read.node.0);
        let known = self.all.iter_mut().rev().find(|m| m.node == node).filter(|m| t - m.to <= TOGETHER_US);
        match known {
            Some(run) => (run.to, run.n) = (t, run.n + 1),
            None => self.all.push(Misread { node, from: t, to: t, n: 1, first: read, place }),
        }
    }
}
