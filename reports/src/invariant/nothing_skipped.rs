//! A hand-over may repeat items of the leader's work-set, but leaves none out, even if they have external effects.
//!
//! **Formula.** At the end of the history, every item of a resource before one that was done, or passed by a recorded
//! cursor, was done by a write that the resource accepted. If a resource has no items, a record is no cursor. A log
//! without a header may begin anywhere: items before its first are not required.
//!
//! **Could fail** if two leaderships did items of one resource: within one, nothing has to be found again.
//!
//! **Memory.** The gaps between the items done.
//!
//! **Source.** The design exercise, "Handoff of in-flight work": "or both redo/skip work".

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::{
    by_resource::{ByResource, Row},
    words::{count, grouped},
};
use protocols::{
    message::WriteVerdict,
    types::{Incarnation, Operation},
};

pub const ENTRY: Entry = Entry {
    name: "nothing_skipped",
    about: "No item of the leader's work-set is left out when leadership goes to another.",
    class: Class::Safety,
    only_defects: true,
    new: |header| Box::new(NothingSkipped { on: ByResource::default(), of_log: header.is_none() }),
};

struct NothingSkipped {
    on: ByResource<On>,
    of_log: bool,
}

/// The state of one resource.
#[derive(Clone, Default)]
struct On {
    row: Row,
    /// Who did the last item.
    last: Option<Incarnation>,
    handed_over: bool,
}

impl NothingSkipped {
    /// The items left out. A log may begin anywhere: items before its first may have been done.
    fn gaps<'a>(&self, on: &'a On) -> impl Iterator<Item = (u64, u64, u64)> + 'a {
        let of_log = self.of_log;
        on.row.gaps().filter(move |(from, _, _)| !of_log || *from > 1)
    }
}

impl Invariant for NothingSkipped {
    fn wants(&self) -> Kinds {
        Kinds::APPLY_ASIDE
    }

    fn observe(&mut self, event: &Event) {
        let Kind::Apply { node, write, verdict: WriteVerdict::Ok, .. } = &event.kind else { return };
        let Some(item) = write.payload.map(|payload| payload.number.get()) else { return };
        match write.operation {
            Operation::Perform | Operation::Effect => {
                let (on, by) = (self.on.at(write.resource), write.incarnation(*node));
                on.handed_over |= on.last.replace(by).is_some_and(|last| last != by);
                on.row.did(item, event.t_us);
            }
            Operation::Record => self.on.at(write.resource).row.passed(item, event.t_us),
            _ => {}
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        let followed = self.on.iter().filter(|(_, on)| on.last.is_some());
        followed.flat_map(|(_, on)| self.gaps(on)).map(|(_, _, t_us)| t_us).next()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let (mut violations, mut done, mut again, mut could_fail) = (Violations::default(), 0, 0, false);
        for (resource, on) in self.on.iter().filter(|(_, on)| on.last.is_some()) {
            (done, again) = (done + on.row.items(), again + on.row.redone);
            could_fail |= on.handed_over;
            self.gaps(on).for_each(|(from, to, t_us)| violations.add(t_us, (resource, from, to)));
        }
        let violated = violations.sentence(|(resource, from, to)| {
            let on = ending.names.resource(*resource);
            match from == to {
                true => format!("item {} of {on} was passed, and nobody did it", grouped(*from)),
                false => {
                    format!("items {} to {} of {on} were passed, and nobody did them", grouped(*from), grouped(*to))
                }
            }
        });
        let seen = match done {
            0 => "no work-set".to_owned(),
            _ => format!("{} done, {} again, none left out", count(done, "item"), grouped(again)),
        };
        Finding {
            holds: violated.is_none(),
            could_fail: could_fail || violated.is_some(),
            detail: violated.unwrap_or(seen.into()),
        }
    }
}
