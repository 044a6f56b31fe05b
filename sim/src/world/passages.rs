//! The named points that processes pass, for a search that strikes at each of them.

use super::World;
use protocols::{point::Point, types::NodeId};

/// A named point that a process passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// True time, nanoseconds.
    pub now: u64,
    pub node: NodeId,
    pub group: u16,
    pub point: Point,
}

impl World {
    /// Counts the passages of all named points from now on.
    pub fn count_points(&mut self) {
        self.faults.triggers.watch_all();
        self.faults.passed = Some(Vec::new());
    }

    pub(super) fn count_passage(&mut self, node: NodeId, group: u16, point: Point) {
        let now = self.now;
        if let Some(passed) = &mut self.faults.passed {
            passed.push(Passed { now, node, group, point });
        }
    }
}
