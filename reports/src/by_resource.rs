//! A table of values by resource, grown on demand; and the items of one resource: which were done, and which a cursor has
//! passed.

use protocols::types::Resource;
use std::collections::BTreeMap;

/// How many values are stored inline: the usual resources, which get every write of a usual run.
const NEAR: usize = 2;

/// Values by [`Resource`]; those not yet accessed have their initial value.
#[derive(Clone, Debug)]
pub(crate) struct ByResource<T> {
    near: [T; NEAR],
    far: Vec<T>,
    beginning: T,
}

impl<T: Clone + Default> Default for ByResource<T> {
    fn default() -> Self {
        ByResource::beginning(T::default())
    }
}

impl<T: Clone> ByResource<T> {
    /// A table whose values are all `value` at first.
    pub(crate) fn beginning(value: T) -> Self {
        ByResource { near: std::array::from_fn(|_| value.clone()), far: Vec::new(), beginning: value }
    }

    #[inline]
    pub(crate) fn of(&self, resource: Resource) -> &T {
        match self.near.get(resource.index()) {
            Some(value) => value,
            None => self.far.get(resource.index() - NEAR).unwrap_or(&self.beginning),
        }
    }

    #[inline]
    pub(crate) fn at(&mut self, resource: Resource) -> &mut T {
        match resource.index() {
            place if place < NEAR => &mut self.near[place],
            place => self.far(place - NEAR),
        }
    }

    #[cold]
    fn far(&mut self, place: usize) -> &mut T {
        if place >= self.far.len() {
            self.far.resize(place + 1, self.beginning.clone());
        }
        &mut self.far[place]
    }

    /// The values accessed so far and those stored inline, in order of resources.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (Resource, &T)> {
        let numbers = (0..=u16::MAX).map(Resource);
        let all = self.near.len() + self.far.len();
        numbers.take(all).map(|resource| (resource, self.of(resource)))
    }
}

// The items of one resource: which were done, and which a cursor has passed.

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
