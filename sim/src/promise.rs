//! Checks whether promises are kept: safety and figures of one run, and the frequency of violations in a cell of many
//! runs.

use crate::outcome::Ended;
use protocols::election::{self, Bounds, Promise};
use reports::{
    Judgement, Verdict,
    invariant::{Class, InvariantResult},
};
use scenarios::scenario::{Live, Promised};

pub use crate::canary::{Canary, canaries};

/// The promise that a non-vacuous run broke, in one sentence; `None` if it kept all. A promise about liveness excuses
/// no violation of safety, nor the reverse.
pub fn broken(promised: Promised, bounds: &Bounds, judgement: &Judgement) -> Option<String> {
    let violated: Vec<&InvariantResult> = judgement.invariants.iter().filter(|i| !i.holds).collect();
    let names: Vec<&str> = violated.iter().map(|i| i.name).collect();
    let safe = violated.iter().all(|i| i.class != Class::Safety);
    let late = violated.iter().find(|i| i.class == Class::Liveness && !is_excused(promised.liveness, i));
    let dark: &[&str] = if promised.liveness == Live::Breaks { &[LIVENESS] } else { &[] };
    match promised.safety {
        Promise::Breaks(must) => return blind(must, &names).or_else(|| blind(dark, &names)),
        Promise::Holds if !safe => return Some(format!("promised to hold, but violates {}", names.join(", "))),
        Promise::Holds | Promise::May => {}
    }
    match late.filter(|_| safe) {
        Some(late) => Some(format!("no leader acted in time: {}", late.detail)),
        None if promised.liveness == Live::Breaks => blind(dark, &names),
        None => above(bounds, judgement).map(|why| match judgement.verdict {
            Verdict::Pass => format!("{why}: a bound on a figure, so the run by itself passes"),
            _ => why,
        }),
    }
}

/// The invariant that [`Live`] is about.
const LIVENESS: &str = "liveness";

/// Whether the promise permits this violation.
fn is_excused(promised: Live, seen: &InvariantResult) -> bool {
    seen.name == LIVENESS
        && match promised {
            Live::Holds => false,
            Live::UnlessHalfHeard => seen.while_half_heard,
            Live::Breaks | Live::May => true,
        }
}

/// The word for a promise about safety.
pub const fn promise_name(promise: Promise) -> &'static str {
    Promised { safety: promise, liveness: Live::Holds }.word()
}

/// How a verdict breaks the promise, in one sentence; `None` if it does not.
fn broken_promise(promised: Promised, bounds: &Bounds, judgement: &Judgement) -> Option<String> {
    let contradiction = judgement.specified.contradiction.clone();
    contradiction.or_else(|| match judgement.verdict {
        // A vacuous run says nothing about the promise.
        Verdict::Vacuous => None,
        _ => broken(promised, bounds, judgement),
    })
}

/// A run's outcome under a promise, and the reason if it was not kept: one sentence, with the judge's findings.
pub(crate) fn ended(promised: Promised, bounds: &Bounds, judgement: &Judgement) -> (Ended, String) {
    let seen = reason(judgement);
    match broken_promise(promised, bounds, judgement) {
        None if judgement.verdict == Verdict::Vacuous => (Ended::Inconclusive, seen),
        None => (Ended::Kept, String::new()),
        Some(why) if seen.is_empty() => (Ended::Broken, why),
        Some(why) => (Ended::Broken, format!("{why}: {seen}")),
    }
}

/// What the violated invariants found.
fn reason(judgement: &Judgement) -> String {
    let details = judgement.invariants.iter().filter(|i| !i.holds).map(|i| &*i.detail);
    details.collect::<Vec<_>>().join("; ")
}

/// The verdict and the reason (one sentence) of a generated plan's run that breaks a promise, apart from the excused
/// invariants; `None` if it keeps all.
pub(crate) fn not_kept(
    judgement: &Judgement,
    promised: Promised,
    excused: impl Fn(&str) -> bool,
) -> Option<(&'static str, String)> {
    if let Some(contradiction) = &judgement.specified.contradiction {
        return Some(("harness", contradiction.clone()));
    }
    let held = |seen: &InvariantResult| match seen.class {
        Class::Safety => promised.safety == Promise::Holds && !excused(seen.name),
        Class::Liveness => !is_excused(promised.liveness, seen),
        // A generated plan does not require any situation to arise.
        Class::Vacuity => false,
    };
    let broken: Vec<_> = judgement.invariants.iter().filter(|i| !i.holds && held(i)).collect();
    let unsafe_ = broken.iter().any(|i| i.class == Class::Safety);
    let why: Vec<String> = broken.iter().map(|i| format!("{}: {}", i.name, i.detail)).collect();
    (!why.is_empty()).then(|| (if unsafe_ { "safety" } else { "liveness" }, why.join("; ")))
}

/// The invariants that must be violated but are not.
fn blind(must: &[&str], violated: &[&str]) -> Option<String> {
    let missing: Vec<&str> = must.iter().copied().filter(|name| !violated.contains(name)).collect();
    let missing = if missing.is_empty() { return None } else { missing.join(", ") };
    Some(match violated {
        [] => format!("expected a violation of {missing}, got none"),
        violated => format!("expected violations of {missing}, got only {}", violated.join(", ")),
    })
}

