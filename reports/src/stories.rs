//! The stories of all groups of a run. A report shows one of them.

use crate::{Clock, Judgement, Names, by_group::ByGroup, cause::Cause, course::Course, timeline::Highlights};
use protocols::history::{Event, Header, Sink};

/// Collects the story of each group while the history streams by.
pub struct Stories(ByGroup<Story>);

/// One group's story: its highlights and its course.
struct Story {
    highlights: Highlights,
    course: Course,
}

impl Story {
    fn new(header: Option<&Header>, names: &Names) -> Self {
        Story { highlights: Highlights::new(header, names), course: Course::new(header, names.clone()) }
    }
}

impl Sink for Story {
    fn record(&mut self, event: &Event) {
        self.highlights.record(event);
        self.course.record(event);
    }

    fn record_all(&mut self, events: &[Event]) {
        self.highlights.record_all(events);
        self.course.record_all(events);
    }
}

impl Stories {
    /// Empty stories for a history with this header. Without one, groups are found as their events arrive.
    pub fn new(header: Option<&Header>) -> Self {
        let make = |header: &Header| Story::new(Some(header), &Names::of(&header.nodes, Some(header)));
        Stories(ByGroup::new(header, make, || Story::new(None, &Names::default())))
    }

    /// Adds names that the history's reader has met since: without a header they come just before the events that use
    /// them.
    pub fn learn(&mut self, nodes: &[String], resources: Option<&[String]>) {
        for story in self.0.each() {
            story.highlights.learn(nodes, resources);
            story.course.learn(nodes, resources);
        }
    }

    /// Sets the clock that formats times.
    pub fn tell_times(&mut self, clock: Clock) {
        for story in self.0.each() {
            story.highlights.tell_times(clock);
            story.course.tell_times(clock);
        }
    }

    /// The story to report: of the first group in which something was wrong, or else of the liveliest.
    pub fn into_telling(self, judgement: &Judgement) -> Highlights {
        let mut all = self.0.into_each();
        let (told, groups) = (judgement.worst_group(), all.len());
        let several = groups > 1;
        let Story { mut highlights, course } = all.swap_remove(told);
        highlights.finish();
        let of = judgement.groups.get(told).unwrap_or(judgement);
        let model = course.into_model(of, several.then_some((told, groups)));
        highlights.dark = of.metrics.dark.clone();
        (highlights.group, highlights.cause) = (several.then_some(told as u16), Cause::of(&model));
        highlights
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
