//! The network's and the disks' delays and faults.

use crate::{
    random::Random,
    types::{MICROSECOND, NodeId},
};
use std::{collections::BTreeMap, ops::Range};

/// Faults on the way between nodes. Probabilities are parts per thousand.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Network {
    /// The time from sending to arrival, nanoseconds.
    pub delay: Range<u64>,
    /// The probability that a message is lost.
    pub loss: u32,
    /// The probability that a message arrives twice.
    pub duplicate: u32,
    /// The probability that a message takes up to [`Network::late_by`] longer.
    pub late: u32,
    /// Nanoseconds.
    pub late_by: u64,
    /// Whether messages between two nodes keep their order.
    pub in_order: bool,
    /// The directions that are cut, and until when.
    cuts: BTreeMap<(NodeId, NodeId), u64>,
    last: BTreeMap<(NodeId, NodeId), u64>,
}

/// Everything arrives a microsecond after it was sent.
impl Default for Network {
    fn default() -> Self {
        Network {
            delay: MICROSECOND..MICROSECOND,
            loss: 0,
            duplicate: 0,
            late: 0,
            late_by: 0,
            in_order: false,
            cuts: BTreeMap::new(),
            last: BTreeMap::new(),
        }
    }
}

/// A value from a range. A range with at most one value consumes no randomness.
pub(super) fn draw(random: &mut Random, range: &Range<u64>) -> u64 {
    match range.end.saturating_sub(range.start) {
        0 => range.start,
        width => range.start + random.next_u64() % width,
    }
}

/// Whether an event of that probability happens. An impossible one consumes no randomness.
fn happens(random: &mut Random, per_thousand: u32) -> bool {
    per_thousand > 0 && random.next_u64() % 1000 < u64::from(per_thousand)
}

impl Network {
    /// Cuts the direction from `from` to `to` until `until` (true time, nanoseconds).
    pub fn cut(&mut self, from: NodeId, to: NodeId, until: u64) {
        let end = self.cuts.entry((from, to)).or_insert(0);
        *end = until.max(*end);
    }

    /// Cuts both directions between `ones` and `others` until `until`.
    pub fn cut_apart(&mut self, ones: &[NodeId], others: &[NodeId], until: u64) {
        for (one, other) in ones.iter().flat_map(|one| others.iter().map(|other| (*one, *other))) {
            self.cut(one, other, until);
            self.cut(other, one, until);
        }
    }

    /// Mends the directions that `which` selects.
    pub fn mend(&mut self, which: impl Fn(NodeId, NodeId) -> bool) {
        self.cuts.retain(|(from, to), _| !which(*from, *to));
    }

    /// The arrival times of a message sent at `now`: one, several or none.
    pub(super) fn arrivals(&mut self, now: u64, from: NodeId, to: NodeId, random: &mut Random) -> Vec<u64> {
        if self.cuts.get(&(from, to)).is_some_and(|until| now < *until) || happens(random, self.loss) {
            return Vec::new();
        }
        let copies = 1 + usize::from(happens(random, self.duplicate));
        let arrival = |_| {
            let late = if happens(random, self.late) { draw(random, &(0..self.late_by)) } else { 0 };
            let mut at = now + draw(random, &self.delay) + late;
            if self.in_order {
                let last = self.last.entry((from, to)).or_insert(0);
                at = at.max(*last + 1);
                *last = at;
            }
            at
        };
        (0..copies).map(arrival).collect()
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Disks {
    /// How long a write takes, nanoseconds; `None`: it completes within the step that requests it.
    pub delay: Option<Range<u64>>,
    /// Power is lost at the write with this number, counted from 1 across all nodes; the flag says whether that write
    /// completes.
    pub power_fails_at: Option<(u64, bool)>,
}
