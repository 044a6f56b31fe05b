//! `starvation`: every candidate stalls again and again, each time for less than the lease.
//!
//! Too many processes on a host, an exhausted CPU quota, a swapping disk. Nobody is dead and nobody stops for as long
//! as a lease, but everything happens late: heartbeats, answers, renewals. The run measures how many changes of
//! leadership that costs; safety must hold.
//!
//! Each candidate stalls four times within four leases, at times of its own, for 5 to 40 % of a lease.

use super::{Needs, Scenario, at, candidate, drawn_ms, last_strike_ms, require, strike_ms};
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
    name: "starvation",
    about: "Every candidate stalls again and again, each time for less than the lease.",
    story: "From a time drawn from the seed on, for four leases, every candidate stops four times, at times of its own \
            and for up to two fifths of a lease, as processes do on an overloaded host. Nobody is dead. Elections may \
            happen, but each of them is for nothing.",
    hazard: hazard::STARVATION,
    needs: Needs::Nothing,
    plan,
};

/// How many times each candidate stalls, and within how many leases.
const STALLS: u64 = 4;
/// Length of a stall, as a fraction of a lease.
const STALL: (f64, f64) = (0.05, 0.4);

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let ttl_ms = params.granted_ttl_ms(protocol) as f64;
    let all_ms = ((STALLS as f64 + STALL.1) * ttl_ms).ceil() as u64;
    let needed_ms = last_strike_ms(params, protocol) + all_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    for number in 1..=params.nodes {
        // One in each lease: stalls of one candidate do not overlap.
        for place in 0..STALLS {
            let begins = place as f64 + drawn_ms(&mut random, 0.0, 1.0 - STALL.1);
            let for_ms = drawn_ms(&mut random, STALL.0 * ttl_ms, STALL.1 * ttl_ms).max(1.0);
            let stall = Fault::Pause { node: Who::Named(candidate(number)), for_ms };
            plan.faults.push(at(first_ms + begins * ttl_ms, stall));
        }
    }
    // A machine whose power was cut meanwhile cannot stall.
    let stalls = if protocol.cuts_power() { 1 } else { STALLS * u64::from(params.nodes) };
    plan.requires = require([(Fact::Pauses, stalls), (Fact::LeadersTookEffect, 1)]);
    plan
}
