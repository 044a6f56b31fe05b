//! Writes that were sent but never decided by the store.

use crate::by_resource::ByResource;
use protocols::{
    message::Write,
    types::{Incarnation, Resource},
};
use std::collections::{BTreeMap, VecDeque};

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
