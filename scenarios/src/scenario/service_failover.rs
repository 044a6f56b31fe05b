//! `service-failover`: the member that leads the coordination service dies, and the service elects another.
//!
//! Most candidates' leaders notice nothing: their leases are in the log, and the service's new leader restarts each for
//! its full time. A candidate that asks meanwhile waits, or asks another member. Then the candidates' leader dies as
//! well, at any moment of the service's own failover or after it, and its lease has to end by what the service's new
//! leader knows:
//! ```text
//!  S                   S + up to the service's failover + ttl      + ttl … 2 ttl
//!  service's leader    leader dies                                 each is back after a time of its own
//!  dies
//! ```
//! By the seed the member is killed or loses power. The liveness bound is longer by the service's own failover and the
//! time that it adds to leases.

use super::{Needs, Scenario, at, clustered, drawn_ms, failover_ms, last_strike_ms, require, strike_ms};
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

pub const SCENARIO: Scenario = Scenario {
    name: "service-failover",
    about: "The member that leads the coordination service dies, and then the candidates' leader.",
    story: "At a time drawn from the seed the member that leads the coordination service is killed or loses power, and the \
            others elect another. While they do, or soon after, the candidates' leader is killed. Its lease ends by what the \
            service's new leader knows of it, and a successor is elected.",
    hazard: Hazard::new("The coordination service's leading member dies."),
    needs: Needs::Cluster,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let params = &clustered(params, protocol);
    let ttl_ms = params.granted_ttl_ms(protocol);
    let over_ms = failover_ms(protocol) + ttl_ms;
    let needed_ms = last_strike_ms(params, protocol) + over_ms + 2 * ttl_ms + over_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let second_ms = first_ms + drawn_ms(&mut random, 0.0, over_ms as f64);
    let mut back = || Some(drawn_ms(&mut random, ttl_ms as f64, 2.0 * ttl_ms as f64));
    let (service_back, leader_back) = (back(), back());
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let node = Who::ServiceLeader;
    let dies = match streams::between(&mut random, 0, 1) {
        0 => Fault::Kill { node, restart_after_ms: service_back },
        _ => Fault::PowerLoss { node, restart_after_ms: service_back },
    };
    plan.faults =
        vec![at(first_ms, dies), at(second_ms, Fault::Kill { node: Who::Leader, restart_after_ms: leader_back })];
    plan.requires = require([(Fact::Kills, 2), (Fact::LeadersTookEffect, 2)]);
    plan.liveness_bound_ms += over_ms;
    plan
}
