//! `store-restart`: the resource dies and comes back, once soon and once late.
//!
//! The store answers nothing that is not durable, so it loses nothing but what is under way: a write may have been applied
//! without anybody having been told. Leaders have to find out what became of their last write, and go on; nobody else is
//! disturbed, so there is no reason to change leaders, however long it takes.
//!
//! By the seed the process dies, and its machine resets what is connected to it, or the machine loses power, and nobody is
//! told. It is down for 20 to 500 ms, and for one lease to two, in an order drawn from the seed and two leases apart.

use super::{Needs, Scenario, last_strike_ms, require, restarts, restarts_ms, strike_ms};
use crate::{
    fault::Who,
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
    name: "store-restart",
    about: "The store dies or loses power, and is back soon, and another time late.",
    story: "Twice, from a time drawn from the seed on, the store's process is killed or its machine loses power. Once it is \
            back within half a second, once after one lease to two. It has kept all that it had acknowledged. The leader has \
            to learn what became of the write that was under way, and goes on.",
    hazard: Hazard::StoreRestart,
    needs: Needs::Nothing,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (longest_ms, all_ms) = restarts_ms(params, protocol);
    let needed_ms = last_strike_ms(params, protocol) + all_ms + longest_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = restarts(&mut random, params, protocol, &Who::Store, first_ms);
    // Far less than a store that answers for most of the time takes.
    let asked = params.rate.saturating_mul(plan.duration_ms) / 1_000;
    plan.requires = require([(Fact::Kills, 2), (Fact::Restarts, 2), (Fact::WritesAccepted, (asked / 10).max(1))]);
    plan.liveness_bound_ms += longest_ms;
    plan
}
