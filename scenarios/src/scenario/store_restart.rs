//! `store-restart`: the resource dies and comes back, once soon and once late.
//!
//! The store only acknowledges what is durable, so it loses only what is in flight: a write may have been applied
//! without an acknowledgement. Leaders have to find out what became of their last write, and go on; nobody else is
//! affected, so nothing justifies a change of leaders, however long it takes.
//!
//! By the seed the process dies, and its machine resets its connections, or the machine loses power, and nobody is
//! told. It is down for 20 to 500 ms, and for one to two leases, in an order drawn from the seed and two leases apart.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, PlannedFault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Hazard, Protocol},
    history::Fact,
};
use rand_core::RngCore;

pub const SCENARIO: Scenario = Scenario {
    name: "store-restart",
    about: "The store dies or loses power twice: it is back soon the one time, late the other.",
    story: "Twice, from a time drawn from the seed on, the store's process is killed or its machine loses power. Once it is \
            back within half a second, once after one lease to two. It has kept all that it had acknowledged. The leader has \
            to learn what became of the write that was under way, and goes on.",
    hazard: Hazard::new("The resource dies or loses power, and returns."),
    needs: Needs::Nothing,
    plan,
};

/// The shorter downtime, milliseconds.
const BACK_SOON_MS: (f64, f64) = (20.0, 500.0);

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let mut plan = plan_of(&Who::Store, SCENARIO.name, params, protocol, seed);
    // Far fewer writes than a store accepts that is up most of the time.
    let asked = params.rate.saturating_mul(plan.duration_ms) / 1_000;
    plan.requires = require([(Fact::Kills, 2), (Fact::Restarts, 2), (Fact::WritesAccepted, (asked / 10).max(1))]);
    plan
}

/// This scenario's plan with another server in the store's place, and without requirements.
pub(super) fn plan_of(server: &Who, scenario: &str, params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let ttl_ms = params.granted_ttl_ms(protocol);
    let longest_ms = (2 * ttl_ms).max(BACK_SOON_MS.1 as u64);
    let apart_ms = longest_ms + 2 * ttl_ms + 1_000;
    let all_ms = apart_ms + longest_ms;
    let needed_ms = last_strike_ms(params, protocol) + all_ms + longest_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(scenario, protocol, seed, needed_ms);
    plan.faults = restarts(&mut random, server, ttl_ms as f64, [first_ms, first_ms + apart_ms as f64]);
    plan.liveness_bound_ms += longest_ms;
    plan
}

/// The server dies, or loses power, at two times: once it is back soon, once after one to two leases.
fn restarts(random: &mut impl RngCore, server: &Who, ttl_ms: f64, times_ms: [f64; 2]) -> Vec<PlannedFault> {
    let mut downs = [BACK_SOON_MS, (ttl_ms, 2.0 * ttl_ms)];
    if streams::between(random, 0, 1) == 1 {
        downs.reverse();
    }
    let mut restart = |(at_ms, (low_ms, high_ms))| {
        let (node, restart_after_ms) = (server.clone(), Some(drawn_ms(random, low_ms, high_ms)));
        let what = match streams::between(random, 0, 1) {
            0 => Fault::Kill { node, restart_after_ms },
            _ => Fault::PowerLoss { node, restart_after_ms },
        };
        at(at_ms, what)
    };
    times_ms.into_iter().zip(downs).map(&mut restart).collect()
}
