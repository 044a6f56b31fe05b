//! Only who believes to lead writes, and who leads does all of its work.
//!
//! **Formula.** 1. Every write that is sent for the first time is sent between its incarnation's election and the end of
//! its belief. 2. While the incarnation that was elected last has writes accepted on `sequence`, at least every 500 ms and
//! for longer than the liveness bound and two of its ticks, it has one accepted on `schedule` as well: a scheduler that
//! records nothing is not made up for by a busy sequencer.
//!
//! **Could fail** when a write was sent. Part 2 is judged where the header has the scheduler's period.
//!
//! **Source.** client-go, `tools/leaderelection` (the work's context is cancelled before the lease is let go); the
//! project's design (work stops within the step that ends the belief).

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::words::{count, duration};
use protocols::{
    history::{Header, NodeState},
    message::WriteVerdict,
    types::{Incarnation, Resource},
};
use std::collections::BTreeSet;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "acts_on_belief",
    about: "Only a node that believes it leads sends writes, and a leader does all of its work.",
    class: Class::Safety,
    new: |header| Box::new(ActsOnBelief::new(header)),
};

struct ActsOnBelief {
    believers: BTreeSet<Incarnation>,
    /// Does the history tell who believes?
    told: bool,
    sent: u64,
    /// Longest that `schedule` may stand still while `sequence` goes on, microseconds.
    idle_max_us: Option<u64>,
    working: Option<Working>,
    violations: Violations<Violation>,
}

/// Whose work is watched.
struct Working {
    incarnation: Incarnation,
    /// Since when `schedule` has stood still while `sequence` went on.
    since_us: u64,
    latest_us: u64,
}

/// A longer silence on `sequence` is no going on, microseconds: the store may be away.
const PAUSE_US: u64 = 500_000;

enum Violation {
    Unbelieving(Incarnation),
    Idle { incarnation: Incarnation, for_us: u64 },
}

impl ActsOnBelief {
    fn new(header: Option<&Header>) -> Self {
        let period_ms = header.map(|h| (h.tick_ms, h.liveness_bound_ms)).filter(|(tick_ms, _)| *tick_ms > 0);
        let idle_max_us = period_ms.map(|(tick_ms, bound_ms)| (bound_ms + 2 * tick_ms).saturating_mul(1000));
        let (believers, violations) = (BTreeSet::new(), Violations::default());
        ActsOnBelief { believers, told: false, sent: 0, idle_max_us, working: None, violations }
    }

    fn accepted(&mut self, t_us: u64, resource: Resource, incarnation: Incarnation) {
        let Some(idle_max_us) = self.idle_max_us else { return };
        match &mut self.working {
            Some(working) if working.incarnation == incarnation => {
                let (for_us, paused) = (t_us - working.since_us, t_us - working.latest_us > PAUSE_US);
                working.latest_us = t_us;
                if resource == Resource::Schedule || paused {
                    working.since_us = t_us;
                } else if for_us > idle_max_us {
                    working.since_us = t_us;
                    self.violations.add(t_us, Violation::Idle { incarnation, for_us });
                }
            }
            // Only the newest: an older one's last writes say nothing of its work.
            Some(working) if incarnation < working.incarnation && incarnation.epoch > 0 => {}
            working => *working = Some(Working { incarnation, since_us: t_us, latest_us: t_us }),
        }
    }
}

impl Invariant for ActsOnBelief {
    fn wants(&self) -> Kinds {
        Kinds::ELECTED.and(Kinds::DEPOSED).and(Kinds::NODE).and(Kinds::ISSUE).and(Kinds::APPLY)
    }

    fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Elected(incarnation) => {
                self.told = true;
                self.believers.insert(*incarnation);
            }
            Kind::Deposed { incarnation, .. } => {
                self.believers.remove(incarnation);
            }
            Kind::Node { node, state: NodeState::Down | NodeState::Off } => {
                self.believers.retain(|believer| believer.node != *node);
            }
            // Whoever was stopped goes on where it was stopped: its scheduler was, too.
            Kind::Node { node, state: NodeState::Resumed } => {
                self.working = self.working.take().filter(|working| working.incarnation.node != *node);
            }
            Kind::Issue { node, write } => {
                self.sent += 1;
                let incarnation = Incarnation { epoch: write.token, node: *node, term: write.term };
                if self.told && !self.believers.contains(&incarnation) {
                    self.violations.add(event.t_us, Violation::Unbelieving(incarnation));
                }
            }
            Kind::Apply { node, write, verdict: WriteVerdict::Ok, .. } => {
                let incarnation = Incarnation { epoch: write.token, node: *node, term: write.term };
                self.accepted(event.t_us, write.resource, incarnation);
            }
            _ => {}
        }
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let violated = self.violations.sentence(|violation| match violation {
            Violation::Unbelieving(incarnation) => {
                format!("{} sent a write without believing to lead", ending.names.incarnation(*incarnation))
            }
            Violation::Idle { incarnation, for_us } => {
                let (who, for_us) = (ending.names.incarnation(*incarnation), duration(*for_us as f64));
                format!("{who} had handed out numbers for {for_us} without recording a tick")
            }
        });
        let holds = violated.is_none();
        let detail = violated.unwrap_or_else(|| match self.sent {
            0 => "the history does not tell of writes being sent".to_owned(),
            sent => format!("{} sent, each by a node that believed to lead", count(sent, "write")),
        });
        Finding { holds, could_fail: self.sent > 0, detail }
    }
}
