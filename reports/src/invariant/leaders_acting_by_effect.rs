//! At no time do two leaders take effect on one resource.
//!
//! **Formula.** A leadership incarnation has, at a resource, the effect interval from its first *accepted* write to its
//! last. Its value at time t is how many of these intervals contain t; it is never above 1. Belief plays no part: a node
//! may believe what it wants as long as the resource refuses it. Within a microsecond the order of application decides.
//!
//! **Could fail** when writes of at least two incarnations reached one resource, whatever became of them.
//!
//! **Source.** The project's definitions ("leaders_acting_by_effect"); Kleppmann, "How to do distributed locking", 2016.

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds};
use crate::{
    effects::{Effects, Overlap},
    words::{count, duration, moment},
};
use protocols::message::WriteVerdict;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "leaders_acting_by_effect",
    about: "At no time do two leaders take effect on one resource.",
    class: Class::Safety,
    only_defects: false,
    new: |header| Box::new(LeadersActing { effects: Effects::new(header) }),
};

struct LeadersActing {
    effects: Effects,
}

impl LeadersActing {
    /// Where more than one takes effect at a time.
    fn overlap(&self) -> Option<Overlap> {
        self.effects.overlap().filter(|o| o.most > 1)
    }
}

impl Invariant for LeadersActing {
    fn wants(&self) -> Kinds {
        Kinds::APPLY
    }

    fn observe(&mut self, event: &Event) {
        let Kind::Apply { node, write, verdict, .. } = &event.kind else { return };
        let incarnation = write.incarnation(*node);
        match verdict {
            WriteVerdict::Ok => self.effects.acted(write.resource, incarnation, event.t_us),
            _ => self.effects.tried(write.resource, incarnation),
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.overlap().and_then(|o| self.effects.overlapped_us(o.resource))
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let took_effect = self.effects.incarnations();
        let could_fail = self.effects.tried_most() > 1;
        let overlap = self.overlap();
        let detail = match &overlap {
            Some(overlap) => sentence(overlap, ending),
            None if took_effect == 0 => "no write was accepted".to_owned(),
            None if took_effect == 1 && could_fail => "1 incarnation took effect, of those that tried".to_owned(),
            None if took_effect == 1 => "1 incarnation took effect; no other tried".to_owned(),
            None => format!("{} took effect, intervals disjoint", count(took_effect, "incarnation")),
        };
        Finding { holds: overlap.is_none(), could_fail, detail }
    }
}

fn sentence(overlap: &Overlap, ending: &Ending) -> String {
    let who: Vec<_> = overlap.intervals.iter().map(|i| ending.names.incarnation(i.incarnation)).collect();
    let from = overlap.intervals.iter().map(|i| i.first.t_us).max().unwrap_or(0);
    let to = overlap.intervals.iter().map(|i| i.last.t_us).min().unwrap_or(0);
    format!(
        "{} took effect on {} at once: {}, from {} for {}",
        count(overlap.most, "incarnation"),
        ending.names.resource(overlap.resource),
        who.join(" and "),
        moment(from),
        duration((to - from) as f64)
    )
}
