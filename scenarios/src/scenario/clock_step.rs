//! `clock-step`: wall clocks are set forward and back, on the leader, its followers and the coordination service.
//!
//! A wrong time server, a restored virtual machine, an operator: wall clocks jump. A lease counted on a monotonic clock
//! is not affected; one counted on a wall clock ends early on a clock that was set forward and lasts for ever on one
//! that was set back. Redis counts that way (redis/redis 7.0, `src/db.c: keyIsExpired`): set its server's clock
//! forward, and every lease ends at once.
//!
//! Each clock is set forward and back again by a drawn size (0.1 s, 1 s, 10 s or an hour, times 0.5 to 1), in a drawn
//! order, half a lease to a lease apart. With Redis leases, reads go to the store: no such lease is better than a clock
//! that can be set.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, require, strike_ms, with_wrong_clocks};
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
    name: "clock-step",
    about: "Wall clocks are set forward and back: the leader's, its followers' and the coordination service's.",
    story: "From a time drawn from the seed on, the wall clocks of the leader, of its followers and of the \
            coordination service are set forward and set back, by anything from 50 ms to an hour. A node that counts \
            its lease on a monotonic clock goes on as if nothing had happened.",
    hazard: hazard::CLOCK_STEPS,
    needs: Needs::Nothing,
    plan,
};

/// A clock is set by at most one of these and at least half of it, milliseconds.
const SIZES_MS: [u64; 4] = [100, 1_000, 10_000, 3_600_000];

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let ttl_ms = params.granted_ttl_ms(protocol);
    let has_service = protocol.service.process.is_some();
    let mut whose = vec![Who::Leader, Who::Followers];
    whose.extend(has_service.then_some(Who::Service));
    let needed_ms = last_strike_ms(params, protocol) + 2 * whose.len() as u64 * ttl_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let mut at_ms = strike_ms(&mut random, params, protocol);
    let mut steps = Vec::new();
    for node in whose {
        let size_ms = SIZES_MS[streams::between(&mut random, 0, SIZES_MS.len() as u64 - 1) as usize];
        let by_ms = streams::between(&mut random, size_ms / 2, size_ms) as i64;
        steps.extend([by_ms, -by_ms].map(|by_ms| Fault::ClockStep { node: node.clone(), by_ms }));
    }
    for last in (1..steps.len()).rev() {
        steps.swap(last, streams::between(&mut random, 0, last as u64) as usize);
    }
    let mut plan = with_wrong_clocks(params, protocol).plan(SCENARIO.name, protocol, seed, needed_ms);
    // A single candidate has no followers whose clocks could be set.
    let alone = if params.nodes == 1 { 2 } else { 0 };
    let set = steps.len() as u64 - alone;
    for step in steps {
        plan.faults.push(at(at_ms, step));
        at_ms += drawn_ms(&mut random, ttl_ms as f64 / 2.0, ttl_ms as f64);
    }
    plan.requires = require([(Fact::ClockSteps, set), (Fact::LeadersTookEffect, 1)]);
    plan
}
