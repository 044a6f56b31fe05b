//! The items of one resource: which were done, and which a cursor has passed.

use std::collections::BTreeMap;

/// Items numbered from 1, as they are done, possibly several times, and as cursors pass them. Memory is bounded by the
/// gaps between the items done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Ranges of items done: first to last.
    done: BTreeMap<u64, u64>,
    /// When something was first found beyond a gap, microseconds, by the gap's first item.
    ahead: BTreeMap<u64, u64>,
    /// The furthest cursor recorded.
    cursor: u64,
    /// How many items were done again.
    pub(crate) redone: u64,
}

impl Row {
    /// An item was done at `t_us`, microseconds. Returns true if it is new.
    pub(crate) fn did(&mut self, item: u64, t_us: u64) -> bool {
        let before = self.done.range(..=item).next_back().map(|(from, to)| (*from, *to));
        if self.has(item) {
            self.redone += 1;
            return false;
        }
        let from = match before {
            Some((from, to)) if to + 1 == item => from,
            before => {
                let gap = before.map_or(1, |(_, to)| to + 1);
                if gap < item {
                    self.ahead.entry(gap).or_insert(t_us);
                }
                item
            }
        };
        let to = self.done.remove(&(item + 1)).unwrap_or(item);
        self.done.insert(from, to);
        true
    }

    /// Was the item done?
    pub(crate) fn has(&self, item: u64) -> bool {
        self.done.range(..=item).next_back().is_some_and(|(_, to)| *to >= item)
    }

    /// A cursor was recorded, which claims that everything up to this item is done.
    pub(crate) fn passed(&mut self, item: u64, t_us: u64) {
        self.cursor = self.cursor.max(item);
        let done = self.done.first_key_value().filter(|(from, _)| **from == 1).map_or(0, |(_, to)| *to);
        if done < item {
            self.ahead.entry(done + 1).or_insert(t_us);
        }
    }

    /// The number of distinct items done.
    pub(crate) fn items(&self) -> u64 {
        self.done.iter().map(|(from, to)| to - from + 1).sum()
    }

    /// Ranges of items that nobody did although a cursor or later work passed them: first, last, and since when
    /// something lies beyond them, microseconds.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let begins = [0].into_iter().chain(self.done.values().copied()).map(|to| to + 1);
        let last = self.done.last_key_value().map_or(0, |(_, to)| *to);
        let end = (self.cursor > last).then_some(self.cursor + 1);
        let ends = self.done.keys().copied().chain(end);
        let between = begins.zip(ends).filter(|(from, before)| from < before);
        between.map(|(from, before)| {
            let since = self.ahead.range(..=from).next_back().map_or(0, |(_, t_us)| *t_us);
            (from, before - 1, since)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(items: &[u64], cursor: u64) -> Row {
        let mut row = Row::default();
        for (place, item) in items.iter().enumerate() {
            row.did(*item, place as u64);
        }
        row.passed(cursor, 100);
        row
    }

    #[test]
    fn what_is_done_again_is_counted_and_what_is_left_out_is_known() {
        for (items, cursor, done, redone, gaps) in [
            (&[1, 2, 3][..], 3, 3, 0, vec![]),
            (&[1, 2, 2, 1, 3], 2, 3, 2, vec![]),
            (&[1, 2, 4, 5], 2, 4, 0, vec![(3, 3, 2)]),
            (&[1, 2, 4, 5, 3], 2, 5, 0, vec![]),
            (&[1, 2], 4, 2, 0, vec![(3, 4, 100)]),
            (&[], 2, 0, 0, vec![(1, 2, 100)]),
            (&[3, 5], 6, 2, 0, vec![(1, 2, 0), (4, 4, 1), (6, 6, 1)]),
            (&[2, 2, 1], 0, 2, 1, vec![]),
        ] {
            let row = row(items, cursor);
            assert_eq!((row.items(), row.redone), (done, redone), "{items:?}");
            assert_eq!(row.gaps().collect::<Vec<_>>(), gaps, "{items:?} {cursor}");
        }
    }
}
