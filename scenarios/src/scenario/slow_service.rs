//! `slow-service`: the leader dies, and the coordination service answers later than any client waits.
//!
//! A database short of memory, a disk shared with another tenant, a full link: requests arrive and are carried out, but
//! answers come too late. A client that abandons such a request does not know whether it was carried out. So it may
//! hold a lock, a session or a renewed lease without knowing it, which has to be released or has to expire by itself.
//! If something keeps it that nobody checks any more, such as a connection returned to its pool, nobody leads after the
//! service has recovered (GreptimeTeam/greptimedb issue 7670).
//!
//! Answers take one and a half to three request timeouts longer, from a time drawn from the seed, for two to three
//! leases. The leader's process dies within a quarter of a second of that time: the first candidate to ask gets its
//! leadership, and hears of it too late. The process is back after half a lease to two.
//!
//! While the service is slow, no candidate can be required to lead. Afterwards the grants of abandoned requests have to
//! end first, so the liveness bound is longer by a lease and an answer.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, require, strike_ms};
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
    name: "slow-service",
    about: "The leader dies while the coordination service answers too late for every timeout; then it answers as before.",
    story: "From a time drawn from the seed on, answers of the coordination service take longer than requests may, for \
            two leases to three; requests arrive as ever, and are carried out. Just then the leader's process dies. A \
            candidate that asks for leadership is granted it, but has stopped waiting when the answer comes. Then the \
            service is as fast as before, and somebody has to lead.",
    hazard: hazard::SLOW_SERVICE,
    needs: Needs::Service,
    plan,
};

/// How soon after the service has become slow the leader dies, milliseconds.
const DIES_WITHIN_MS: f64 = 250.0;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (ttl_ms, timeout_ms) = (params.granted_ttl_ms(protocol), params.timings(protocol).request_timeout_ms);
    let (longest_ms, over_ms) = (3 * ttl_ms, ttl_ms + 3 * timeout_ms);
    let needed_ms = last_strike_ms(params, protocol) + longest_ms + over_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let for_ms = drawn_ms(&mut random, (2 * ttl_ms) as f64, longest_ms as f64);
    let extra_us = (drawn_ms(&mut random, 1.5 * timeout_ms as f64, 3.0 * timeout_ms as f64) * 1e3) as u64;
    let dies_ms = strike_ms + drawn_ms(&mut random, 0.0, DIES_WITHIN_MS);
    let back_ms = drawn_ms(&mut random, ttl_ms as f64 / 2.0, (2 * ttl_ms) as f64);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let (from, to) = (vec![Who::Service], vec![Who::Candidates]);
    plan.faults = vec![
        at(strike_ms, Fault::Latency { from, to, extra_us, for_ms: Some(for_ms) }),
        at(dies_ms, Fault::Kill { node: Who::Leader, restart_after_ms: Some(back_ms) }),
    ];
    plan.liveness_bound_ms += over_ms;
    plan.requires = require([(Fact::Kills, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
