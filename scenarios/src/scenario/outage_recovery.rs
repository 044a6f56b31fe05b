//! `outage-recovery`: the coordination service is down for longer than any lease, and everybody comes back to it at
//! once.
//!
//! The second half of many an outage: the service is up again, and every holder has lost its lease at the same time.
//! Their requests failed while it was down, so their clients have backed off, or have not, and all ask at once (AWS,
//! October 2025: the managers of droplets lost their leases and could not get through to renew them,
//! <https://aws.amazon.com/message/101925/>). The run measures how long it stays dark after the service is back, and
//! the peak of requests per second.
//!
//! By the seed the service is killed or loses power, for two to four leases, so that every lease and every belief has
//! ended, whoever counts them. If the service can keep several leaderships there are four groups, whose leaderships
//! lapse together.

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
    name: "outage-recovery",
    about: "The coordination service is down for longer than any lease, and all candidates come back to it at once.",
    story: "At a time drawn from the seed the coordination service is killed or its machine loses power, for two leases to \
            four. Every lease has run out and every leader has stepped down when it is back, and all candidates ask it at \
            once. Where it can keep several leaderships, four are lost and taken together.",
    hazard: hazard::SERVICE_RESTART,
    needs: Needs::Service,
    plan,
};

/// How many leaderships lapse together, if a service can keep several.
const GROUPS: u16 = 4;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let groups = if protocol.service.has_groups { params.groups.max(GROUPS) } else { params.groups };
    let params = &Params { groups, ..params.clone() };
    let ttl_ms = params.granted_ttl_ms(protocol);
    let longest_ms = 4 * ttl_ms;
    let needed_ms = last_strike_ms(params, protocol) + 2 * longest_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let (node, down_ms) = (Who::Service, drawn_ms(&mut random, 2.0 * ttl_ms as f64, longest_ms as f64));
    let restart_after_ms = Some(down_ms);
    let what = match streams::between(&mut random, 0, 1) {
        0 => Fault::Kill { node, restart_after_ms },
        _ => Fault::PowerLoss { node, restart_after_ms },
    };
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(strike_ms, what)];
    // Clients back off for as long as the service was down, and a service may restart its leases when it restarts.
    plan.liveness_bound_ms += longest_ms;
    plan.requires = require([(Fact::Kills, 1), (Fact::Restarts, 1), (Fact::LeadersTookEffect, 1)]);
    plan
}
