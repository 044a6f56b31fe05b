//! `stood-down`: the followers are told to stop.
//!
//! A deployment does this to most processes: they have never led, and have nothing to give back. Some programs start
//! the leader's work on their way out (kubernetes-sigs/controller-runtime issue 2719).

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
    name: "stood-down",
    about: "The followers are asked to give up a leadership that they do not have.",
    story: "At a time drawn from the seed an operator asks every candidate that does not lead to stop. They have \
            nothing to give up and nothing to finish; the leader goes on as if nothing had happened.",
    hazard: hazard::NONE,
    needs: Needs::Named(&["redis-lease", "etcd-election", "raft-core"]),
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let needed_ms = last_strike_ms(params, protocol) + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let order_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(order_ms, Fault::Resign { node: Who::Followers })];
    plan.requires = require([(Fact::Faults, 1), (Fact::LeadersTookEffect, 1)]);
    plan
}