/// A figure above its promised bound, which applies to each group.
fn above(bounds: &Bounds, judgement: &Judgement) -> Option<String> {
    if !judgement.groups.is_empty() {
        let of_group = |(group, judged)| above(bounds, judged).map(|why| format!("group {group}: {why}"));
        return judgement.groups.iter().enumerate().find_map(of_group);
    }
    let metrics = &judgement.metrics;
    let figures = [
        (["election", "elections"], bounds.elections, metrics.elections),
        (["unnecessary failover", "unnecessary failovers"], bounds.false_failovers, metrics.false_failovers),
        (
            ["write refused for its token", "writes refused for their token"],
            bounds.writes_fenced,
            metrics.writes_fenced,
        ),
        (["duplicate write", "duplicate writes"], bounds.writes_duplicate, metrics.writes_duplicate),
    ];
    let (what, most, seen) = figures.into_iter().find(|(_, most, seen)| most.is_some_and(|most| *seen > most))?;
    let what = what[usize::from(seen != 1)];
    Some(format!("{seen} {what}, more than the {} that the cell's promise allows", most.unwrap_or_default()))
}

/// The share of runs that violate safety in a cell that promises neither safety nor a violation, at the default
/// parameters and 3 candidates.
#[derive(Clone, Copy, Debug)]
pub struct Chance {
    pub scenario: &'static str,
    pub protocol: &'static str,
    /// With fencing or without. Without tokens there is no difference, and only "with" is listed.
    pub fencing: bool,
    /// The number of violations in 1,000 runs.
    pub of_1000: u64,
    /// Why some runs violate safety, but not all.
    pub why: &'static str,
}

const MUTE_OR_DEAF: &str =
    "the leader is mute in half of the seeds, and replaced; in the others it is deaf, and nobody notices";
const TAKES_OVER: &str = "a better id takes over while the other's last write is under way";
const SUSPECTED: &str = "a healthy leader is suspected when enough messages in a row were lost";
const OVERLAP: &str = "the belief outlasts the others' wait, by less than an election sometimes takes";

const fn chance(scenario: &'static str, protocol: &'static str, of_1000: u64, why: &'static str) -> Chance {
    Chance { scenario, protocol, fencing: true, of_1000, why }
}

const fn unfenced(scenario: &'static str, protocol: &'static str, of_1000: u64, why: &'static str) -> Chance {
    Chance { scenario, protocol, fencing: false, of_1000, why }
}

/// Every cell left to chance, as counted in 150 to 1,000 seeds.
pub const CHANCES: [Chance; 19] = [
    chance("clean-kill", "bully", 18, TAKES_OVER),
    chance("clean-kill", "lowest-id", 40, TAKES_OVER),
    chance("clean-kill", "swim", 0, TAKES_OVER),
    chance("graceful-step-down", "lowest-id", 35, TAKES_OVER),
    chance("graceful-step-down", "swim", 0, TAKES_OVER),
    chance("asymmetric-partition", "bully", 512, MUTE_OR_DEAF),
    chance("asymmetric-partition", "lowest-id", 512, MUTE_OR_DEAF),
    chance("detector-comparison", "bully", 205, SUSPECTED),
    chance("detector-comparison", "ring-lelann", 1, SUSPECTED),
    chance("detector-comparison", "ring-chang-roberts", 5, SUSPECTED),
    chance("detector-comparison", "lowest-id", 445, SUSPECTED),
    chance("detector-comparison", "swim", 65, SUSPECTED),
    chance("read-lease", "kraft", 688, OVERLAP),
    chance("read-lease", "etcd-election", 988, OVERLAP),
    unfenced("partition", "etcd-election", 998, OVERLAP),
    unfenced("isolate-leader", "kraft", 660, OVERLAP),
    unfenced("asymmetric-partition", "kraft", 320, OVERLAP),
    unfenced("read-lease", "kraft", 688, OVERLAP),
    unfenced("read-lease", "etcd-election", 988, OVERLAP),
];

/// The least number of runs in which the shares of [`CHANCES`] were counted.
const COUNTED: f64 = 150.0;

impl Chance {
    pub fn find(scenario: &str, protocol: &str, fencing: bool) -> Option<&'static Chance> {
        let same = |c: &&Chance| (c.scenario, c.protocol) == (scenario, protocol);
        let mut all = CHANCES.iter().filter(same);
        let exact = all.clone().find(|c| c.fencing == fencing);
        exact.or_else(|| all.find(|c| c.fencing && !fencing && election::find(protocol).is_some_and(|p| !p.tokened)))
    }

    /// One sentence if `violated` of `runs` differs from the recorded share by more than four standard deviations of
    /// both samples, and by more than one run.
    pub fn far_off(&self, violated: u64, runs: u64) -> Option<String> {
        let (runs_f, expected) = (runs as f64, self.of_1000 as f64 / 1e3 * runs as f64);
        // These runs and the recorded ones are both samples.
        let of_one = |share: f64| (share * (1.0 - share)).max(0.0);
        let share = self.of_1000 as f64 / 1e3;
        let counted = share.clamp(1.0 / COUNTED, 1.0 - 1.0 / COUNTED);
        let deviation = (runs_f * of_one(share) + runs_f * runs_f * of_one(counted) / COUNTED).sqrt();
        let room = 4.0 * deviation + 1.0;
        if (violated as f64 - expected).abs() <= room {
            return None;
        }
        let (scenario, protocol, of_1000) = (self.scenario, self.protocol, self.of_1000);
        Some(format!("{scenario} {protocol}: {violated} of {runs} runs violate safety; it was {of_1000} of 1000"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_break_and_holds_is_told() {
        let must = ["no_stale_write", "read_version"];
        assert_eq!(blind(&must, &["read_version", "no_stale_write", "liveness"]), None);
        let held = "expected a violation of no_stale_write, read_version, got none";
        assert_eq!(blind(&must, &[]).as_deref(), Some(held));
        let half = "expected violations of no_stale_write, got only read_version";
        assert_eq!(blind(&must, &["read_version"]).as_deref(), Some(half));
    }
}
