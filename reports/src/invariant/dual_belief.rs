//! Two running nodes do not believe that they lead at the same time for longer than the protocol promises.
//!
//! **Formula.** No interval in which at least two nodes believe and run (are up and not paused) is longer than the
//! header's `dual_belief_bound_us`. A node that wakes up and notices in the same microsecond that its time is over has
//! not believed at all. A leader promises 0 if it counts its lease from when it sent the request, by a clock that runs
//! as fast as the service's; others promise what their arithmetic allows under the hazards of the run.
//!
//! A log without a header may have the overlap that `--belief-overlap` allows, by default none. If it does not say when
//! a leader stopped before another was elected, `beliefs.rs` defines what shows that it went on.
//!
//! **Could fail** if there were at least two elections; in a log, if one leader took over from another whose end the
//! log reports. Not applicable if the protocol promises no bound.
//!
//! **Source.** Gray and Cheriton, "Leases", SOSP 1989; Ongaro, "Consensus: Bridging Theory and Practice", 2014, §6.4.1.

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::{
    beliefs::{Beliefs, Shown},
    said::{At, Sentence, sentence},
    words::{count, duration},
};
use protocols::{history::Header, types::Incarnation};

pub const ENTRY: Entry = Entry {
    name: "dual_belief",
    about: "Two running nodes believe at once for no longer than the protocol promises.",
    class: Class::Safety,
    only_defects: false,
    new: |header| Box::new(DualBelief::new(header)),
};

struct DualBelief {
    bound_us: Option<u64>,
    of_log: bool,
    beliefs: Beliefs,
    elections: u64,
    /// The nodes that believe and run, in the order in which they joined, while there are several.
    together: Option<Together>,
    violations: Violations<Together>,
}

#[derive(Clone)]
struct Together {
    from_us: u64,
    us: u64,
    who: Vec<Incarnation>,
}

impl DualBelief {
    fn new(header: Option<&Header>) -> Self {
        DualBelief {
            bound_us: header.map_or(Some(0), |h| h.dual_belief_bound_us),
            of_log: header.is_none(),
            beliefs: Beliefs::new(header),
            elections: 0,
            together: None,
            violations: Violations::default(),
        }
    }

    /// Ends the interval in which several believed.
    fn close(&mut self, t_us: u64) {
        let Some(mut together) = self.together.take() else { return };
        together.us = t_us.saturating_sub(together.from_us);
        if self.bound_us.is_some_and(|bound_us| together.us > bound_us) {
            self.violations.add(together.from_us, together);
        }
    }
}

impl Invariant for DualBelief {
    fn wants(&self) -> Kinds {
        let writes = if self.of_log { Kinds::ISSUE.and(Kinds::APPLY) } else { Kinds::NONE };
        Kinds::ELECTED.and(Kinds::DEPOSED).and(Kinds::NODE).and(writes)
    }

    fn allow_overlap(&mut self, us: u64) {
        if self.of_log {
            self.bound_us = Some(us);
        }
    }

    fn observe(&mut self, event: &Event) {
        self.elections += u64::from(matches!(event.kind, Kind::Elected(_)));
        self.beliefs.observe(event);
        for shown in self.beliefs.take_shown() {
            // An overlap too short for the log's times was an overlap nevertheless.
            if self.bound_us.is_some_and(|bound_us| shown.us.max(1) > bound_us) {
                let Shown { former, newer, from_us, us } = shown;
                self.violations.add(from_us, Together { from_us, us, who: vec![former, newer] });
            }
        }
        match (&mut self.together, self.beliefs.awake_count() > 1) {
            (None, true) => {
                let who = self.beliefs.awake().collect();
                self.together = Some(Together { from_us: event.t_us, us: 0, who });
            }
            // Others may have joined; at most eight are listed.
            (Some(together), true) => {
                let joined = self.beliefs.awake().filter(|i| !together.who.contains(i)).collect::<Vec<_>>();
                together.who.extend(joined.into_iter().take(8 - together.who.len().min(8)));
            }
            (Some(_), false) => self.close(event.t_us),
            (None, false) => {}
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.violations.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let Some(bound_us) = self.bound_us else {
            return super::not_applicable("the protocol promises no bound on belief in this run");
        };
        self.close(ending.t_us);
        let bound = match bound_us {
            0 if self.of_log => "--belief-overlap allows more".to_owned(),
            us if self.of_log => format!("--belief-overlap allows {}", duration(us as f64)),
            0 => "the protocol allows none".to_owned(),
            us => format!("the protocol allows at most {}", duration(us as f64)),
        };
        let violated = self.violations.sentence(|v| {
            let who: Vec<_> = v.who.iter().map(|i| ending.names.incarnation(*i)).collect();
            let for_long =
                if v.us == 0 { "at one moment".to_owned() } else { format!("for {}", duration(v.us as f64)) };
            format!("{} believe that they lead, {for_long}; {bound}", who.join(" and "))
        });
        let longest = self.beliefs.longest_awake(ending.t_us);
        let elections = count(self.elections, "election");
        let seen = match longest.filter(|l| l.us > 0) {
            Some(l) => format!("two running nodes believed for at most {}; {bound}", duration(l.us as f64)),
            None => format!("{elections}; no two running nodes believed at once"),
        };
        let untold = if self.of_log { untold(&self.beliefs, ending) } else { None };
        let seen = untold.map_or_else(|| seen.as_str().into(), |untold| sentence![&*seen, "; ", untold]);
        let could_fail = if self.of_log { self.beliefs.told() > 0 } else { self.elections > 1 };
        Finding {
            could_fail: could_fail || violated.is_some(),
            holds: violated.is_none(),
            detail: violated.unwrap_or(seen),
        }
    }
}

/// The elections before which nobody reported that the previous leader had stopped, if there were any.
pub(super) fn untold(beliefs: &Beliefs, ending: &Ending) -> Option<Sentence> {
    let first = beliefs.untold().first()?;
    let [former, newer] = [first.former, first.newer].map(|i| ending.names.incarnation(i));
    let more = match beliefs.untold().len() as u64 - 1 {
        0 => String::new(),
        more => format!(" (likewise in {})", count(more, "later election")),
    };
    let stopped = format!(", {former} had not been reported as stopped{more}");
    Some(sentence![format!("when {newer} was elected at "), At(first.t_us), stopped])
}
