//! `detector-comparison`: lost messages and stalls that a failure detector must tolerate, then a death that it must
//! detect.
//!
//! One run measures both mistakes of a failure detector, since either alone is easy to avoid (Chandra and Toueg 1996;
//! Chen, Toueg and Aguilera 2002 on the quality of service of failure detectors): how often it deposes a live leader
//! (`false_failovers`; `avoidable_failovers` if a stall contributed), and how long it takes to replace a dead one
//! (`election_time_ms`, `failover_ms`). `sweep detector-comparison --protocol lowest-id,swim` shows them side by side.
//!
//! The times, with S the strike:
//! ```text
//!  S           + 2 ttl, + 4 ttl, + 6 ttl              + 9 ttl                    + ttl + takeover + 2 s
//!  loss begins a drawn candidate stalls, 0.2–0.8 ttl  the leader dies            loss ends
//! ```
//! - Between candidates 5 to 30 % of the messages are lost, in both directions; with three heartbeats per ttl and 30 %
//!   loss, one window in 37 loses all three.
//! - A stall is shorter than the ttl by at least a heartbeat interval, so by itself it deposes nobody.
//! - The loss lasts until the death must have been noticed, so that both mistakes are made under the same conditions.

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
    name: "detector-comparison",
    about: "Links between candidates lose messages and nodes stall, but nobody dies; then the leader does.",
    story: "From a time drawn from the seed on, up to 30 % of what candidates say to each other is lost, and three \
            times one of them stalls for less than a lease. Nobody is dead, so every deposition now is for nothing. \
            Then the leader is killed, and what counts is how soon that is noticed.",
    hazard: hazard::FALSE_SUSPICION,
    needs: Needs::Detector,
    plan,
};

/// Stalls before the death.
const STALLS: u64 = 3;
/// Range of the loss, per cent.
const LOST_PERCENT: (u64, u64) = (5, 30);

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol), params.takeover_max_ms(protocol));
    let (quiet_ms, noticed_ms) = (9 * ttl_ms, ttl_ms + takeover_ms + 2_000);
    let for_ms = quiet_ms + noticed_ms;
    let needed_ms = last_strike_ms(params, protocol) + for_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let probability = streams::between(&mut random, LOST_PERCENT.0, LOST_PERCENT.1) as f64 / 100.0;
    let everybody = || vec![Who::Candidates];
    let lossy = Fault::Loss { from: everybody(), to: everybody(), probability, for_ms: Some(for_ms as f64) };
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults.push(at(first_ms, lossy));
    let ttl = ttl_ms as f64;
    // Short of the ttl by a heartbeat interval, whatever the interval.
    let longest_ms = (0.8 * ttl).min(ttl - params.timings(protocol).renew_interval_ms as f64);
    for stall in 1..=STALLS {
        let number = streams::between(&mut random, 1, u64::from(params.nodes)) as u16;
        let for_ms = drawn_ms(&mut random, 0.2 * ttl, longest_ms).max(1.0);
        let at_ms = first_ms + (2 * stall * ttl_ms) as f64;
        plan.faults.push(at(at_ms, Fault::Pause { node: Who::Named(candidate(number)), for_ms }));
    }
    let restart_after_ms = Some(noticed_ms as f64);
    plan.faults.push(at(first_ms + quiet_ms as f64, Fault::Kill { node: Who::Leader, restart_after_ms }));
    // A machine whose power was cut meanwhile cannot stall.
    let stalls = if protocol.cuts_power() { 1 } else { STALLS };
    plan.requires = require([(Fact::Pauses, stalls), (Fact::Kills, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
