//! `successor-dies`: the leader is killed, and its successor too, soon after it takes over.

use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};
use scenarios::{
    Params, Plan, Scenario,
    fault::{Fault, Who},
    scenario::{Needs, at, drawn_ms, last_strike_ms, require, strike_ms},
    streams::{self, PLAN},
};

pub const SCENARIO: Scenario = Scenario {
    name: "successor-dies",
    about: "The leader is killed, and its successor is killed soon after it took over.",
    story: "At a time drawn from the seed the leader is killed; it comes back half a lease later. When a successor has had \
            time to be elected, and within half a lease from then, whoever leads is killed too.",
    hazard: hazard::ANY,
    needs: Needs::Nothing,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let ttl_ms = params.granted_ttl_ms(protocol) as f64;
    let takeover_ms = ttl_ms + params.takeover_max_ms(protocol) as f64 + 500.0;
    let needed_ms = last_strike_ms(params, protocol) as f64 + takeover_ms + ttl_ms;
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let second_ms = first_ms + takeover_ms + drawn_ms(&mut random, 0.0, ttl_ms / 2.0);
    let kill = |ms| at(ms, Fault::Kill { node: Who::Leader, restart_after_ms: Some(ttl_ms / 2.0) });
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms as u64 + params.aftermath_ms(protocol));
    plan.faults = vec![kill(first_ms), kill(second_ms)];
    plan.requires = require([(Fact::Kills, 2), (Fact::LeadersTookEffect, 3)]);
    plan
}
