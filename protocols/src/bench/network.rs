//! What becomes of messages and of writes to disk: how long each takes, and what goes wrong.

use crate::{
    random::Random,
    types::{MICROSECOND, NodeId},
};
use std::{collections::BTreeMap, ops::Range};

/// What goes wrong on the way from one node to another. Probabilities are parts per thousand.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Network {
    /// From sending to arrival, nanoseconds.
    pub delay: Range<u64>,
    /// A message is lost.
    pub loss: u32,
    /// A message arrives twice.
    pub duplicate: u32,
    /// A message takes up to [`Network::late_by`] longer.
    pub late: u32,
    /// Nanoseconds.
    pub late_by: u64,
    /// What goes from one node to another arrives in the order in which it was sent.
    pub in_order: bool,
    /// Directions in which nothing passes, and until when.
    cuts: BTreeMap<(NodeId, NodeId), u64>,
    last: BTreeMap<(NodeId, NodeId), u64>,
}

/// Everything arrives, a microsecond after it was sent.
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

/// Something within a range. Where there is no choice, nothing is drawn.
pub(super) fn draw(random: &mut Random, range: &Range<u64>) -> u64 {
    match range.end.saturating_sub(range.start) {
        0 => range.start,
        width => range.start + random.next_u64() % width,
    }
}

/// Does something of that probability happen? What cannot happen draws nothing.
fn happens(random: &mut Random, per_thousand: u32) -> bool {
    per_thousand > 0 && random.next_u64() % 1000 < u64::from(per_thousand)
}

impl Network {
    /// Nothing passes from `from` to `to` until then (true time, nanoseconds).
    pub fn cut(&mut self, from: NodeId, to: NodeId, until: u64) {
        let end = self.cuts.entry((from, to)).or_insert(0);
        *end = until.max(*end);
    }

    /// Nothing passes between any of the ones and any of the others until then.
    pub fn cut_apart(&mut self, ones: &[NodeId], others: &[NodeId], until: u64) {
        for (one, other) in ones.iter().flat_map(|one| others.iter().map(|other| (*one, *other))) {
            self.cut(one, other, until);
            self.cut(other, one, until);
        }
    }

    /// Mends the directions that are chosen.
    pub fn mend(&mut self, which: impl Fn(NodeId, NodeId) -> bool) {
        self.cuts.retain(|(from, to), _| !which(*from, *to));
    }

    /// When what is sent at `now` arrives: once, more often, or never.
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

/// The nodes' disks.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Disks {
    /// How long a write takes, nanoseconds. `None`: it is done within the step that asks for it.
    pub delay: Option<Range<u64>>,
    /// Power is lost at the write of that number, counted from 1 over all nodes; is it done?
    pub power_fails_at: Option<(u64, bool)>,
}
