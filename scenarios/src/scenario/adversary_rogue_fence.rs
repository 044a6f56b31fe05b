//! `adversary-rogue-fence`: an adversary has a healthy leader's power cut.
//!
//! Reference text "Split brain": a "compromised STONITH". Anybody who reaches the device and can speak in a candidate's
//! name can switch any machine off; a device that asks for no proof cannot tell.
//!
//! **What holds.** Safety: the leader is off, as fencing intends, and nobody takes over without a confirmed cut of
//! their own. **What breaks.** Availability, for a reboot or a takeover per forged request.

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

pub const SCENARIO: Scenario = Scenario {
    name: "adversary-rogue-fence",
    about: "An intruder, posing as a follower, asks the fencing device to cut the power of a healthy leader.",
    story: "At a time drawn from the seed an intruder, posing as a follower, asks the fencing device to cut the \
            leader's power, and it does. Nobody was silent and nobody wants to take over: the others find out as if \
            the machine had failed.",
    hazard: Hazard::new("A rogue request has a healthy leader's power cut."),
    needs: Needs::PowerDevice,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let needed_ms = last_strike_ms(params, protocol) + 2 * params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(strike_ms, Fault::RogueFence { node: Who::Leader, by: Who::Followers })];
    plan.requires = require([(Fact::PowerOffs, 1), (Fact::Elections, 2), (Fact::LeadersTookEffect, 2)]);
    plan
}
