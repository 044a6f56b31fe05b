//! `isolate-leader`: nothing passes between the leader and the other candidates.
//!
//! Clients and the store reach everybody all the time, so a leader that goes on does harm. Whether it goes on depends
//! on the quorum: with one, the leader stops by its own clock before the others can have elected a successor; without
//! one, both lead until the cut heals.
//!
//! The cut lasts three leases and 2 s: one in which the others wait for the silent leader and elect, the rest for two
//! leaders to act side by side. If a protocol takes longer than a lease to elect (a failure detector that asks again
//! before it believes), the cut is longer by that.

use super::{Needs, Scenario, at, cut_ms, last_strike_ms, require, strike_ms};
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
    name: "isolate-leader",
    about: "Nothing passes between the leader and the other candidates; clients and the store reach everyone.",
    story: "At a time drawn from the seed the leader and the other candidates stop hearing from each other, both ways, \
            for three leases and two seconds. The others hear nothing and elect a successor. The store hears from \
            every node that believes it leads, and clients ask both.",
    hazard: hazard::CUT_OFF_FROM_PEERS,
    needs: Needs::Peers,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let cut_ms = cut_ms(params, protocol);
    let needed_ms = last_strike_ms(params, protocol) + cut_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let cut = Fault::Partition {
        from: vec![Who::Leader],
        to: vec![Who::Followers],
        one_way: false,
        for_ms: Some(cut_ms as f64),
    };
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(strike_ms, cut)];
    plan.requires = require([(Fact::ElectedWhileCutOff, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
