//! What was under way when a leadership ended: grants that ended in the service, and writes that the store never decided.

use super::figures::ms;
use crate::{by_resource::ByResource, effects::Effects};
use protocols::{
    history::{Event, Kind},
    message::Write,
    types::{Incarnation, NodeId, Resource},
};
use std::collections::{BTreeMap, VecDeque};

/// Ended grants, with holder and time; bounded by elections.
#[derive(Default)]
pub(super) struct Losses {
    latest: BTreeMap<NodeId, Incarnation>,
    ended_us: BTreeMap<Incarnation, u64>,
}

impl Losses {
    pub(super) fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Elected(incarnation) => {
                self.latest.insert(incarnation.node, *incarnation);
            }
            Kind::GrantEnd { node, token, .. } => {
                if let Some(incarnation) = self.latest.get(node).filter(|i| i.fencing_token() == *token) {
                    self.ended_us.entry(*incarnation).or_insert(event.t_us);
                }
            }
            _ => {}
        }
    }

    /// From the end of each grant to the last write that its incarnation sent, in the order of the grants' ends. An
    /// incarnation that never wrote had nothing to stop.
    pub(super) fn stopped_after_ms(&self, issues: &Effects) -> Vec<f64> {
        let mut last_us: BTreeMap<Incarnation, u64> = BTreeMap::new();
        for interval in issues.resources().flat_map(|resource| issues.intervals(resource)) {
            let last = last_us.entry(interval.incarnation).or_default();
            *last = interval.last.t_us.max(*last);
        }
        let stopped =
            |(i, ended_us): (&Incarnation, &u64)| Some((*ended_us, *last_us.get(i)? as i64 - *ended_us as i64));
        let mut stopped: Vec<_> = self.ended_us.iter().filter_map(stopped).collect();
        stopped.sort();
        stopped.into_iter().map(|(_, after_us)| ms(after_us)).collect()
    }
}

// Writes that were sent but never decided by the store.

/// How far ahead of the oldest undecided write another may be: a leader's window of writes is far smaller.
const WINDOW_MAX: u64 = 1 << 16;
/// Marks a decided write in the window, in place of its time.
const DECIDED: u64 = u64::MAX;

/// When the undecided writes of each incarnation were sent. A leader numbers its writes consecutively, so these are
/// windows whose decided front is dropped.
#[derive(Default)]
pub(super) struct Undecided {
    windows: Vec<Window>,
    by_writer: BTreeMap<(Resource, Incarnation), usize>,
    latest: ByResource<Option<(Incarnation, usize)>>,
}

#[derive(Default)]
struct Window {
    base: u64,
    issued_us: VecDeque<u64>,
}

impl Undecided {
    fn window(&mut self, resource: Resource, incarnation: Incarnation, create: bool) -> Option<&mut Window> {
        let index = match self.latest.of(resource) {
            Some((latest, index)) if *latest == incarnation => *index,
            _ => {
                let known = self.by_writer.get(&(resource, incarnation)).copied();
                let index = match known {
                    Some(index) => index,
                    None if !create => return None,
                    None => {
                        self.windows.push(Window::default());
                        self.by_writer.insert((resource, incarnation), self.windows.len() - 1);
                        self.windows.len() - 1
                    }
                };
                *self.latest.at(resource) = Some((incarnation, index));
                index
            }
        };
        self.windows.get_mut(index)
    }

    pub(super) fn issued(&mut self, t_us: u64, incarnation: Incarnation, write: &Write) {
        let Some(window) = self.window(write.resource, incarnation, true) else { return };
        if window.issued_us.is_empty() {
            window.base = write.seq;
        }
        let Some(ahead) = write.seq.checked_sub(window.base).filter(|ahead| *ahead < WINDOW_MAX) else { return };
        while window.issued_us.len() <= ahead as usize {
            window.issued_us.push_back(DECIDED);
        }
        window.issued_us[ahead as usize] = t_us;
    }

    pub(super) fn decided(&mut self, incarnation: Incarnation, write: &Write) {
        let Some(window) = self.window(write.resource, incarnation, false) else { return };
        let ahead = write.seq.checked_sub(window.base).and_then(|ahead| usize::try_from(ahead).ok());
        let Some(issued_us) = ahead.and_then(|ahead| window.issued_us.get_mut(ahead)) else { return };
        *issued_us = DECIDED;
        while window.issued_us.front() == Some(&DECIDED) {
            window.issued_us.pop_front();
            window.base += 1;
        }
    }

    /// The number of undecided writes among those sent by `until_us`.
    pub(super) fn count(&self, until_us: u64) -> u64 {
        let all = self.windows.iter().flat_map(|w| w.issued_us.iter());
        all.filter(|issued_us| **issued_us != DECIDED && **issued_us <= until_us).count() as u64
    }
}
