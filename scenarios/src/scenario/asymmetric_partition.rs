//! `asymmetric-partition`: one direction is lost between the leader and the other candidates.
//!
//! The seed chooses one of two stories, which end differently:
//! - **The leader is mute**: what it sends is lost, what is sent to it arrives. Under every protocol the others hear
//!   nothing and elect a successor, so that is required. The old leader hears the successor. A protocol with terms or
//!   epochs makes it step down at once; one in which the better id wins (acassen/keepalived issue 1528) makes it go on,
//!   since the answer that would establish the successor is lost.
//! - **The leader is deaf**: what is sent to it is lost, what it sends arrives. If a leader needs answers, it stops by
//!   its own clock, and while its heartbeats go on nobody stands against it: nobody leads until the cut heals. If
//!   heartbeats are not acknowledged, nobody notices anything, and nothing need happen. Under any protocol the leader
//!   goes on writing for as long as the last answers before the cut allow.
//!
//! The cut lasts as long as that of `isolate-leader`.

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
    name: "asymmetric-partition",
    about: "Between the leader and the others, one direction is lost: the leader is mute, or deaf.",
    story: "At a time drawn from the seed, and by the seed, either what the leader sends to the other candidates is \
            lost, or what they send to it, for three leases and two seconds. A mute leader is replaced, and hears of \
            it. A deaf one is heard by all but hears nobody: whether it may go on depends on whether it needs \
            answers.",
    hazard: hazard::ONE_WAY_CUT,
    needs: Needs::Peers,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let cut_ms = cut_ms(params, protocol);
    let needed_ms = last_strike_ms(params, protocol) + cut_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let mute = streams::between(&mut random, 0, 1) == 0;
    let (leader, others) = (vec![Who::Leader], vec![Who::Followers]);
    let (from, to) = if mute { (leader, others) } else { (others, leader) };
    let cut = Fault::Partition { from, to, one_way: true, for_ms: Some(cut_ms as f64) };
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(strike_ms, cut)];
    plan.requires = require([(Fact::WritesWhileCutOff, 1)]);
    if mute {
        plan.requires.extend(require([(Fact::ElectedWhileCutOff, 1), (Fact::LeadersTookEffect, 2)]));
    }
    plan
}
