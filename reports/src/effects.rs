//! Effect intervals: from an incarnation's first accepted write on a resource to its last.
//!
//! In a log that says neither tokens nor generations, each stretch in which nobody but one node writes is taken for a leadership of
//! its own: that two led at once is not claimed where one may have been elected again. That it was by turns is remembered.

use crate::by_resource::ByResource;
use protocols::{
    history::Header,
    types::{Incarnation, NodeId, Resource},
};
use std::collections::{BTreeMap, BTreeSet};

/// What one incarnation did on one resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    /// Who.
    pub(crate) incarnation: Incarnation,
    /// Writes that counted. When 0, the times mean nothing.
    pub(crate) count: u64,
    /// The first of them.
    pub(crate) first: Moment,
    /// The last of them.
    pub(crate) last: Moment,
}

/// A moment, and its place in the order of what happened, which also tells events of one microsecond apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Moment {
    /// Microseconds.
    pub(crate) t_us: u64,
    place: u64,
}

/// A node wrote, another did, and the first wrote again, which nothing tells from having been elected again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// Where.
    pub(crate) resource: Resource,
    /// Who wrote again.
    pub(crate) node: NodeId,
    /// Who wrote in between.
    pub(crate) between: NodeId,
    /// When the first wrote again, microseconds.
    pub(crate) t_us: u64,
}

/// Intervals that overlap.
#[derive(Clone, Debug)]
pub(crate) struct Overlap {
    /// Where.
    pub(crate) resource: Resource,
    /// Most intervals that contain one moment.
    pub(crate) most: u64,
    /// The intervals that contain that moment, by their beginning.
    pub(crate) intervals: Vec<Interval>,
}

/// The intervals of every resource. Memory grows with incarnations, not with writes; a write of the incarnation that also
/// wrote last costs a comparison.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    resources: ByResource<OnResource>,
    /// They are of a log, which may leave leaderships untold.
    of_log: bool,
    turns: Option<Turns>,
}

#[derive(Clone, Debug, Default)]
struct OnResource {
    place: u64,
    latest: usize,
    /// Whose interval reached to now, and when one first came to overlap another, microseconds.
    acted: Option<usize>,
    overlapped_us: Option<u64>,
    by_incarnation: BTreeMap<Incarnation, usize>,
    intervals: Vec<Interval>,
}

impl OnResource {
    #[inline]
    fn interval(&mut self, incarnation: Incarnation) -> &mut Interval {
        if self.intervals.get(self.latest).is_none_or(|i| i.incarnation != incarnation) {
            let intervals = &mut self.intervals;
            self.latest = *self.by_incarnation.entry(incarnation).or_insert_with(|| {
                let moment = Moment::default();
                intervals.push(Interval { incarnation, count: 0, first: moment, last: moment });
                intervals.len() - 1
            });
        }
        &mut self.intervals[self.latest]
    }

    fn acted(&self) -> Vec<Interval> {
        let mut acted: Vec<_> = self.intervals.iter().copied().filter(|i| i.count > 0).collect();
        acted.sort_by_key(|i| i.first);
        acted
    }
}

impl Effects {
    /// Of a history with this header, or of a log.
    pub(crate) fn new(header: Option<&Header>) -> Self {
        Effects { of_log: header.is_none(), ..Effects::default() }
    }

    /// May they leave leaderships untold?
    pub(crate) fn are_of_log(&self) -> bool {
        self.of_log
    }

    /// An incarnation tried; it is known from now on, but has no interval yet.
    pub(crate) fn tried(&mut self, resource: Resource, incarnation: Incarnation) {
        if self.of_log && !incarnation.is_known() {
            return;
        }
        self.resources.at(resource).interval(incarnation);
    }

