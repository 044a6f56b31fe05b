//! `slow-service`: the leader dies, and the coordination service answers later than anybody waits for.
//!
//! A database that is short of memory, a disk that another tenant uses, a link that is full: requests arrive and are carried out,
//! and nobody is told in time. Whoever gives such a request up does not know whether it was done. So a lock may be taken, a session
//! made, or a lease renewed by somebody who does not know it; what is taken like that has to be given back, or has to end by
//! itself. Where it is kept by what nobody looks at any more, such as a connection that went back to its pool, nobody leads after
//! the service has recovered (GreptimeTeam/greptimedb issue 7670).
//!
//! Answers take one and a half to three request timeouts more, from a time drawn from the seed on, for two to three leases. The
//! leader's process dies within a quarter of a second from then on: whoever asks first is given what it had, and hears of it too
//! late. The process is back after half a lease to two.
//!
//! While it is slow nobody can be asked to lead. Afterwards what was granted to those who gave up has to end first, so the bound on
//! liveness is longer by a lease and an answer.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, require, strike_ms};
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

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "slow-service",
    about: "The leader dies, and the coordination service answers later than anybody waits for, and then as before.",
    story: "From a time drawn from the seed on, answers of the coordination service take longer than requests may, for two leases to \
            three; requests arrive as ever, and are carried out. Just then the leader's process dies. Whoever asks for leadership is \
            given it, and has stopped waiting when it is told. Then the service is as fast as before, and somebody has to lead.",
    hazard: Hazard::SlowService,
    needs: Needs::Service,
    plan,
};

/// The leader dies so soon after the service has become slow, milliseconds.
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
