//! `slow-top-node`: the candidate that the protocol prefers pauses again and again.
//!
//! Each pause is just longer than the others wait for it, and each time it runs long enough afterwards to lead again:
//! the oscillation of an election without hysteresis (braft issue 261 is similar). A protocol without a preference pays
//! for the first pause at most, since its next leader stays.
//!
//! The times, with W the longest that the others wait for a silent leader, ttl and takeover:
//! ```text
//!  0         W + 700 ms    + 2 ttl + takeover     again, six times in all
//!  stops     runs          leads once more        stops
//! ```
//! Without a preference, the pauses cause at most two elections: the first of all, and one when the leader pauses for
//! the first time. A protocol with a preference has to show four more. Each pause of the leader causes one (a leader
//! that wakes unaware of its pause is not elected anew), so six pauses make seven elections: one may miss.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, preferred, require, strike_ms};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Preference, Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "slow-top-node",
    about: "The candidate that the protocol prefers stops again and again, just longer than others wait.",
    story: "From a time drawn from the seed on, the node that the protocol wants to lead stops six times, each time for as \
            long as the others wait for it and 700 ms, and runs for two leases in between. A protocol that prefers it takes \
            leadership away from a healthy leader every time it comes back, only to lose it again.",
    hazard: hazard::SLOW_PREFERRED,
    needs: Needs::Peers,
    plan,
};

/// How many times it pauses.
const STOPS: u64 = 6;
/// How much longer a pause is than the others' wait, milliseconds.
const BEYOND_WAIT_MS: u64 = 700;
/// The most that the pauses need without a preference, and four more.
const ELECTIONS: u64 = 2 + 4;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol), params.takeover_max_ms(protocol));
    let stop_ms = ttl_ms + takeover_ms + BEYOND_WAIT_MS;
    // Each pause begins in another phase of the heartbeat.
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
