//! One listener per group of a history: it hears the events of its group and those that concern all groups. One such
//! listener tells the story of its group.

use crate::{Clock, Judgement, Names, course::Course, timeline::Highlights};
use protocols::{
    history::{Event, Header, Kind, Sink},
    types::{Resource, USUAL_RESOURCES},
};

/// One listener per group.
pub(crate) struct ByGroup<S> {
    each: Vec<S>,
    /// How many resources each group has.
    resources: u16,
    /// Only for a log without a header: makes a listener for a group met later, and keeps the events that it must hear
    /// first.
    met: Option<Met<S>>,
}

struct Met<S> {
    make: Box<dyn Fn() -> S + Send>,
    shared: Vec<Event>,
}

impl<S: Sink> ByGroup<S> {
    /// Listeners to a history with this header. Without a header, groups are found as their events arrive, and
    /// `unheralded` makes the listener for each.
    pub(crate) fn new(
        header: Option<&Header>,
        make: impl Fn(&Header) -> S,
        unheralded: impl Fn() -> S + Send + 'static,
    ) -> Self {
        let (each, resources, met) = match header {
            None => (
                vec![unheralded()],
                USUAL_RESOURCES.len(),
                Some(Met { make: Box::new(unheralded), shared: Vec::new() }),
            ),
            Some(h) if h.groups > 1 => {
                let each = (0..h.groups).map(|group| make(&h.of_group(group))).collect();
                (each, h.resources.len() / usize::from(h.groups), None)
            }
            Some(h) => (vec![make(h)], h.resources.len(), None),
        };
        ByGroup { each, resources: resources as u16, met }
    }

    /// The listeners, by group.
    pub(crate) fn each(&mut self) -> &mut [S] {
        &mut self.each
    }

    pub(crate) fn into_each(self) -> Vec<S> {
        self.each
    }

    /// In a log without a header: adds a listener for a new group, and keeps an event that concerns all groups for
    /// later ones.
    #[cold]
    fn meet(&mut self, event: &Event) {
        let Some(Met { make, shared }) = &mut self.met else { return };
        while self.each.len() <= usize::from(event.group) {
            let mut new = make();
            shared.iter().for_each(|event| new.record(event));
            self.each.push(new);
        }
        if event.kind.is_shared() {
            shared.push(event.clone());
        }
    }

    /// The event, with its resource numbered within its own group.
    fn localized(&self, event: &Event) -> Event {
        let own = |resource: Resource| Resource(resource.0 % self.resources.max(1));
        let mut event = event.clone();
        if let Kind::Seal { resource, .. } | Kind::Work { resource, .. } = &mut event.kind {
            *resource = own(*resource);
        } else if let Kind::Issue { write, .. } | Kind::Apply { write, .. } = &mut event.kind {
            write.resource = own(write.resource);
        } else if let Kind::Deleted(deleted) = &mut event.kind {
            deleted.resource = own(deleted.resource);
        }
        event
    }
}

impl<S: Sink> Sink for ByGroup<S> {
    #[inline]
    fn record(&mut self, event: &Event) {
        if self.met.is_some() {
            self.meet(event);
        }
        if let [only] = self.each.as_mut_slice() {
            return only.record(event);
        }
        if event.kind.is_shared() {
            return self.each.iter_mut().for_each(|listener| listener.record(event));
        }
        if event.group == 0 {
            return self.each[0].record(event);
        }
        let own = self.localized(event);
        if let Some(listener) = self.each.get_mut(usize::from(event.group)) {
            listener.record(&own);
        }
    }

    fn record_all(&mut self, events: &[Event]) {
        match (&self.met, self.each.as_mut_slice()) {
            (None, [only]) => only.record_all(events),
            _ => events.iter().for_each(|event| self.record(event)),
        }
    }
}

// The stories of all groups of a run. A report shows one of them.

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
