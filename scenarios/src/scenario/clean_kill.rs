//! `clean-kill`: the leader's process dies under load.
//!
//! Its machine lives and resets its connections, so everybody could know at once; the lease makes them wait all the
//! same. This is the failover time that a team quotes, and that a shorter lease improves.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, require, settled_ms, strike_ms};
use crate::{
    belief,
    fault::{Fault, PlannedFault, Who},
    params::Params,
    plan::{Invalid, Known, Plan},
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "clean-kill",
    about: "The leader's process is killed under load and starts again later.",
    story: "At a time drawn from the seed, in any phase of the renewal, the leader is killed while it serves. Its lease runs \
            out, a successor is elected, seals the store and goes on. The killed process comes back between half a lease and \
            two leases later, before or after its successor's election, with nothing in its memory.",
    hazard: hazard::CRASH,
    needs: Needs::Nothing,
    plan,
};

/// One fleet whose leader is killed `kills` times, each time as in the scenario: the killed process is back and a
/// successor at work before the next kill, which comes in any phase of the renewal. For measurements, where starting a
/// fleet takes longer than an election.
///
/// # Errors
/// One sentence, as from [`Plan::validate_among`].
pub fn repeated(params: &Params, protocol: &Protocol, seed: u64, kills: u32) -> Result<Plan, Invalid> {
    let once = SCENARIO.compile(params, protocol, seed)?;
    let ttl_ms = params.granted_ttl_ms(protocol);
    let back_max_ms = 2 * ttl_ms;
    let over_ms = (ttl_ms + params.takeover_max_ms(protocol)).max(back_max_ms) + CALM_MS;
    let mut random = streams::stream(seed, PLAN);
    let (mut faults, mut ready_ms) = (Vec::new(), settled_ms(params, protocol) as f64);
    for _ in 0..kills {
        let strike_ms = drawn_ms(&mut random, ready_ms, ready_ms + ttl_ms as f64);
        let restart_ms = drawn_ms(&mut random, ttl_ms as f64 / 2.0, back_max_ms as f64);
        faults.push(at(strike_ms, Fault::Kill { node: Who::Leader, restart_after_ms: Some(restart_ms) }));
        ready_ms = strike_ms + over_ms as f64;
    }
    with_kills(once, params, protocol, faults, ready_ms)
}

/// Churn: one fleet whose leader is killed every `period_ms` for `for_ms`, in any phase of the renewal, and is back a
/// second later. If an election may take longer than that, the period is [`churn_period_ms`].
///
/// # Errors
/// One sentence, as from [`Plan::validate_among`].
pub fn churn(
    params: &Params,
    protocol: &Protocol,
    seed: u64,
    (period_ms, for_ms): (u64, u64),
) -> Result<Plan, Invalid> {
    let once = SCENARIO.compile(params, protocol, seed)?;
    let period_ms = churn_period_ms(params, protocol, period_ms);
    let first_ms = settled_ms(params, protocol);
    let mut random = streams::stream(seed, PLAN);
    let kill = |place: u64| {
        let from_ms = (first_ms + place * period_ms) as f64;
        let strike_ms = drawn_ms(&mut random, from_ms, from_ms + PHASE_MS);
        at(strike_ms, Fault::Kill { node: Who::Leader, restart_after_ms: Some(BACK_MS) })
    };
    let faults: Vec<_> = (0..(for_ms / period_ms).max(1)).map(kill).collect();
    let ready_ms = (first_ms + faults.len() as u64 * period_ms) as f64;
    with_kills(once, params, protocol, faults, ready_ms)
}

/// The time between kills in a churn that asks for `period_ms`: long enough that a successor was elected at least a
/// second before, however long elections take.
pub fn churn_period_ms(params: &Params, protocol: &Protocol, period_ms: u64) -> u64 {
    period_ms.max(params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol) + CALM_MS)
}

/// The scenario's plan with these kills instead of its own; the last is over at `ready_ms`.
fn with_kills(
    once: Plan,
    params: &Params,
    protocol: &Protocol,
    faults: Vec<PlannedFault>,
    ready_ms: f64,
) -> Result<Plan, Invalid> {
    let duration_ms = ready_ms as u64 + params.aftermath_ms(protocol);
    let requires = require([(Fact::Kills, faults.len() as u64), (Fact::LeadersTookEffect, 2)]);
    let mut plan = Plan { faults, requires, duration_ms: duration_ms.div_ceil(1_000) * 1_000, ..once };
    plan.dual_belief_bound_ms = belief::bound_ms(&plan, protocol);
    let known =
        Known { scenarios: vec![SCENARIO.name], protocols: &[protocol], bugs: &params.bugs, works: &params.works };
    plan.validate_among(&known).map(|()| plan)
}

/// How long a fleet is left alone before its next kill, milliseconds.
const CALM_MS: u64 = 1_000;
/// In churn, kills come up to this many milliseconds late, so that they strike in every phase.
const PHASE_MS: f64 = 500.0;
/// In churn, a killed process is back after this many milliseconds.
const BACK_MS: f64 = 1_000.0;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let ttl_ms = params.granted_ttl_ms(protocol) as f64;
    let restart_max_ms = 2 * params.granted_ttl_ms(protocol);
    let needed_ms = last_strike_ms(params, protocol) + restart_max_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let kill_ms = strike_ms(&mut random, params, protocol);
    let restart_ms = drawn_ms(&mut random, ttl_ms / 2.0, restart_max_ms as f64);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(kill_ms, Fault::Kill { node: Who::Leader, restart_after_ms: Some(restart_ms) })];
    plan.requires = require([(Fact::Kills, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
