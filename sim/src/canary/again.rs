//! Canaries of second times: a former leader leads again, a failed disk works again, and outdated information is
//! ignored.

use super::{
    Above, Canary, DARK, ELECTIONS, breaks, compiled, light,
    services::{at, cause, passing, steady},
    survives,
};
use crate::error::Failed;
use protocols::point::Point;
use scenarios::{
    Plan,
    fault::{Fault, Who},
};

pub(super) fn canaries() -> Vec<Canary> {
    vec![
        survives("who has resigned leads again: bully", ELECTIONS, 2.0, |seed, on| resigned(seed, on, "bully")),
        survives("who has resigned leads again: ring", ELECTIONS, 2.0, |seed, on| resigned(seed, on, "ring-lelann")),
        survives("a disk failed once, and its process is needed", ELECTIONS, 2.0, disk_failed_once),
        Canary {
            safe: true,
            at_most: Some(Above { than: 800.0, ..DARK }),
            ..breaks("a resignation while one is dead: raft-core", &[], dead_heir)
        }
        .within(ELECTIONS, 3.0, 3.0),
        // The others' opinion of the first primary must not count against the second.
        Canary { safe: true, ..breaks("one sentinel of three misses the second primary", &[], second_primary_missed) }
            .within(ELECTIONS, 2.0, 2.0),
        breaks("the service's clock jumps over the end of a lease", &["phantom_leader"], service_clock_jumps),
        Canary { safe: true, ..breaks("a newcomer that nobody let in: raft", &[], newcomer_refused) },
        Canary {
            safe: true,
            at_most: Some(Above { than: 100.0, ..DARK }),
            ..breaks("both want the other's power cut, and one is too late", &[], late_request)
        },
        survives("who looks hears of a leader that lost its power: zab", DARK, 1_000.0, joins_the_living),
    ]
}

fn named(name: &str) -> Who {
    Who::Named(name.to_owned())
}

fn dies(node: Who) -> Fault {
    Fault::Kill { node, restart_after_ms: None }
}

/// The leader resigns; then its successor and the third candidate die, so that only the first is left.
fn resigned(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let resign = at(5_000.0, Fault::Resign { node: Who::Leader });
    let mut plan = steady(protocol, seed, 3, cause(on, vec![resign, at(14_000.0, dies(Who::Leader))]))?;
    plan.duration_ms = 30_000;
    // In a ring or with bully, the other candidate may lead first.
    plan.liveness_bound_ms = 15_000;
    Ok(plan)
}

/// A follower's disk fails briefly, which ends its process. It is needed for a majority when the leader dies.
fn disk_failed_once(seed: u64, on: bool) -> Result<Plan, Failed> {
    let fails = at(6_000.0, Fault::SyncFail { node: named("n3"), silent: false, for_ms: Some(300.0) });
    let resign = at(6_050.0, Fault::Resign { node: Who::Leader });
    let kill = at(11_000.0, dies(Who::Leader));
    let mut plan = steady("kraft", seed, 3, cause(on, vec![fails, resign, kill]))?;
    (plan.dual_belief_bound_ms, plan.liveness_bound_ms) = (None, 8_000);
    Ok(plan)
}

/// One of three candidates is dead when the leader resigns, and hands over to the other.
fn dead_heir(seed: u64, on: bool) -> Result<Plan, Failed> {
    let faults = vec![at(5_000.0, dies(Who::Leader)), at(8_000.0, Fault::Resign { node: Who::Leader })];
    steady("raft-core", seed, 3, if on { faults } else { Vec::new() })
}

/// The primary dies and is replaced. Then one sentinel is cut off from the new primary; the others still reach it.
fn second_primary_missed(seed: u64, on: bool) -> Result<Plan, Failed> {
    let first = at(12_000.0, dies(named("redis-1")));
    let (from, to) = (vec![named("sentinel-1")], ["redis-2", "redis-3"].map(named).to_vec());
    let cut = at(40_000.0, Fault::Partition { from, to, one_way: false, for_ms: Some(15_000.0) });
    let mut plan = steady("redis-sentinel", seed, 3, if on { vec![first, cut] } else { Vec::new() })?;
    plan.duration_ms = 65_000;
    (plan.dual_belief_bound_ms, plan.liveness_bound_ms) = (None, 20_000);
    Ok(plan)
}

/// The only candidate leads, so that nothing but the history shows that the grant has ended.
fn service_clock_jumps(seed: u64, on: bool) -> Result<Plan, Failed> {
    let jump = passing(Point::Renewed, Who::Leader, 1, 5_000.0, Fault::ClockStep { node: Who::Service, by_ms: 2_900 });
    steady("redis-lease", seed, 1, cause(on, vec![jump]))
}

/// The leader is cut off when asked to admit a member: the change is never committed, and nobody joins.
fn newcomer_refused(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = compiled("membership-churn", "raft", seed, &light())?;
    plan.requires.clear();
    let (from, to) = (vec![Who::Leader], vec![Who::Candidates]);
    let cut = Fault::Partition { from, to, one_way: false, for_ms: Some(6_000.0) };
    plan.faults = cause(on, vec![at(6_000.0, cut), at(6_000.0, Fault::Join { node: named("n4") })]);
    Ok(plan)
}

/// Two candidates are cut off from each other, the follower first. Its request to the power device arrives after its
/// own power was cut, and must not count.
fn late_request(seed: u64, on: bool) -> Result<Plan, Failed> {
    let cut = |from, to, for_ms| {
        let (from, to) = (vec![named(from)], vec![named(to)]);
        Fault::Partition { from, to, one_way: true, for_ms: Some(for_ms) }
    };
    let (from, to) = (vec![named("n2")], vec![Who::Service]);
    let slow = Fault::Latency { from, to, extra_us: 3_000_000, for_ms: Some(10_000.0) };
    let (deaf, mute) = (at(5_000.0, cut("n1", "n2", 11_000.0)), at(8_500.0, cut("n2", "n1", 7_500.0)));
    let mut plan = steady("stonith", seed, 2, if on { vec![at(5_000.0, slow), deaf, mute] } else { Vec::new() })?;
    plan.duration_ms = 25_000;
    Ok(plan)
}

/// The leader of five loses power. A follower that restarts just then learns from the others that they follow it.
fn joins_the_living(seed: u64, on: bool) -> Result<Plan, Failed> {
    let again = Fault::Kill { node: named("n1"), restart_after_ms: Some(2_000.0) };
    let off = Fault::PowerLoss { node: Who::Leader, restart_after_ms: None };
    let mut plan =
        steady("zab-fle", seed, 5, if on { vec![at(6_000.0, again), at(7_900.0, off)] } else { Vec::new() })?;
    plan.duration_ms = 30_000;
    Ok(plan)
}
