//! What cannot be undone is done once: no invoice is charged twice, no message is delivered twice.
//!
//! **Formula.** No two accepted external effects are for the same item of a resource, whoever requested them and under
//! whatever name. An effect that the other side recognised by its name was not accepted twice.
//!
//! **Could fail** if an effect was requested for an item that had already had it.
//!
//! **Memory.** The gaps between items that have had their effect, and who performed the latest 1,024.
//!
//! **Source.** *Leader Election Gone Wrong*, "Same invoice processed twice → customer charged twice"; the end-to-end
//! argument (Saltzer, Reed and Clark, 1984): duplicates are suppressed at the end that has the effect, or not at all.

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::{
    by_resource::{ByResource, Row},
    words::{count, grouped},
};
use protocols::{
    group,
    history::Header,
    message::WriteVerdict,
    types::{Incarnation, Operation, Resource, USUAL_RESOURCES},
};
use std::collections::VecDeque;

pub const ENTRY: Entry = Entry {
    name: "done_once",
    about: "What cannot be undone is done once: no invoice charged twice, no message delivered twice, no night's job run twice.",
    class: Class::Safety,
    only_defects: false,
    new: |header| Box::new(DoneOnce { usual: header.is_some_and(is_usual), ..DoneOnce::default() }),
};

fn is_usual(header: &Header) -> bool {
    header.resources.iter().all(|name| USUAL_RESOURCES.contains(&group::split(name).0))
}

/// How many of a resource's latest items are remembered with their performers.
const REMEMBERED: usize = 1_024;

#[derive(Default)]
struct DoneOnce {
    /// Do leaders do only the usual work, none of which has external effects?
    usual: bool,
    on: ByResource<On>,
    again: u64,
    violations: Violations<Violation>,
}

/// The state of one resource.
#[derive(Clone, Default)]
struct On {
    row: Row,
    /// Who performed the latest items.
    by: VecDeque<(u64, Incarnation)>,
}

struct Violation {
    resource: Resource,
    item: u64,
    by: Incarnation,
    before: Option<Incarnation>,
}

impl Invariant for DoneOnce {
    fn concerns(&self) -> bool {
        !self.usual
    }

    fn wants(&self) -> Kinds {
        Kinds::APPLY_ASIDE
    }

    fn observe(&mut self, event: &Event) {
        let Kind::Apply { node, write, verdict, .. } = &event.kind else { return };
        let Some(payload) = write.payload.filter(|_| write.operation == Operation::Effect) else { return };
        let (item, resource, by) = (payload.number.get(), write.resource, write.incarnation(*node));
        let on = self.on.at(resource);
        self.again += u64::from(on.row.has(item));
        if *verdict != WriteVerdict::Ok {
            return;
        }
        if !on.row.did(item, event.t_us) {
            let before = on.by.iter().rev().find(|(done, _)| *done == item).map(|(_, by)| *by);
            self.violations.add(event.t_us, Violation { resource, item, by, before });
        }
        if on.by.len() == REMEMBERED {
            on.by.pop_front();
        }
        on.by.push_back((item, by));
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.violations.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let violated = self.violations.sentence(|Violation { resource, item, by, before }| {
            let (who, on) = (ending.names.incarnation(*by), ending.names.resource(*resource));
            let before = before.map_or("somebody".to_owned(), |before| ending.names.incarnation(before));
            let before = if before == who { "it".to_owned() } else { before };
            format!("{who} did item {} of {on} again, which {before} had done", grouped(*item))
        });
        let done: u64 = self.on.iter().map(|(_, on)| on.row.items()).sum();
        let seen = match (done, self.again) {
            (0, _) => "no external effects".to_owned(),
            (_, 0) => format!("{}, none requested again", count(done, "external effect")),
            (_, again) => {
                format!("{}, each once; {} requested again", count(done, "external effect"), grouped(again))
            }
        };
        Finding {
            holds: violated.is_none(),
            could_fail: self.again > 0 || violated.is_some(),
            detail: violated.unwrap_or(seen.into()),
        }
    }
}
