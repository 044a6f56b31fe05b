//! Are promises kept? Safety and figures of one run, what chance may do to a cell of many runs, and the canaries: plans that
//! must break something, or the harness is blind for it.

use crate::run::Run;
use protocols::{
    election::{self, Bounds, Promise},
    fence::checks::Fencing,
    point::Point,
};
use reports::Verdict;
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    params::Profile,
    plan::Network,
    scenario,
};

/// What a run that shows something (is not vacuous) did not keep, in one sentence; `None` when it kept everything.
pub fn broken(promise: Promise, bounds: &Bounds, run: &Run) -> Option<String> {
    let judgement = &run.judgement;
    let violated: Vec<&str> = judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.name).collect();
    match (promise, judgement.verdict) {
        (Promise::Breaks(names), _) => blind(names, &violated),
        (_, Verdict::Liveness) => {
            let liveness = judgement.invariant("liveness").map_or("", |i| i.detail.as_str());
            Some(format!("no leader acted in time: {liveness}"))
        }
        (Promise::Holds, Verdict::Safety) => Some(format!("promised to hold, and violates {}", violated.join(", "))),
        _ => above(bounds, run),
    }
}

/// The invariants that must be violated and are not.
fn blind(must: &[&str], violated: &[&str]) -> Option<String> {
    let missing: Vec<&str> = must.iter().copied().filter(|name| !violated.contains(name)).collect();
    let missing = if missing.is_empty() { return None } else { missing.join(", ") };
    Some(match violated {
        [] => format!("must violate {missing}, and did not: the harness sees nothing"),
        violated => format!("must violate {missing}, and violates only {}", violated.join(", ")),
    })
}

/// A figure above what is promised.
fn above(bounds: &Bounds, run: &Run) -> Option<String> {
    let metrics = &run.judgement.metrics;
    let figures = [
        ("elections", bounds.elections, metrics.elections),
        ("failovers that were not needed", bounds.false_failovers, metrics.false_failovers),
        ("writes refused for their token", bounds.writes_fenced, metrics.writes_fenced),
    ];
    let (what, most, seen) = figures.into_iter().find(|(_, most, seen)| most.is_some_and(|most| *seen > most))?;
    Some(format!("{what}: {seen}, and {} is promised at most", most.unwrap_or_default()))
}

/// How many runs of a thousand violate safety in a cell that promises neither, at the default parameters and 3 candidates.
#[derive(Clone, Copy, Debug)]
pub struct Chance {
    /// The scenario.
    pub scenario: &'static str,
    /// The protocol.
    pub protocol: &'static str,
    /// With fencing, or without. Without tokens there is no difference, and only "with" is listed.
    pub fencing: bool,
    /// How many of 1,000.
    pub of_1000: u64,
    /// Why that is not none and not all.
    pub why: &'static str,
}

const MUTE_OR_DEAF: &str =
    "the leader is mute in half of the seeds, and replaced; in the others it is deaf, and nobody notices";
const TAKES_OVER: &str = "a better id takes over while the other's last write is under way";
const SUSPECTED: &str = "a healthy leader is suspected when enough messages in a row were lost";
const OVERLAP: &str = "the belief outlasts what others wait, by less than an election sometimes takes";

const fn chance(scenario: &'static str, protocol: &'static str, of_1000: u64, why: &'static str) -> Chance {
    Chance { scenario, protocol, fencing: true, of_1000, why }
}

const fn unfenced(scenario: &'static str, protocol: &'static str, of_1000: u64, why: &'static str) -> Chance {
    Chance { scenario, protocol, fencing: false, of_1000, why }
}

/// Every cell that is left to chance, as 150 to 1,000 seeds had it.
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

impl Chance {
    /// The one of a cell.
    pub fn find(scenario: &str, protocol: &str, fencing: bool) -> Option<&'static Chance> {
        let same = |c: &&Chance| (c.scenario, c.protocol) == (scenario, protocol);
        let mut all = CHANCES.iter().filter(same);
        let exact = all.clone().find(|c| c.fencing == fencing);
        exact.or_else(|| all.find(|c| c.fencing && !fencing && election::find(protocol).is_some_and(|p| !p.tokened)))
    }

    /// One sentence when `violated` of `runs` is far from what it was: more than four standard deviations, and more than
    /// one run, or one in fifty.
    pub fn far_off(&self, violated: u64, runs: u64) -> Option<String> {
        let (runs_f, expected) = (runs as f64, self.of_1000 as f64 / 1e3 * runs as f64);
        let deviation = (expected * (1.0 - self.of_1000 as f64 / 1e3)).max(0.0).sqrt();
        let room = 4.0 * deviation + (runs_f / 50.0).max(1.0);
        if (violated as f64 - expected).abs() <= room {
            return None;
        }
        let (scenario, protocol, of_1000) = (self.scenario, self.protocol, self.of_1000);
        Some(format!("{scenario} {protocol}: {violated} of {runs} runs violate safety; it was {of_1000} of 1000"))
    }
}

/// A plan that must break something; and what is the same but for the cause, and must break nothing.
pub struct Canary {
    /// What is looked at.
    pub name: &'static str,
    /// What must be violated, every time.
    pub breaks: &'static [&'static str],
    /// The plan of a seed, with the cause or without it.
    pub plan: fn(u64, bool) -> Result<Plan, String>,
}