    /// An incarnation acted: its interval reaches to now.
    #[inline]
    pub(crate) fn acted(&mut self, resource: Resource, incarnation: Incarnation, t_us: u64) {
        if self.of_log && !incarnation.is_known() {
            return self.acted_unnamed(resource, incarnation, t_us);
        }
        let on = self.resources.at(resource);
        on.place += 1;
        let now = Moment { place: on.place, t_us };
        let interval = on.interval(incarnation);
        let known = interval.count > 0;
        if !known {
            interval.first = now;
        }
        interval.count += 1;
        interval.last = now;
        if on.acted != Some(on.latest) {
            // Somebody else has acted since it last did.
            if known {
                on.overlapped_us.get_or_insert(t_us);
            }
            on.acted = Some(on.latest);
        }
    }

    /// A node acted in a log that does not say in which leadership.
    fn acted_unnamed(&mut self, resource: Resource, unnamed: Incarnation, t_us: u64) {
        let on = self.resources.at(resource);
        on.place += 1;
        let now = Moment { place: on.place, t_us };
        if let Some(latest) = on.acted.and_then(|acted| on.intervals.get_mut(acted)) {
            if latest.incarnation.node == unnamed.node {
                (latest.count, latest.last) = (latest.count + 1, now);
                return;
            }
            let between = latest.incarnation.node;
            let acted = |interval: &Interval| interval.count > 0 && interval.incarnation.node == unnamed.node;
            if self.turns.is_none() && on.intervals.iter().any(acted) {
                self.turns = Some(Turns { resource, node: unnamed.node, between, t_us });
            }
        }
        on.intervals.push(Interval { incarnation: unnamed, count: 1, first: now, last: now });
        on.latest = on.intervals.len() - 1;
        on.acted = Some(on.latest);
    }

    /// Work from one moment to another has ended: the interval that holds its beginning reaches to its end.
    pub(crate) fn worked(&mut self, resource: Resource, incarnation: Incarnation, from_us: u64, to_us: u64) {
        let unnamed = self.of_log && !incarnation.is_known();
        let on = self.resources.at(resource);
        on.place += 1;
        // What ends and what begins at one instant do not overlap.
        let (from, to) = (Moment { t_us: from_us, place: on.place }, Moment { t_us: to_us, place: 0 });
        let began =
            |i: &&mut Interval| i.incarnation.node == incarnation.node && i.count > 0 && i.first.t_us <= from_us;
        let interval = match unnamed {
            true => on.intervals.iter_mut().rev().find(began),
            false => Some(on.interval(incarnation)),
        };
        match interval {
            Some(interval) if interval.count > 0 => interval.last = interval.last.max(to),
            Some(interval) => *interval = Interval { incarnation, count: 1, first: from, last: to },
            // It failed in the end; whoever acts next begins a stretch of its own.
            None => {
                on.intervals.push(Interval { incarnation, count: 1, first: from, last: to });
                on.latest = on.intervals.len() - 1;
                on.acted = Some(on.latest);
            }
        }
    }

    /// Did nodes write by turns, with nothing that tells whether they were elected again?
    pub(crate) fn turns(&self) -> Option<Turns> {
        self.turns
    }

    /// When an interval on `resource` first came to overlap another, microseconds: with an act, not with the other's beginning.
    fn overlapped_us(&self, resource: Resource) -> Option<u64> {
        self.resources.of(resource).overlapped_us
    }

    /// When an overlap came to be, microseconds: with an act or, where leaderships are not told apart, with a beginning.
    pub(crate) fn began_us(&self, overlap: &Overlap) -> Option<u64> {
        self.overlapped_us(overlap.resource).or_else(|| overlap.intervals.iter().map(|i| i.first.t_us).max())
    }

    /// The resources that anybody tried or acted on, and some beside them.
    pub(crate) fn resources(&self) -> impl Iterator<Item = Resource> {
        self.resources.iter().map(|(resource, _)| resource)
    }

    /// The intervals of those who acted on `resource`, by their beginning.
    pub(crate) fn intervals(&self, resource: Resource) -> Vec<Interval> {
        self.resources.of(resource).acted()
    }

