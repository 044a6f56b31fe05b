//! Effect intervals: from an incarnation's first accepted write on a resource to its last.
//!
//! In a log without tokens and generations, each stretch in which only one node writes counts as its own leadership:
//! since a node may have been elected again, no two leaders at once are claimed. That nodes took turns is remembered.

use crate::by_resource::ByResource;
use protocols::{
    history::Header,
    types::{Incarnation, NodeId, Resource},
};
use std::collections::{BTreeMap, BTreeSet};

/// The effect of one incarnation on one resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) incarnation: Incarnation,
    /// Writes that counted. If 0, the times are meaningless.
    pub(crate) count: u64,
    pub(crate) first: Moment,
    pub(crate) last: Moment,
}

/// A time, with its place in the order of events, which also orders events of one microsecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) t_us: u64,
    place: u64,
}

/// A node wrote again after another had written, and may or may not have been elected again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    pub(crate) resource: Resource,
    /// The node that wrote again.
    pub(crate) node: NodeId,
    /// The node that wrote in between.
    pub(crate) between: NodeId,
    /// When the first node wrote again, microseconds.
    pub(crate) t_us: u64,
}

/// Intervals that overlap.
#[derive(Clone, Debug)]
pub(crate) struct Overlap {
    pub(crate) resource: Resource,
    /// The most intervals that contain one moment.
    pub(crate) most: u64,
    /// The intervals that contain this moment, by their beginning.
    pub(crate) intervals: Vec<Interval>,
}

/// The intervals of every resource. Memory grows with incarnations, not with writes; another write of the latest
/// incarnation costs one comparison.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    resources: ByResource<OnResource>,
    /// They come from a log, which may omit leaderships.
    of_log: bool,
    turns: Option<Turns>,
}

#[derive(Clone, Debug, Default)]
struct OnResource {
    place: u64,
    latest: usize,
    /// The interval of the latest act, and when one interval first overlapped another, microseconds.
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
    /// For a history with this header, or for a log without one.
    pub(crate) fn new(header: Option<&Header>) -> Self {
        Effects { of_log: header.is_none(), ..Effects::default() }
    }

    /// Do they come from a log, which may omit leaderships?
    pub(crate) fn are_of_log(&self) -> bool {
        self.of_log
    }

    /// An incarnation tried to act: it is known from now on, but has no interval yet.
    pub(crate) fn tried(&mut self, resource: Resource, incarnation: Incarnation) {
        if self.of_log && !incarnation.is_known() {
            return;
        }
        self.resources.at(resource).interval(incarnation);
    }

    /// An incarnation acted: its interval extends to now.
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
            // Another incarnation has acted since.
            if known {
                on.overlapped_us.get_or_insert(t_us);
            }
            on.acted = Some(on.latest);
        }
    }

    /// A node acted in a log that does not name its leadership.
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

    /// Work has ended: the interval that contains its beginning extends to its end.
    pub(crate) fn worked(&mut self, resource: Resource, incarnation: Incarnation, from_us: u64, to_us: u64) {
        let unnamed = self.of_log && !incarnation.is_known();
        let on = self.resources.at(resource);
        on.place += 1;
        // Intervals that end and begin at the same instant do not overlap.
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
            // No interval contains its beginning, since it failed in the end; the next act begins a stretch of its own.
            None => {
                on.intervals.push(Interval { incarnation, count: 1, first: from, last: to });
                on.latest = on.intervals.len() - 1;
                on.acted = Some(on.latest);
            }
        }
    }

    /// Did nodes take turns writing, so that it is open whether they were elected again?
    pub(crate) fn turns(&self) -> Option<Turns> {
        self.turns
    }

    /// When an interval on `resource` first overlapped another, microseconds: at an act, not at the other's beginning.
    fn overlapped_us(&self, resource: Resource) -> Option<u64> {
        self.resources.of(resource).overlapped_us
    }

    /// When an overlap arose, microseconds: at an act, or at a beginning if leaderships cannot be told apart.
    pub(crate) fn began_us(&self, overlap: &Overlap) -> Option<u64> {
        self.overlapped_us(overlap.resource).or_else(|| overlap.intervals.iter().map(|i| i.first.t_us).max())
    }

    /// The resources that anybody tried or acted on, and some others.
    pub(crate) fn resources(&self) -> impl Iterator<Item = Resource> {
        self.resources.iter().map(|(resource, _)| resource)
    }

    /// The intervals with an act on `resource`, by their beginning.
    pub(crate) fn intervals(&self, resource: Resource) -> Vec<Interval> {
        self.resources.of(resource).acted()
    }

    /// The most incarnations that tried on one resource.
    pub(crate) fn tried_most(&self) -> u64 {
        self.resources.iter().map(|(_, r)| r.intervals.len() as u64).max().unwrap_or(0)
    }

    /// The number of incarnations that acted on any resource.
    pub(crate) fn incarnations(&self) -> u64 {
        let all = self.resources.iter().flat_map(|(_, r)| r.intervals.iter());
        all.filter(|i| i.count > 0).map(|i| i.incarnation).collect::<BTreeSet<_>>().len() as u64
    }

    /// The most intervals that contain one moment, on any resource; `None` if nobody acted.
    pub(crate) fn overlap(&self) -> Option<Overlap> {
        // The first resource wins a draw: max_by_key would take the last.
        self.resources.iter().rev().filter_map(|(r, _)| self.overlap_on(r)).max_by_key(|o| o.most)
    }

    /// The total time during which intervals overlapped, on the resource with most of it, microseconds.
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

/// The total time covered by at least two of these intervals, which are sorted by their beginnings.
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
