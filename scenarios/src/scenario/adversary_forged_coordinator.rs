//! `adversary-forged-coordinator`: an adversary claims in a dead candidate's name that it leads.
//!
//! Reference text "Split brain": "forge messages from a specific node ID". Textbook elections believe what arrives:
//! COORDINATOR (bully, rings) and VRRP's advertisement carry no proof of their sender. The candidate that the protocol
//! prefers has died, so any leader gives way to its word.
//!
//! **What holds.** Safety: a leader that believes the message stops at once, nobody leads until the dead candidate is
//! missed again, and then the same leader is elected anew. One forged message makes no second leader, since the
//! candidate it names does not believe. **What breaks.** Availability: each message costs the time that others wait for
//! a silent leader, and one message per such time keeps everybody from leading for as long as the adversary sends them
//! (`sim/tests/all/adversary.rs`). Election messages have to be authenticated.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, preferred, require, strike_ms};
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
    name: "adversary-forged-coordinator",
    about: "An intruder, posing as a dead candidate that all prefer, claims that it leads.",
    story: "At a time drawn from the seed the candidate that the protocol prefers dies for good, and another takes \
            over. Some time later an intruder, posing as the dead one, tells all that it leads. The current leader \
            gives way, and nobody leads until the dead one is missed again.",
    hazard: hazard::FORGED_CLAIM,
    needs: Needs::Claim,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let taken_over_ms = params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol) + 1_000;
    let renew_ms = params.timings(protocol).renew_interval_ms;
    let needed_ms = last_strike_ms(params, protocol) + taken_over_ms + renew_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let killed_ms = strike_ms(&mut random, params, protocol);
    let forged_ms = killed_ms + taken_over_ms as f64 + drawn_ms(&mut random, 0.0, renew_ms as f64);
    let dead = || Who::Named(preferred(params, protocol));
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![
        at(killed_ms, Fault::Kill { node: dead(), restart_after_ms: None }),
        at(forged_ms, Fault::ForgeClaim { node: dead(), to: vec![Who::Candidates] }),
    ];
    plan.requires = require([(Fact::Elections, 3), (Fact::LeadersTookEffect, 3)]);
    plan
}
