//! `clean-kill`: the leader's process dies under load.
//!
//! Its machine lives and resets its connections, so everybody could know at once; the lease makes them wait all the same.
//! This is the failover time that a team quotes, and the one that a shorter lease buys.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Hazard, Protocol},
    history::Fact,
};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "clean-kill",
    about: "The leader's process is killed under load and starts again later.",
    story: "At a time drawn from the seed, in any phase of the renewal, the leader is killed while it serves. Its lease runs \
            out, a successor is elected, seals the store and goes on. The killed process comes back between half a lease and \
            two leases later, before or after its successor's election, with nothing in its memory.",
    hazard: Hazard::Crash,
    needs: Needs::Nothing,
    plan,
};

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
