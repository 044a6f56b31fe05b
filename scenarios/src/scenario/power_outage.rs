//! `power-outage`: every machine loses power at once, twice.
//!
//! Candidates, coordination service and store go dark in the same instant, disks keep what was synced and any part of
//! the rest, and each machine is back after a time of its own. A candidate that told others something it did not
//! persist may now contradict it: a vote that was not on disk is given twice, a term that was not is won twice.
//!
//! The times, with B the longest until a machine is back:
//! ```text
//!  S           S + B         + up to ttl + takeover + 1 s      + B
//!  all dark    all are back  all dark again                    all are back
//! ```
//! - The second outage falls anywhere into the first elections after the first one, so votes are being written to disk.
//! - B is a lease, at least 1 s. Nobody can lead before a majority is back, so the liveness bound is longer by B.

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
    name: "power-outage",
    about: "Every machine loses power at once, twice, and each is back after a time of its own.",
    story: "At a time drawn from the seed all candidates, the coordination service and the store lose power together, \
            with syncs under way, and come back one after the other within a lease. While they are electing again, all \
            of them lose power once more. The next leader must not use a token that was granted before.",
    hazard: hazard::POWER_OUTAGE,
    needs: Needs::Nothing,
    plan,
};

/// The earliest that a machine is back, milliseconds.
const BACK_MIN_MS: f64 = 50.0;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol), params.takeover_max_ms(protocol));
    let (back_max_ms, elects_ms) = (ttl_ms.max(1_000), ttl_ms + takeover_ms + 1_000);
    let dark_ms = 2 * back_max_ms + elects_ms;
    let needed_ms = last_strike_ms(params, protocol) + dark_ms + back_max_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let second_ms = first_ms + back_max_ms as f64 + drawn_ms(&mut random, 0.0, elects_ms as f64);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let mut machines: Vec<Who> = (1..=params.nodes).map(|number| Who::Named(candidate(number))).collect();
    let topology = plan.topology_of(protocol);
    match topology.only_member() {
        Some(_) => machines.push(Who::Service),
        // Each on a machine of its own.
        None => machines.extend(topology.members().map(|member| Who::Named(topology.name(member).to_owned()))),
    }
    machines.push(Who::Store);
    for outage_ms in [first_ms, second_ms] {
        plan.faults.extend(machines.iter().map(|node| {
            let restart_after_ms = Some(drawn_ms(&mut random, BACK_MIN_MS, back_max_ms as f64));
            at(outage_ms, Fault::PowerLoss { node: node.clone(), restart_after_ms })
        }));
    }
    let count = machines.len() as u64;
    plan.requires =
        require([(Fact::PowerOffs, 2 * count), (Fact::ElectedAfterOutage, 1), (Fact::LeadersTookEffect, 2)]);
    plan.liveness_bound_ms += back_max_ms;
    plan
}
