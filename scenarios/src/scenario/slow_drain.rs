//! `slow-drain`: the leader is asked to give up leadership while its pending writes take long.
//!
//! As `graceful-step-down`, but the store answers the leader slowly, so that writes are pending when the order comes.
//! They have to complete before another may lead: a lease given back early admits a successor while they are still
//! pending (KEP-5366).
//!
//! From half a second before the order, what the leader sends to the store takes 600 ms longer: less than the timeout
//! after which it abandons a connection.

use super::{Needs, Scenario, at, last_strike_ms, require, strike_ms};
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
    name: "slow-drain",
    about: "The leader is asked to resign while its writes take long to reach the store.",
    story: "At a time drawn from the seed what the leader writes begins to take 600 ms to the store, and half a second later \
            it is asked to resign, with writes under way. It takes no new work, waits until what is under way is decided, and \
            only then lets go.",
    // Not the hazard of other resignations: clients retry slow writes elsewhere, and those come twice.
    hazard: hazard::ANY,
    needs: Needs::Named(&["redis-fenced", "etcd-election", "k8s-lease", "raft-core"]),
    plan,
};

/// How much longer a write takes, milliseconds.
const SLOWER_MS: u64 = 600;
/// How long before the order the slowness begins, milliseconds.
const BEFORE_MS: f64 = 500.0;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let slow_ms = 3 * SLOWER_MS;
    let needed_ms = last_strike_ms(params, protocol) + slow_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let slow_from_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let (from, to, for_ms) = (vec![Who::Leader], vec![Who::Store], Some(slow_ms as f64));
    plan.faults = vec![
        at(slow_from_ms, Fault::Latency { from, to, extra_us: SLOWER_MS * 1_000, for_ms }),
        at(slow_from_ms + BEFORE_MS, Fault::Resign { node: Who::Leader }),
    ];
    plan.requires = require([(Fact::Resignations, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
