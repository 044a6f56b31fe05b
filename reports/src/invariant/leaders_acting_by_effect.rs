//! No two leaders act on one resource at the same time, by their effects.
//!
//! **Formula.** The effect interval of an incarnation on a resource lasts from its first *accepted* write to its last.
//! The value at time t is the number of these intervals that contain t; it never exceeds 1. Belief plays no part: a
//! node may believe what it likes as long as the resource refuses it. Within a microsecond, the order of application
//! decides.
//!
//! If a log states how long work lasted, no two pieces of work of different leaderships overlap on one resource, unless
//! both are shared.
//!
//! **Could fail** if writes of at least two incarnations reached one resource, accepted or not; except when nodes took
//! turns writing in a log that does not say whether they were elected again.
//!
//! **Source.** The project's definitions ("leaders_acting_by_effect"); Kleppmann, "How to do distributed locking", 2016.

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::{
    effects::{Effects, Overlap},
    said::{At, Sentence, sentence},
    words::{count, duration},
    works::{Piece, Works},
};
use protocols::{message::WriteVerdict, types::Resource};

pub const ENTRY: Entry = Entry {
    name: "leaders_acting_by_effect",
    about: "At no time do two leaders take effect on one resource.",
    class: Class::Safety,
    only_defects: false,
    new: |header| {
        Box::new(LeadersActing { effects: Effects::new(header), works: Works::default(), over: Violations::default() })
    },
};

struct LeadersActing {
    effects: Effects,
    works: Works,
    over: Violations<(Resource, Piece, Piece)>,
}

impl LeadersActing {
    /// The largest overlap, if several act at once.
    fn overlap(&self) -> Option<Overlap> {
        self.effects.overlap().filter(|o| o.most > 1)
    }
}

impl Invariant for LeadersActing {
    fn wants(&self) -> Kinds {
        Kinds::APPLY.and(Kinds::WORK)
    }

    fn observe(&mut self, event: &Event) {
        if let Kind::Work { resource, incarnation, for_us, shared } = event.kind {
            let (by, to_us) = (incarnation, event.t_us);
            let piece = Piece::ended(by, to_us, for_us, shared);
            if let Some(other) = self.works.ended(resource, piece) {
                let from_us = piece.from_us.max(other.from_us);
                self.over.add(from_us, (resource, other, piece));
            }
            // It was at work until now.
            match by.is_known() {
                _ if shared => {}
                true => self.effects.acted(resource, by, to_us),
                false => self.effects.worked(resource, by, piece.from_us, to_us),
            }
        }
        let Kind::Apply { node, write, verdict, .. } = &event.kind else { return };
        let incarnation = write.incarnation(*node);
        match verdict {
            WriteVerdict::Ok => self.effects.acted(write.resource, incarnation, event.t_us),
            WriteVerdict::Failed { .. } if self.effects.are_of_log() => {}
            _ => self.effects.tried(write.resource, incarnation),
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        let written = self.overlap().and_then(|o| self.effects.began_us(&o));
        written.into_iter().chain(self.over.first_us()).min()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let took_effect = self.effects.incarnations();
        let turns = self.effects.turns();
        let could_fail = (self.effects.tried_most() > 1 && turns.is_none()) || self.works.compared() > 0;
        let overlap = self.overlap();
        let over = self.over.sentence(|(resource, one, other)| {
            let [one_by, by] = [one.by, other.by].map(|by| ending.names.incarnation(by));
            let (from, to) = (one.from_us.max(other.from_us), one.to_us.min(other.to_us));
            let (on, both) = (ending.names.resource(*resource), duration((to - from) as f64));
            format!("{one_by} and {by} were at work on {on} at once, for {both}")
        });
        let unnamed = |overlap: &Overlap| overlap.intervals.iter().all(|i| !i.incarnation.is_known());
        if let Some(detail) = over.filter(|_| overlap.as_ref().is_none_or(unnamed)) {
            return Finding { holds: false, could_fail: true, detail };
        }
        let detail = match &overlap {
            Some(overlap) => at_once(overlap, ending),
            None if turns.is_some() => {
                "nodes took turns writing, and the log does not show whether they were re-elected".into()
            }
            None if took_effect == 0 => "no write was accepted".into(),
            None if took_effect == 1 && could_fail => "only 1 incarnation of those that tried took effect".into(),
            None if took_effect == 1 => "1 incarnation took effect; no other tried".into(),
            None => format!("{} took effect, intervals disjoint", count(took_effect, "incarnation")).into(),
        };
        Finding { holds: overlap.is_none(), could_fail: could_fail || overlap.is_some(), detail }
    }
}

fn at_once(overlap: &Overlap, ending: &Ending) -> Sentence {
    let who: Vec<_> = overlap.intervals.iter().map(|i| ending.names.incarnation(i.incarnation)).collect();
    let from = overlap.intervals.iter().map(|i| i.first.t_us).max().unwrap_or(0);
    let to = overlap.intervals.iter().map(|i| i.last.t_us).min().unwrap_or(0);
    let (most, on) = (count(overlap.most, "incarnation"), ending.names.resource(overlap.resource));
    let both = format!("{most} took effect on {on} at once: {}, from ", who.join(" and "));
    sentence![both, At(from), format!(" for {}", duration((to - from) as f64))]
}
