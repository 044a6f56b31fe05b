//! `clock-skew`: the candidates' wall clocks are minutes apart from the start, and the leader dies.
//!
//! Machines without a time server drift by seconds a day, and a clock set by hand may be anywhere. Leases counted by a
//! service are not affected; rows with an expiry by the writer's clock are (lukas-krecan/ShedLock issue 231,
//! quartznet/quartznet issue 3515): a candidate whose clock is ahead takes a lease that is still valid, and a lease
//! written by such a candidate outlives its holder by the skew. Each clock is off by up to three minutes, either way.

use super::{Needs, Scenario, at, last_strike_ms, require, strike_ms, with_wrong_clocks};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "clock-skew",
    about: "The candidates' wall clocks are minutes apart, and the leader dies.",
    story: "From the start on, each candidate's wall clock is off by up to three minutes, either way. At a time drawn \
            from the seed the leader is killed, and starts again later. A candidate that counts leases on its own wall \
            clock takes one that is still valid, or waits minutes for one that is not.",
    hazard: hazard::CLOCK_STEPS,
    needs: Needs::Nothing,
    plan,
};

/// The largest offset of a clock, milliseconds.
const OFF_MAX_MS: u64 = 180_000;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let ttl_ms = params.granted_ttl_ms(protocol);
    let params = &with_wrong_clocks(params, protocol);
    let needed_ms = last_strike_ms(params, protocol) + 2 * ttl_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let kill_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    for candidate in &mut plan.candidates {
        let off_ms = streams::between(&mut random, 0, 2 * OFF_MAX_MS) as i64 - OFF_MAX_MS as i64;
        candidate.wall_offset_ms += off_ms;
    }
    plan.faults = vec![at(kill_ms, Fault::Kill { node: Who::Leader, restart_after_ms: Some(2.0 * ttl_ms as f64) })];
    plan.requires = require([(Fact::Kills, 1), (Fact::LeadersTookEffect, 1)]);
    plan
}
