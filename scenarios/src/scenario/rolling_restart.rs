//! `rolling-restart`: each candidate in turn is stopped and started again, as in a deployment.
//!
//! The order is drawn from the seed; the leader has its turn too, and so may its successor. Each is down for 0.1 to 1
//! s, and the next follows once the fleet had time to settle: ttl, takeover and 1 s after the last restart at the
//! latest. A faster deployment would depose every new leader in turn.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, require, shuffled, strike_ms, without_waiting};
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
    name: "rolling-restart",
    about: "Each candidate in turn is stopped and started again, the leader too.",
    story: "From a time drawn from the seed on, the candidates are killed and started again one by one, in an order drawn from \
            the seed and with time to settle in between, as when a new version is deployed. Each comes back with nothing but \
            what it had on disk; the leader's turn comes, and perhaps its successor's.",
    hazard: hazard::ROLLING_RESTART,
    needs: Needs::Nothing,
    plan,
};

/// Downtime of a process, milliseconds.
const DOWN_MS: (f64, f64) = (100.0, 1_000.0);

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let settles_ms = params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol) + 1_000;
    let apart_ms = DOWN_MS.1 as u64 + settles_ms;
    let turns = u64::from(params.nodes);
    let needed_ms = last_strike_ms(params, protocol) + turns * apart_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let order = shuffled(&mut random, params);
    let params = without_waiting(params, SCENARIO.hazard, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let turn = |(place, name): (usize, String)| {
        let restart_after_ms = Some(drawn_ms(&mut random, DOWN_MS.0, DOWN_MS.1));
        let at_ms = first_ms + (place as u64 * apart_ms) as f64;
        at(at_ms, Fault::Kill { node: Who::Named(name), restart_after_ms })
    };
    plan.faults = order.into_iter().enumerate().map(turn).collect();
    plan.requires = require([(Fact::Kills, turns), (Fact::Restarts, turns), (Fact::LeadersTookEffect, 2)]);
    plan
}
