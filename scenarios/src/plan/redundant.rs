//! Redundant faults: killing a dead process, starting a running one, pausing a paused one. A plan with such a fault
//! does not mean what its author thinks.
//!
//! They are found before the run where possible: among faults with a time as trigger and a named process. Any other
//! fault that may strike the same process (at a passage, on `leader`, by a device that cuts power) gives the plan the
//! benefit of the doubt.

use super::Plan;
use crate::{
    fault::{Fault, PlannedFault, Trigger, Who},
    topology::Topology,
};
use protocols::{election::Protocol, types::NodeId};

impl Plan {
    /// The first fault that would change nothing, as far as is known before the run, and why: it kills a dead process,
    /// starts a running one, or pauses a paused one.
    pub fn redundant(&self, protocol: &Protocol) -> Option<(usize, String)> {
        first(self, protocol, &self.topology_of(protocol))
    }
}

/// The first redundant fault: its index in the list, and the reason, as the end of a sentence about it.
fn first(plan: &Plan, protocol: &Protocol, topology: &Topology) -> Option<(usize, String)> {
    let whole = Whole { plan, protocol, topology };
    let timed = plan.faults.iter().enumerate().filter_map(|(place, planned)| Timed::new(topology, place, planned));
    let mut timed: Vec<Timed> = timed.collect();
    timed.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms).then(a.place.cmp(&b.place)));
    timed.iter().enumerate().find_map(|(index, fault)| {
        let before = &timed[..index];
        let why = match fault.what {
            Fault::Pause { .. } => paused_already(&whole, fault, before),
            what if kills(what) => dead_already(&whole, fault, before),
            Fault::Restart { .. } => runs_already(&whole, fault, before),
            _ => None,
        };
        why.map(|why| (fault.place, why))
    })
}

/// The plan with its protocol and processes.
struct Whole<'a> {
    plan: &'a Plan,
    protocol: &'a Protocol,
    topology: &'a Topology,
}

/// A fault with a time as trigger, on one process that is known before the run.
struct Timed<'a> {
    place: usize,
    at_ms: f64,
    what: &'a Fault,
    who: &'a Who,
    node: NodeId,
}

impl<'a> Timed<'a> {
    fn new(topology: &Topology, place: usize, planned: &'a PlannedFault) -> Option<Self> {
        let Trigger::At { ms } = planned.when else { return None };
        let [who] = planned.what.groups().0 else { return None };
        match topology.resolve(who)?.as_slice() {
            [node] => Some(Timed { place, at_ms: ms, what: &planned.what, who, node: *node }),
            _ => None,
        }
    }

    fn kills(&self) -> bool {
        kills(self.what)
    }

    /// When the process it kills is back, if it restarts.
    fn back_ms(&self) -> Option<f64> {
        match self.what {
            Fault::Kill { restart_after_ms, .. }
            | Fault::PowerLoss { restart_after_ms, .. }
            | Fault::LoseData { restart_after_ms, .. }
            | Fault::RestoreCopy { restart_after_ms, .. } => restart_after_ms.map(|after_ms| self.at_ms + after_ms),
            _ => None,
        }
    }
}

fn kills(what: &Fault) -> bool {
    matches!(what, Fault::Kill { .. } | Fault::PowerLoss { .. } | Fault::LoseData { .. } | Fault::RestoreCopy { .. })
}

fn starts(what: &Fault) -> bool {
    matches!(what, Fault::Restart { .. } | Fault::Join { .. })
}

/// True if a fault of this kind may strike `node` at a time, or under a name, that is unknown before the run.
fn perhaps(whole: &Whole, node: NodeId, is_meant: fn(&Fault) -> bool) -> bool {
    whole.plan.faults.iter().enumerate().filter(|(_, planned)| is_meant(&planned.what)).any(|(place, planned)| {
        let known = Timed::new(whole.topology, place, planned).is_some();
        let whom = || planned.what.groups().0.iter();
        !known && whom().any(|who| whole.topology.resolve(who).is_none_or(|nodes| nodes.contains(&node)))
    })
}

fn paused_already(whole: &Whole, fault: &Timed, before: &[Timed]) -> Option<String> {
    let stops = |timed: &&Timed| timed.node == fault.node && matches!(timed.what, Fault::Pause { .. });
    let lasts = |timed: &Timed| timed.at_ms + timed.what.for_ms().unwrap_or(0.0) > fault.at_ms;
    let still = before.iter().rev().filter(stops).find(|timed| lasts(timed))?;
    // Death ends a pause.
    let dies = |timed: &Timed| timed.node == fault.node && timed.kills();
    if before.iter().any(dies) || whole.protocol.cuts_power() || perhaps(whole, fault.node, kills) {
        return None;
    }
    let who = fault.who;
    Some(format!("stops `{who}` while faults[{}] still does; let them follow each other, or make it one", still.place))
}