    /// How many incarnations tried on the resource where most did.
    pub(crate) fn tried_most(&self) -> u64 {
        self.resources.iter().map(|(_, r)| r.intervals.len() as u64).max().unwrap_or(0)
    }

    /// How many incarnations acted, on whatever resource.
    pub(crate) fn incarnations(&self) -> u64 {
        let all = self.resources.iter().flat_map(|(_, r)| r.intervals.iter());
        all.filter(|i| i.count > 0).map(|i| i.incarnation).collect::<BTreeSet<_>>().len() as u64
    }

    /// Where most intervals contain one moment. `None` when nobody acted.
    pub(crate) fn overlap(&self) -> Option<Overlap> {
        // The first resource wins a draw: max_by_key would take the last.
        self.resources.iter().rev().filter_map(|(r, _)| self.overlap_on(r)).max_by_key(|o| o.most)
    }

    /// How long more than one interval lasted at once, on the resource where that was longest; microseconds.
    pub(crate) fn several_us(&self) -> u64 {
        self.resources().map(|resource| several_us(&self.intervals(resource))).max().unwrap_or(0)
    }

    fn overlap_on(&self, resource: Resource) -> Option<Overlap> {
        let mut open: Vec<Interval> = Vec::new();
        let mut most: Vec<Interval> = Vec::new();
        for interval in self.intervals(resource) {
            open.retain(|o| o.last >= interval.first);
            open.push(interval);
            if open.len() > most.len() {
                most.clone_from(&open);
            }
        }
        if most.is_empty() { None } else { Some(Overlap { resource, most: most.len() as u64, intervals: most }) }
    }
}

/// The time that at least two of these intervals, which are in the order of their beginnings, have in common.
fn several_us(intervals: &[Interval]) -> u64 {
    let (mut one_until, mut two_until, mut sum_us) = (0, 0, 0);
    for Interval { first, last, .. } in intervals {
        let until = last.t_us.min(one_until);
        sum_us += until.saturating_sub(first.t_us.max(two_until));
        (one_until, two_until) = (last.t_us.max(one_until), until.max(two_until));
    }
    sum_us
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::types::NodeId;

    fn incarnation(token: u64) -> Incarnation {
        Incarnation { token, node: NodeId(0), generation: 1 }
    }

    #[test]
    fn order_decides_within_a_microsecond() {
        let mut effects = Effects::default();
        [1, 1, 2, 2].into_iter().for_each(|e| effects.acted(Resource::SEQUENCE, incarnation(e), 7));
        assert_eq!(effects.overlap().map(|o| o.most), Some(1));
        effects.acted(Resource::SEQUENCE, incarnation(1), 7);
        assert_eq!(effects.overlap().map(|o| o.most), Some(2));
    }

    #[test]
    fn the_most_that_overlap_at_one_moment_count() {
        let mut effects = Effects::default();
        for (token, t) in [(1, 1), (2, 2), (1, 3), (3, 4), (2, 5), (3, 6), (4, 7)] {
            effects.acted(Resource::SCHEDULE, incarnation(token), t);
        }
        let overlap = effects.overlap().unwrap();
        assert_eq!((overlap.resource, overlap.most), (Resource::SCHEDULE, 2));
        assert_eq!(effects.incarnations(), 4);
    }

    #[test]
    fn what_several_have_in_common_counts_once() {
        let mut effects = Effects::default();
        // 1 acts from 1 to 10, 2 from 3 to 5, 3 from 4 to 12 and 4 from 20 to 30.
        for (token, t) in [(1, 1), (2, 3), (3, 4), (2, 5), (1, 10), (3, 12), (4, 20), (4, 30)] {
            effects.acted(Resource::SCHEDULE, incarnation(token), t);
        }
        effects.acted(Resource::SEQUENCE, incarnation(1), 2);
        assert_eq!(effects.several_us(), 7);
        assert_eq!(Effects::default().several_us(), 0);
    }
}
