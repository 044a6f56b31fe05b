//! `quorum-loss`: a cut splits the candidates into groups of which none is a majority.
//!
//! The groups are the largest that are no majority, filled in an order drawn from the seed: 1 + 1 of two candidates,
//! 1 + 1 + 1 of three, 2 + 2 of four, 2 + 2 + 1 of five. Clients and the store reach everybody. A protocol that needs a
//! majority must go dark: the leader's belief ends by its own clock, and nobody follows. One that needs none leads in
//! every group. Each is required of the protocols it applies to: a protocol that promises to break under this hazard,
//! with or without fencing, needs no majority.
//!
//! The cut lasts longer than that of `isolate-leader`, so that every possible election happens.

use super::{Needs, Scenario, at, cut, cut_ms, last_strike_ms, require, shuffled, strike_ms};
use crate::{
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Promise, Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "quorum-loss",
    about: "The candidates are split into groups, none of which is a majority.",
    story: "At a time drawn from the seed the candidates fall into groups that hear nothing of each other, and none of \
            them is a majority, for three leases and two seconds. A leader that needs a majority stops, and nobody \
            leads until the cut is healed; if none is needed, every group has a leader at once.",
    hazard: hazard::NO_QUORUM,
    needs: Needs::Peers,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    // A detector that asks others before it believes has nobody to ask in a small group, and takes longer there.
    let for_ms = cut_ms(params, protocol) + params.takeover_max_ms(protocol) / 4;
    let needed_ms = last_strike_ms(params, protocol) + for_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let names = shuffled(&mut random, params);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let groups: Vec<&[String]> = names.chunks((names.len() / 2).max(1)).collect();
    for (place, group) in groups.iter().enumerate() {
        plan.faults.extend(groups[place + 1..].iter().map(|other| at(strike_ms, cut(group, other, for_ms))));
    }
    let leads_without = matches!((protocol.promise)(hazard::NO_QUORUM, false), Promise::Breaks(_));
    plan.requires = match leads_without {
        true => require([(Fact::LeadersBelieving, 2), (Fact::LeadersTookEffect, 2)]),
        false => require([(Fact::LapsedWhileCutOff, 1), (Fact::LeadersTookEffect, 2)]),
    };
    plan
}
