//! `thundering-herd`: the leader dies for good, and everybody who waited asks the coordination service at once.
//!
//! What a vacancy costs the service, told with nine candidates (`--nodes 9`): where all compete for one key, each of them
//! hears of the vacancy and asks; where they queue, one does. The report says how many requests the service got, and the most
//! in one second. Compare `etcd-key` with `etcd-election`, `zk-selector` and `kafka-zk-controller` with `zk-election`, and
//! whoever polls with whoever watches.

use super::{Needs, Scenario, at, last_strike_ms, require, strike_ms};
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
    name: "thundering-herd",
    about: "The leader dies for good, and whoever waited asks the coordination service at once.",
    story: "At a time drawn from the seed the leader is killed, and stays dead. Whoever waits for the vacancy asks the \
            coordination service: all of them, or only the next in line. The report counts what the service was asked, and \
            the most in one second. Best seen with nine candidates.",
    hazard: Hazard::Crash,
    needs: Needs::Service,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let needed_ms = last_strike_ms(params, protocol) + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let kill_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(kill_ms, Fault::Kill { node: Who::Leader, restart_after_ms: None })];
    plan.requires = require([(Fact::Kills, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
