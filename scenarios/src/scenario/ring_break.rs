//! `ring-break`: a ring falls into two.
//!
//! The candidates of one arc hear nothing of those of the other. Each arc loses its link to the next node at one place
//! only, and a node that skips its dead successor closes the arc into a ring of its own: the leader's ring goes on, the
//! other elects. The arcs' start and length are drawn from the seed; ids are in the ring's order.
//!
//! The cut lasts as long as that of `isolate-leader`.

use super::{Needs, Scenario, at, candidate, cut, cut_ms, last_strike_ms, require, strike_ms};
use crate::{
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "ring-break",
    about: "A ring falls into two arcs, and each closes into a ring of its own.",
    story: "At a time drawn from the seed the candidates of one arc of the ring stop hearing from those of the other, for \
            three leases and two seconds. Everyone takes the silence for the death of its neighbours and skips them, so \
            there are two whole rings. The leader's goes on with it; the other one elects.",
    hazard: hazard::BROKEN_RING,
    needs: Needs::Ring,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let for_ms = cut_ms(params, protocol);
    let needed_ms = last_strike_ms(params, protocol) + for_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let mut ring: Vec<String> = (1..=params.nodes).map(candidate).collect();
    let count = ring.len() as u64;
    ring.rotate_left(streams::between(&mut random, 0, count - 1) as usize);
    let (arc, rest) = ring.split_at(streams::between(&mut random, 1, count - 1) as usize);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(strike_ms, cut(arc, rest, for_ms))];
    plan.requires = require([(Fact::ElectedWhileCutOff, 1), (Fact::LeadersBelieving, 2), (Fact::LeadersTookEffect, 2)]);
    plan
}
