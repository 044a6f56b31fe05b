//! `clock-jump`: the coordination service's wall clock jumps forward by more than the lease, once.
//!
//! A time server that was wrong for a while, a resumed virtual machine or an operator does this to one machine. A
//! service that counts leases on a monotonic clock does not notice. One that counts on a wall clock, such as Redis or
//! rows with an expiry, gives the leader's lease to the next candidate that asks while the leader's own clock says it
//! is valid: Kleppmann's objection to Redlock ("How to do distributed locking", 2016), with a single server.
//!
//! The jump is one to ten leases and is undone five seconds later; `clock-step` moves everybody's clocks both ways.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, require, strike_ms, with_wrong_clocks};
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
    name: "clock-jump",
    about: "The coordination service's wall clock jumps forward by more than a lease, and back later.",
    story: "At a time drawn from the seed the wall clock of the coordination service is set forward by one lease to \
            ten, and five seconds later set right. A service that counts leases on a wall clock grants the lease to \
            another at once, while the leader's own clock was not touched.",
    hazard: hazard::CLOCK_STEPS,
    needs: Needs::Service,
    plan,
};

/// How long the clock is wrong, milliseconds.
const WRONG_MS: u64 = 5_000;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let ttl_ms = params.granted_ttl_ms(protocol);
    let params = &with_wrong_clocks(params, protocol);
    // Once the clock is set back, a lease granted by the wrong clock lasts longer by the jump.
    let jump_max_ms = 10 * ttl_ms;
    let needed_ms = last_strike_ms(params, protocol) + WRONG_MS + jump_max_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let by_ms = drawn_ms(&mut random, (ttl_ms + 100) as f64, jump_max_ms as f64) as i64;
    let step = |by_ms| Fault::ClockStep { node: Who::Service, by_ms };
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(strike_ms, step(by_ms)), at(strike_ms + WRONG_MS as f64, step(-by_ms))];
    plan.liveness_bound_ms += jump_max_ms;
    plan.requires = require([(Fact::ClockSteps, 2), (Fact::LeadersTookEffect, 1)]);
    plan
}
