//! `flapping`: the leader's links go down and up again, many times and never for long.
//!
//! A loose plug, a rebooting switch, an unstable route. No cut is as long as a lease, so no single one justifies a
//! deposition, and each comes before the fleet has recovered from the last: timers that every message resets never
//! fire, those that none resets fire too soon, and a fleet that elects at every flap never gets to work. A leader has
//! to work all the same.
//!
//! Each cut is between the leader and its followers, the coordination service or both, in one direction or both by the
//! seed; it lasts 5 to 50 % of a lease, and the next follows 10 to 60 % of a lease after its end.

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
    name: "flapping",
    about: "Links between the leader, the others and the service go down and up many times, never for long.",
    story: "From a time drawn from the seed on, twelve times, nothing passes between the leader and the other \
            candidates, or the coordination service, or both, one way or both ways, for less than half a lease. Then \
            all is well for a moment. No single cut is long enough to justify replacing anybody, but together they are \
            trouble.",
    hazard: hazard::FLAPPING,
    needs: Needs::Nothing,
    plan,
};

/// How many times links go down.
const FLAPS: u64 = 12;
/// Length of a cut, as a fraction of a lease.
const DOWN: (f64, f64) = (0.05, 0.5);
/// Time until the next cut, as a fraction of a lease.
const UP: (f64, f64) = (0.1, 0.6);

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let ttl_ms = params.granted_ttl_ms(protocol) as f64;
    let all_ms = (FLAPS as f64 * (DOWN.1 + UP.1) * ttl_ms).ceil() as u64;
    let needed_ms = last_strike_ms(params, protocol) + all_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let mut at_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let sides: &[&[Who]] = match (protocol.service.process, protocol.elects_among_peers()) {
        (None, _) => &[&[Who::Followers]],
        (Some(_), true) => &[&[Who::Followers], &[Who::Followers, Who::Service]],
        // Candidates of a service do not talk to each other.
        (Some(_), false) => &[&[Who::Service]],
    };
    for _ in 0..FLAPS {
        let to = sides[streams::between(&mut random, 0, sides.len() as u64 - 1) as usize].to_vec();
        let for_ms = drawn_ms(&mut random, DOWN.0 * ttl_ms, DOWN.1 * ttl_ms).max(1.0);
        let leader = vec![Who::Leader];
        let (from, to, one_way) = match streams::between(&mut random, 0, 3) {
            0 => (leader, to, true),
            1 => (to, leader, true),
            _ => (leader, to, false),
        };
        plan.faults.push(at(at_ms, Fault::Partition { from, to, one_way, for_ms: Some(for_ms) }));
        at_ms += for_ms + drawn_ms(&mut random, UP.0 * ttl_ms, UP.1 * ttl_ms);
    }
    plan.requires = require([(Fact::Faults, FLAPS), (Fact::LeadersTookEffect, 1)]);
    plan
}