fn dead_already(whole: &Whole, fault: &Timed, before: &[Timed]) -> Option<String> {
    let last = before.iter().rev().find(|timed| timed.node == fault.node && (timed.kills() || starts(timed.what)))?;
    let dead = last.kills() && last.back_ms().is_none_or(|back_ms| back_ms > fault.at_ms);
    let (who, place) = (fault.who, last.place);
    let dead = dead && !whole.protocol.cuts_power() && !perhaps(whole, fault.node, starts);
    dead.then(|| format!("kills `{who}`, which is dead since faults[{place}]; start it in between, or leave this out"))
}

fn runs_already(whole: &Whole, fault: &Timed, before: &[Timed]) -> Option<String> {
    let candidate = whole.plan.candidates.get(fault.node.index());
    let late = candidate.is_some_and(|c| c.joins_later || c.starts_at_ms as f64 >= fault.at_ms);
    let last = before.iter().rev().find(|timed| timed.node == fault.node && (timed.kills() || starts(timed.what)));
    let dead = last.is_some_and(|t| t.kills() && t.back_ms().is_none_or(|back_ms| back_ms > fault.at_ms));
    let who = fault.who;
    let runs = !dead && !late && !whole.protocol.cuts_power() && !perhaps(whole, fault.node, kills);
    runs.then(|| format!("starts `{who}`, which runs at that time; kill it before, or leave this out"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, scenario};
    use protocols::election;

    fn at(ms: f64, what: Fault) -> PlannedFault {
        PlannedFault { when: Trigger::At { ms }, what, group: 0 }
    }

    fn named(name: &str) -> Who {
        Who::from(name.to_owned())
    }

    fn kill(ms: f64, name: &str, restart_after_ms: Option<f64>) -> PlannedFault {
        at(ms, Fault::Kill { node: named(name), restart_after_ms })
    }

    fn restart(ms: f64, name: &str) -> PlannedFault {
        at(ms, Fault::Restart { node: named(name) })
    }

    fn pause(ms: f64, name: &str, for_ms: f64) -> PlannedFault {
        at(ms, Fault::Pause { node: named(name), for_ms })
    }

    /// The error for a plan with these faults.
    fn wrong(protocol: &str, faults: Vec<PlannedFault>) -> Option<String> {
        let (steady, protocol) = (scenario::find("steady").unwrap(), election::find(protocol).unwrap());
        let mut plan = steady.compile(&Params::default(), protocol, 1).unwrap();
        plan.faults = faults;
        plan.validate().err().map(|why| why.0)
    }

    #[test]
    fn who_is_dead_is_not_killed_and_who_runs_is_not_started() {
        let cases = [
            (vec![kill(1_000.0, "n1", None), kill(2_000.0, "n1", None)], "faults[1] (kill) kills `n1`, which is dead"),
            (vec![kill(2_000.0, "store", None), kill(1_000.0, "store", None)], "faults[0] (kill) kills `store`"),
            (vec![kill(1_000.0, "n1", Some(5_000.0)), kill(2_000.0, "n1", None)], "dead since faults[0]"),
            (vec![restart(5_000.0, "n2")], "faults[0] (restart) starts `n2`, which runs"),
            (vec![kill(1_000.0, "n2", Some(10.0)), restart(5_000.0, "n2")], "faults[1] (restart) starts `n2`"),
            (
                vec![pause(1_000.0, "n1", 900.0), pause(1_800.0, "n1", 5.0)],
                "faults[1] (pause) stops `n1` while faults[0]",
            ),
        ];
        for (faults, expected) in cases {
            let error = wrong("etcd-election", faults).expect(expected);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn what_may_mean_something_is_left_alone() {
        let leader = |restart_after_ms| at(3_000.0, Fault::Kill { node: Who::Leader, restart_after_ms });
        let fine = [
            vec![kill(1_000.0, "n1", None), restart(2_000.0, "n1"), kill(3_000.0, "n1", None)],
            vec![kill(1_000.0, "n1", Some(500.0)), kill(2_000.0, "n1", None)],
            vec![kill(1_000.0, "n1", None), kill(2_000.0, "n2", None)],
            // The leader may have been n2.
            vec![leader(None), restart(5_000.0, "n2")],
            vec![pause(1_000.0, "n1", 900.0), pause(1_900.0, "n1", 5.0), pause(1_900.0, "n2", 5.0)],
            vec![pause(1_000.0, "n1", 9_000.0), kill(2_000.0, "n1", Some(10.0)), pause(4_000.0, "n1", 5.0)],
        ];
        for faults in fine {
            assert_eq!(wrong("etcd-election", faults.clone()), None, "{faults:?}");
        }
        // A device may have cut its power, or restored it.
        assert_eq!(wrong("stonith", vec![restart(5_000.0, "n2")]), None);
    }
}
