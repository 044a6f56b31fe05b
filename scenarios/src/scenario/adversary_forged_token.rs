//! `adversary-forged-token`: an adversary that does not lead shows the store a token higher than any other.
//!
//! A resource that takes any number for a token is bricked by the first one larger than any that will ever be granted:
//! it admits no leader any more. Tokens have to be authenticated unless everybody who reaches the resource is trusted.

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
    name: "adversary-forged-token",
    about: "An intruder shows the store a made-up token, higher than all others.",
    story: "At a time drawn from the seed an intruder, posing as a follower, seals every resource with a made-up token \
            that is higher than all others. A store that authenticates tokens refuses it, and the leader continues; \
            one that does not lets nobody in any more.",
    hazard: hazard::ANY,
    needs: Needs::Named(&["redis-fenced", "etcd-election", "raft-core"]),
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let needed_ms = last_strike_ms(params, protocol) + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let forged_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(forged_ms, Fault::ForgeToken { node: Who::Followers })];
    plan.requires = require([(Fact::Faults, 1), (Fact::LeadersTookEffect, 1)]);
    plan
}
