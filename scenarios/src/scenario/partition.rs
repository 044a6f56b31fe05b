//! `partition`: the leader is cut off from the coordination service, but not from the store.
//!
//! The asymmetry is the point. A leader that is cut off from everything does no harm; one that still reaches the store
//! can, unless it stops by its own clock before the service gives its lease away, or the store refuses its token.

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
    name: "partition",
    about: "The leader is cut off from the coordination service but still reaches the store.",
    story: "At a time drawn from the seed nothing passes between the leader and the coordination service any more, \
            neither way, for three leases and two seconds. Clients, candidates and the store still reach it. Its \
            renewals are lost, the service grants the lease to another candidate, and the store hears from every node \
            that believes it leads.",
    hazard: hazard::CUT_OFF_FROM_SERVICE,
    needs: Needs::Service,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let cut_ms = 3 * params.granted_ttl_ms(protocol) + 2_000;
    let needed_ms = last_strike_ms(params, protocol) + cut_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let cut = Fault::Partition {
        from: vec![Who::Leader],
        to: vec![Who::Service],
        one_way: false,
        for_ms: Some(cut_ms as f64),
    };
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(strike_ms, cut)];
    plan.requires = require([(Fact::ElectedWhileCutOff, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
