//! `graceful-step-down`: the leader is asked to give up leadership.
//!
//! A deployment does this at every release. The leader finishes its work and gives the lease back, so nobody has to
//! wait for it to expire: the run measures the handoff gap.

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
    name: "graceful-step-down",
    about: "An operator asks the leader to give leadership up, and another takes over.",
    story: "At a time drawn from the seed the leader is asked to resign. It stops its work, gives the lease back and lets \
            the others go first. The gap between its last accepted write and its successor's first is as short as the \
            protocol can make it: a queue hands over at once, a poll takes up to its interval.",
    hazard: hazard::RESIGNATION,
    needs: Needs::Nothing,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let needed_ms = last_strike_ms(params, protocol) + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let resign_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(resign_ms, Fault::Resign { node: Who::Leader })];
    plan.requires = require([(Fact::Resignations, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
