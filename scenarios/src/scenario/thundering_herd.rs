//! `thundering-herd`: the leader dies for good, and every waiting candidate asks the coordination service at once.
//!
//! It shows what a vacancy costs the service, with nine candidates (`--nodes 9`): if all compete for one key, each of
//! them hears of the vacancy and asks; if they queue, one does. The report counts the service's requests, and the most
//! in one second. Compare `etcd-key` with `etcd-election`, `zk-selector` and `kafka-zk-controller` with `zk-election`,
//! and protocols that poll with those that watch.

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
    name: "thundering-herd",
    about: "The leader dies for good, and the waiting candidates ask the coordination service at once.",
    story: "At a time drawn from the seed the leader is killed, and stays dead. The candidates that wait for the \
            vacancy ask the coordination service: all of them, or only the next in line. The report counts the \
            requests to the service, and the most in one second. Best seen with nine candidates.",
    hazard: hazard::CRASH,
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
