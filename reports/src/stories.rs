//! The stories of all groups of a run. A report shows one of them.

use crate::{Clock, Judgement, Names, by_group::ByGroup, course::Course, timeline::Highlights};
use protocols::history::{Event, Header, Sink};

/// Collects the story of each group while the history streams by.
pub struct Stories(ByGroup<Course>);

impl Stories {
    /// Empty stories for a history with this header. Without one, groups are found as their events arrive.
    pub fn new(header: Option<&Header>) -> Self {
        let make = |header: &Header| Course::new(Some(header), Names::of(&header.nodes, Some(header)));
        Stories(ByGroup::new(header, make, || Course::new(None, Names::default())))
    }

    /// Adds names that the history's reader has met since: without a header they come just before the events that use
    /// them.
    pub fn learn(&mut self, nodes: &[String], resources: Option<&[String]>) {
        self.0.each().iter_mut().for_each(|course| course.learn(nodes, resources));
    }

    /// Sets the clock that formats times.
    pub fn tell_times(&mut self, clock: Clock) {
        self.0.each().iter_mut().for_each(|course| course.tell_times(clock));
    }

    /// The story to report: of the first group in which something was wrong, or else of the liveliest.
    pub fn into_telling(self, judgement: &Judgement) -> Highlights {
        let mut all = self.0.into_each();
        let (told, groups) = (judgement.worst_group(), all.len());
        let of = judgement.groups.get(told).unwrap_or(judgement);
        Highlights::of(all.swap_remove(told), of, (groups > 1).then_some((told, groups))).0
    }
}

impl Sink for Stories {
    #[inline]
    fn record(&mut self, event: &Event) {
        self.0.record(event);
    }

    fn record_all(&mut self, events: &[Event]) {
        self.0.record_all(events);
    }
}