/// Every canary that can be told with what there is.
pub fn canaries() -> Vec<Canary> {
    let mut all = vec![
        Canary { name: "only clocks that drift make reads stale", breaks: &["no_stale_read"], plan: drift },
        Canary {
            name: "only a step of the service's clock lets two write",
            breaks: &["no_stale_write", "read_version"],
            plan: clock_step,
        },
        Canary {
            name: "a belief that is longer than promised is noticed",
            breaks: &["dual_belief"],
            plan: promised_less,
        },
        Canary { name: "a belief without a grant is noticed", breaks: &["phantom_leader"], plan: outlived_grant },
        Canary { name: "a fleet that elects nobody is noticed", breaks: &["liveness"], plan: slow_network },
    ];
    if Profile::find(HOSTILE).is_some() {
        all.extend([
            Canary {
                name: "only duplicates break it",
                breaks: &["read_version"],
                plan: |seed, on| hostile(seed, on, true),
            },
            Canary {
                name: "only reordering breaks it",
                breaks: &["read_version"],
                plan: |seed, on| hostile(seed, on, false),
            },
            Canary {
                name: "only duplicates apply a request twice where the store remembers none",
                breaks: &["one_number"],
                plan: applied_twice,
            },
        ]);
    }
    all.retain(|canary| canary.breaks.iter().all(|name| reports::invariant::ALL.iter().any(|e| e.name == *name)));
    all
}

/// Datagrams to the store, lost, duplicated and out of order.
const HOSTILE: &str = "hostile";

fn compiled(scenario: &str, protocol: &str, seed: u64, params: &Params) -> Result<Plan, String> {
    let scenario = scenario::find(scenario).ok_or("no such scenario")?;
    scenario.compile(params, election::find(protocol).ok_or("no such protocol")?, seed)
}

fn light() -> Params {
    Params { rate: 100, ..Params::default() }
}

fn drift(seed: u64, on: bool) -> Result<Plan, String> {
    let clock_drift_ppm = if on { 400_000 } else { 100 };
    compiled("read-lease", "redis-fenced", seed, &Params { clock_drift_ppm, ..light() })
}

/// A steady run in which the service's clock jumps ahead right after the leader was renewed, again and again.
fn stepped(seed: u64, on: bool, protocol: &str) -> Result<Plan, String> {
    let mut plan = compiled("steady", protocol, seed, &light())?;
    let ahead = |nth: u64| PlannedFault {
        when: Trigger::Passage {
            point: Point::Renewed.name().to_owned(),
            node: Who::Leader,
            nth: 3,
            after: Some(Box::new(Trigger::At { ms: 5_000.0 * nth as f64 })),
            delay_ms: 0.0,
        },
        what: Fault::ClockStep { node: Who::Service, by_ms: 60_000 },
    };
    if on {
        plan.faults = (1..=4).map(ahead).collect();
    }
    Ok(plan)
}

fn clock_step(seed: u64, on: bool) -> Result<Plan, String> {
    stepped(seed, on, "redis-lease")
}

/// The same with a token, which keeps it harmless, and with the bound of a run in which no clock is stepped.
fn outlived_grant(seed: u64, on: bool) -> Result<Plan, String> {
    stepped(seed, on, "redis-fenced")
}

/// etcd's leader believes beside its successor, as its client does; here it is said to promise that it never does.
fn promised_less(seed: u64, on: bool) -> Result<Plan, String> {
    let mut plan = compiled("partition", "etcd-election", seed, &light())?;
    // Fencing would end the belief as soon as the successor has sealed.
    let unfenced = Params { fencing: false.into(), ..light() };
    if on {
        plan = compiled("partition", "etcd-election", seed, &unfenced)?;
        plan.dual_belief_bound_ms = Some(0.0);
    }
    Ok(plan)
}

/// Answers take longer than anybody waits.
fn slow_network(seed: u64, on: bool) -> Result<Plan, String> {
    let mut plan = compiled("steady", "raft", seed, &light())?;
    if on {
        plan.network.latency_us = 400_000;
        plan.requires.clear();
    }
    Ok(plan)
}

/// Those of the network's defects alone, without losses.
fn defects(duplicates: bool) -> Result<Network, String> {
    let net = Profile::find(HOSTILE).ok_or("no such network")?.network();
    let (duplicate, reorder) = if duplicates { (net.duplicate, 0.0) } else { (0.0, net.reorder) };
    Ok(Network { loss: 0.0, duplicate, reorder, ..net })
}

/// A protocol without tokens on links that duplicate, or reorder, and lose nothing. Only what is sent within the
/// millisecond that a detour takes is overtaken.
fn hostile(seed: u64, on: bool, duplicates: bool) -> Result<Plan, String> {
    let mut plan = compiled("steady", "redis-lease", seed, &Params { rate: 2_000, ..Params::default() })?;
    if on {
        plan.network = defects(duplicates)?;
        plan.requires.clear();
    }
    Ok(plan)
}

/// A protocol with tokens on links that duplicate, and a store that checks the token alone.
fn applied_twice(seed: u64, on: bool) -> Result<Plan, String> {
    let mut plan = compiled("steady", "redis-fenced", seed, &Params { fencing: Fencing::Token, ..light() })?;
    if on {
        plan.network = defects(true)?;
        plan.requires.clear();
    }
    Ok(plan)
}
