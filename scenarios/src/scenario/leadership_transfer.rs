//! `leadership-transfer`: the leader is asked to hand over to a named successor.
//!
//! A planned handover, as before maintenance of one machine. The leader takes no new work, completes the work in
//! progress, stops believing, and only then tells the successor to stand at once. It costs dark time: a few latencies
//! if it works, an election timeout if the named successor does not win. The scenario requires that it wins.
//!
//! The order comes at a time drawn from within one lease after the fleet has settled, in any phase of the heartbeat.

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
    name: "leadership-transfer",
    about: "An operator asks the leader to hand over to a follower, which takes over.",
    story: "At a time drawn from the seed the leader is asked to hand leadership over to one of its followers. It finishes its \
            work, lets go, and tells the follower to stand at once, without waiting for a timeout. The gap between its last \
            accepted write and its successor's first is the price of the handover.",
    hazard: hazard::TRANSFER,
    needs: Needs::Transfer,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let needed_ms = last_strike_ms(params, protocol) + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let transfer_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(transfer_ms, Fault::Transfer { node: Who::Leader, to: Who::Followers })];
    plan.requires = require([(Fact::TransfersWon, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
