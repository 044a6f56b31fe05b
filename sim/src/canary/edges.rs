//! Margins at their edge: the leader is cut off from the service right after a renewal, on links that take 10 ms, for as long as
//! its lease lasts and longer. A lease counts from when it was asked for, so that its holder stops a trip before the service
//! ends it, and never later. The numbers are constants here: a bound that the code computes moves with it.

use super::{Above, Canary, MakePlan, breaks, compiled, figure, light};
use protocols::point::Point;
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
};

const STOPS: Above = figure("stop_after_loss_ms", |m| m.stop_after_loss_ms.iter().copied().fold(-1e9, f64::max));

/// All of them.
pub(super) fn canaries() -> Vec<Canary> {
    let stops = |name, plan: MakePlan| Canary { safe: true, ..breaks(name, &[], plan) }.within(STOPS, LEAST, MOST);
    vec![
        stops("at the edge of a lease: redis-lease", |seed, on| edge(seed, on, "redis-lease")),
        stops("at the edge of a lease: redis-fenced", |seed, on| edge(seed, on, "redis-fenced")),
        stops("at the edge of a lease: db-row", |seed, on| edge(seed, on, "db-row")),
    ]
}

/// One-way latency, milliseconds.
const LATENCY_MS: u64 = 10;
/// From three trips before the service ends the lease to a little less than one.
const LEAST: f64 = -31.0;
const MOST: f64 = -9.0;

fn edge(seed: u64, on: bool, protocol: &str) -> Result<Plan, String> {
    let params = Params { duration_ms: Some(24_000), read_lease: Some(false), ..light() };
    let mut plan = compiled("steady", protocol, seed, &params)?;
    plan.requires.clear();
    (plan.network.latency_us, plan.network.jitter_us) = (LATENCY_MS * 1_000, 0);
    plan.liveness_bound_ms = 24_000;
    for candidate in &mut plan.candidates {
        candidate.rate_ppm = 0;
    }
    let (from, to) = (vec![Who::Trigger], vec![Who::Service]);
    let cut = Fault::Partition { from, to, one_way: false, for_ms: Some(8_000.0) };
    let (point, after) = (Point::Renewed.name().to_owned(), Some(Box::new(Trigger::At { ms: 8_000.0 })));
    let when = Trigger::Passage { point, node: Who::Leader, nth: 1, after, delay_ms: 0.0 };
    if on {
        plan.faults = vec![PlannedFault { when, what: cut, group: 0 }];
    }
    Ok(plan)
}
