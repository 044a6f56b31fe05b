//! Once nothing is wrong any more, a leader acts, and goes on acting.
//!
//! **Formula.** From the moment when the last fault was healed (or was over at once; or from the start, when there was
//! none) until the end, no stretch longer than the header's liveness bound passes without an accepted write on `sequence`
//! by the incarnation that was elected last. Asking for more than the first such write keeps a write that was under way
//! when the leader died from standing in for its successor.
//!
//! **Could fail** when the run went on for at least the bound after that moment, and clients asked for numbers. Not
//! applicable without a header, and while a fault was never healed.
//!
//! **Source.** The project's spine ("a leader acts again within a stated bound after the last fault heals"); Alpern and
//! Schneider, "Defining liveness", 1985, bounded.

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds};
use crate::words::{duration, moment};
use protocols::{
    history::{Header, Phase},
    message::WriteVerdict,
    types::{Incarnation, Resource},
};
use std::collections::BTreeSet;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "liveness",
    about: "After the last fault is healed, a leader acts again within the stated bound, and goes on acting.",
    class: Class::Liveness,
    new: |header| Box::new(Liveness::new(header)),
};

struct Liveness {
    /// Microseconds; `None` when not applicable.
    bound: Option<u64>,
    active: BTreeSet<u32>,
    healed: u64,
    elected: Option<Incarnation>,
    latest: u64,
    first: Option<u64>,
    longest: u64,
    longest_from: u64,
}

impl Liveness {
    fn new(header: Option<&Header>) -> Self {
        let bound = header.filter(|h| h.rate > 0).map(|h| h.liveness_bound_ms.saturating_mul(1000));
        let active = BTreeSet::new();
        let (healed, latest, first) = (0, 0, None);
        Liveness { bound, active, healed, elected: None, latest, first, longest: 0, longest_from: 0 }
    }

    fn restart(&mut self, t_us: u64) {
        (self.healed, self.latest, self.first, self.longest, self.longest_from) = (t_us, t_us, None, 0, t_us);
    }

    /// The stretch without a write ends.
    fn stretch(&mut self, t_us: u64) {
        if t_us - self.latest > self.longest {
            (self.longest, self.longest_from) = (t_us - self.latest, self.latest);
        }
        self.latest = t_us;
    }
}

impl Invariant for Liveness {
    fn wants(&self) -> Kinds {
        Kinds::APPLY.and(Kinds::ELECTED).and(Kinds::FAULT)
    }

    fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Apply { node, write, verdict: WriteVerdict::Ok, .. } if write.resource == Resource::Sequence => {
                let incarnation = Incarnation { epoch: write.token, node: *node, term: write.term };
                if self.elected.is_none_or(|e| e == incarnation) {
                    self.stretch(event.t_us);
                    self.first = self.first.or(Some(event.t_us));
                }
            }
            Kind::Elected(incarnation) => self.elected = Some(*incarnation),
            Kind::Fault(fault) => {
                match fault.phase {
                    Phase::Begin => self.active.insert(fault.index),
                    Phase::End | Phase::Once => self.active.remove(&fault.index),
                };
                self.restart(event.t_us);
            }
            _ => {}
        }
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let idle = |detail: String| Finding { holds: true, could_fail: false, detail };
        let Some(bound) = self.bound else { return idle("not applicable: no bound is stated".to_owned()) };
        if !self.active.is_empty() {
            return idle(format!("not applicable: {} of the faults never healed", self.active.len()));
        }
        let first = self.first.map(|t| duration((t - self.healed) as f64));
        self.stretch(ending.t_us);
        let within = duration(bound as f64);
        if self.longest > bound {
            let detail = match (&first, self.longest_from == self.healed) {
                (None, _) => format!("no leader acted after {}; the bound is {within}", moment(self.healed)),
                (Some(first), true) => format!("a leader acted {first} after the last fault; the bound is {within}"),
                (Some(_), false) => {
                    let gap = duration(self.longest as f64);
                    format!("no leader acted for {gap} from {} on; the bound is {within}", moment(self.longest_from))
                }
            };
            return Finding { holds: false, could_fail: true, detail };
        }
        if ending.t_us - self.healed < bound {
            return idle(format!("the run ended before the bound of {within} was over"));
        }
        let since = if self.healed == 0 { "the start" } else { "the last fault" };
        let (first, gap) = (first.unwrap_or_default(), duration(self.longest as f64));
        let detail =
            format!("a leader acted {first} after {since}, then without a gap above {gap}; the bound is {within}");
        Finding { holds: true, could_fail: true, detail }
    }
}
