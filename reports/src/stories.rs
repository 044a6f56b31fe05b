//! The stories of all groups of a run, of which a report tells one.

use crate::{Judgement, Names, Verdict, by_group::ByGroup, timeline::Highlights};
use protocols::history::{Event, Header, Sink};

/// Collects the story of each group while the history streams by.
pub struct Stories(ByGroup<Highlights>);

impl Stories {
    /// Nothing yet, of a history with this header; without one, groups are met with their events.
    pub fn new(header: Option<&Header>) -> Self {
        let make = |header: &Header| Highlights::new(Some(header), &Names::of(&header.nodes, Some(header)));
        Stories(ByGroup::new(header, make, || Highlights::new(None, &Names::default())))
    }

    /// Names that the history's reader has met since: without a header they come with the events, before these.
    pub fn learn(&mut self, nodes: &[String], resources: Option<&[String]>) {
        self.0.each().iter_mut().for_each(|story| story.learn(nodes, resources));
    }

    /// The story to tell: that of the first group in which something was wrong, or else that of the first.
    pub fn into_telling(self, judgement: &Judgement) -> Highlights {
        let worst = |verdict: Verdict| judgement.groups.iter().position(|group| group.verdict == verdict);
        let told = Some(judgement.verdict).filter(|verdict| *verdict != Verdict::Pass).and_then(worst).unwrap_or(0);
        let mut all = self.0.into_each();
        let several = all.len() > 1;
        let mut story = all.swap_remove(told);
        story.group = several.then_some(told as u16);
        story
    }
}

impl Sink for Stories {
    #[inline]
    fn record(&mut self, event: &Event) {
        self.0.record(event);
    }
}
