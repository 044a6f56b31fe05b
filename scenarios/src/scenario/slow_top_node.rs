//! `slow-top-node`: the candidate that the protocol prefers stops again and again.
//!
//! Each time for just longer than the others wait for it, and each time it comes back for long enough to lead again: the
//! oscillation of an election without hysteresis (braft issue 261 is its like). A protocol that prefers nobody pays for the
//! first stop at most, since its next leader stays.
//!
//! The times, with W the longest that the others wait for a silent leader, ttl and takeover:
//! ```text
//!  0         W + 700 ms    + 2 ttl + takeover     again, six times in all
//!  stops     runs          leads once more        stops
//! ```
//! So many elections the stops would need at most if nobody were preferred: the first of all, and one when the leader stops
//! for the first time. Four more than these two are required of a protocol with a preference. Each stop of the leader takes
//! one (a leader that wakes and never knew it had stopped is not elected anew), six stops make seven: one of them may miss.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, preferred, require, strike_ms};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Hazard, Preference, Protocol},
    history::Fact,
};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "slow-top-node",
    about: "The candidate that the protocol prefers stops again and again, just longer than others wait.",
    story: "From a time drawn from the seed on, the node that the protocol wants to lead stops six times, each time for as \
            long as the others wait for it and 700 ms, and runs for two leases in between. A protocol that prefers it takes \
            leadership away from a healthy leader every time it comes back, only to lose it again.",
    hazard: Hazard::SlowPreferred,
    needs: Needs::Peers,
    plan,
};

/// How often it stops.
const STOPS: u64 = 6;
/// A stop is so much longer than the others wait, milliseconds.
const BEYOND_WAIT_MS: u64 = 700;
/// What the stops need at most where nobody is preferred, and four more.
const ELECTIONS: u64 = 2 + 4;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol), params.takeover_max_ms(protocol));
    let stop_ms = ttl_ms + takeover_ms + BEYOND_WAIT_MS;
    // Each stop falls into another phase of the heartbeat.
    let phase_max_ms = params.timings(protocol).renew_interval_ms;
    let cycle_ms = stop_ms + 2 * ttl_ms + takeover_ms + phase_max_ms;
    let needed_ms = last_strike_ms(params, protocol) + STOPS * cycle_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let node = Who::Named(preferred(params, protocol));
    let mut stop = |number: u64| {
        let phase_ms = drawn_ms(&mut random, 0.0, phase_max_ms as f64);
        let stop = Fault::Pause { node: node.clone(), for_ms: stop_ms as f64 };
        at(first_ms + (number * cycle_ms) as f64 + phase_ms, stop)
    };
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = (0..STOPS).map(&mut stop).collect();
    plan.requires = require([(Fact::Pauses, STOPS)]);
    if protocol.preference != Preference::Any {
        plan.requires.extend(require([(Fact::Elections, ELECTIONS)]));
    }
    plan
}
