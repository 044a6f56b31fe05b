//! Canaries of Redis under sentinels: which replica is promoted, when, and by how many sentinels.

use super::{
    Above, Canary, DARK, ELECTIONS, breaks,
    services::{at, cause, drop_key, steady},
    survives,
};
use crate::error::Failed;
use scenarios::{
    Plan,
    fault::{Fault, Who},
};

pub(super) fn canaries() -> Vec<Canary> {
    vec![
        // Each sentinel has voted for itself before it is asked, and they stand again minutes later.
        breaks("sentinels that stand at once elect nobody", &["liveness"], sentinels_at_once),
        survives("of two replicas the newer one is promoted", ELECTIONS, 2.0, stale_replica),
        // One sentinel is not a quorum: the primary stays, so that it does not matter when its replicas die.
        Canary {
            safe: true,
            at_most: Some(Above { than: 1_000.0, ..DARK }),
            ..breaks("one sentinel of three misses the primary", &[], one_sentinel_misses)
        }
        .within(ELECTIONS, 1.0, 1.0),
        Canary {
            safe: true,
            at_most: Some(Above { than: 10_000.0, ..DARK }),
            ..breaks("a sentinel that missed a failover", &[], sentinel_behind)
        },
        survives("a former primary is promoted again", ELECTIONS, 2.0, former_primary),
    ]
}

/// One replica has missed the last grant with its token when the primary dies. If promoted, it would grant that token
/// again.
fn stale_replica(seed: u64, on: bool) -> Result<Plan, Failed> {
    let primary = || Who::Named("redis-1".to_owned());
    let behind = Who::Named(if seed.is_multiple_of(2) { "redis-2" } else { "redis-3" }.to_owned());
    let cut = Fault::Partition { from: vec![primary()], to: vec![behind], one_way: false, for_ms: Some(6_000.0) };
    let dies = at(12_000.0, Fault::Kill { node: primary(), restart_after_ms: None });
    let faults = cause(on, vec![at(10_000.0, cut), at(10_100.0, drop_key()), dies]);
    let mut plan = steady("redis-sentinel", seed, 3, faults)?;
    plan.duration_ms = 40_000;
    // Nobody leads until there is a new primary.
    (plan.dual_belief_bound_ms, plan.liveness_bound_ms) = (None, 20_000);
    Ok(plan)
}

/// One sentinel is cut off from the primary; the others still reach it. Later both replicas die: had one become the
/// primary, the leader would lose its lock.
fn one_sentinel_misses(seed: u64, on: bool) -> Result<Plan, Failed> {
    let named = |name: &str| Who::Named(name.to_owned());
    let (from, to, for_ms) = (vec![named("sentinel-1")], vec![named("redis-1")], Some(15_000.0));
    let cut = at(12_000.0, Fault::Partition { from, to, one_way: false, for_ms });
    let mut faults = cause(on, vec![cut]);
    let dies = |name| at(30_000.0, Fault::Kill { node: named(name), restart_after_ms: None });
    faults.extend(["redis-2", "redis-3"].map(dies));
    let mut plan = steady("redis-sentinel", seed, 3, faults)?;
    plan.duration_ms = 40_000;
    Ok(plan)
}

/// One sentinel is cut off while the primary dies, is replaced, and restarts. Its outdated view of the primary must not
/// redirect anybody.
fn sentinel_behind(seed: u64, on: bool) -> Result<Plan, Failed> {
    let named = |name: &str| Who::Named(name.to_owned());
    let others = ["sentinel-1", "sentinel-2", "redis-1", "redis-2", "redis-3"];
    let (from, to) = (vec![named("sentinel-3")], others.map(named).to_vec());
    let cut = Fault::Partition { from, to, one_way: false, for_ms: Some(19_000.0) };
    let dies = Fault::Kill { node: named("redis-1"), restart_after_ms: Some(8_000.0) };
    let mut plan = steady("redis-sentinel", seed, 3, cause(on, vec![at(11_500.0, cut), at(12_000.0, dies)]))?;
    plan.duration_ms = 50_000;
    (plan.dual_belief_bound_ms, plan.liveness_bound_ms) = (None, 40_000);
    Ok(plan)
}

/// The primary dies, and restarts after it was replaced. It becomes a replica, and is the only server left when the new
/// primary dies, too.
fn former_primary(seed: u64, on: bool) -> Result<Plan, Failed> {
    let dies =
        |ms, name: &str, restart_after_ms| at(ms, Fault::Kill { node: Who::Named(name.to_owned()), restart_after_ms });
    let faults = vec![
        dies(10_500.0, "redis-3", None),
        dies(12_000.0, "redis-1", Some(8_000.0)),
        dies(45_000.0, "redis-2", None),
    ];
    let mut plan = steady("redis-sentinel", seed, 3, cause(on, faults))?;
    plan.duration_ms = 80_000;
    (plan.dual_belief_bound_ms, plan.liveness_bound_ms) = (None, 20_000);
    Ok(plan)
}

/// The primary dies, and messages between sentinels take longer than any of them waits before it stands.
fn sentinels_at_once(seed: u64, on: bool) -> Result<Plan, Failed> {
    const SENTINELS: [&str; 3] = ["sentinel-1", "sentinel-2", "sentinel-3"];
    let named = |name: &str| Who::Named(name.to_owned());
    let slow = |from: &&str| {
        let to = SENTINELS.iter().filter(|to| *to != from).map(|to| named(to)).collect();
        at(11_000.0, Fault::Latency { from: vec![named(from)], to, extra_us: 1_500_000, for_ms: Some(20_000.0) })
    };
    // By then all sentinels know the replicas.
    let mut faults = vec![at(12_000.0, Fault::Kill { node: named("redis-1"), restart_after_ms: None })];
    if on {
        faults.extend(SENTINELS.iter().map(slow));
    }
    let mut plan = steady("redis-sentinel", seed, 3, faults)?;
    plan.duration_ms = 50_000;
    (plan.dual_belief_bound_ms, plan.liveness_bound_ms) = (None, 20_000);
    Ok(plan)
}
