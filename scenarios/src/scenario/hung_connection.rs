//! `hung-connection`: the waiting candidates' connections hang, and then the leader dies.
//!
//! A proxy or a load balancer that has lost a connection's state goes on accepting what is sent on it, and answers
//! nothing. The client's kernel sees a healthy connection. A request on it waits until the client's own timeout, or for
//! a quarter of an hour (kubernetes/kubernetes issues 65090 and 125530). A new connection works.
//!
//! Consul is exempt: its client (hashicorp/consul, `api/api.go`) has no request timeout and waits for as long as the
//! connection hangs, leader or not, so nothing can be promised of it.
//!
//! The connections hang from a time drawn from the seed until the run ends; a second later the leader's process dies.

use super::{Needs, Scenario, at, last_strike_ms, require, strike_ms};
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
    name: "hung-connection",
    about: "The connections of waiting candidates begin to hang, and the leader dies.",
    story: "At a time drawn from the seed everything that followers and the coordination service send each other is \
            swallowed on the way; new connections would work. A second later the leader dies. A candidate without a \
            timeout for its requests waits for an answer that does not come, while nobody leads.",
    hazard: hazard::CRASH,
    needs: Needs::Named(&["k8s-lease", "redis-fenced"]),
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let timeouts_ms = 3 * params.granted_ttl_ms(protocol);
    let needed_ms = last_strike_ms(params, protocol) + timeouts_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let hang_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let (from, to) = (vec![Who::Followers], vec![Who::Service]);
    plan.faults = vec![
        at(hang_ms, Fault::Hang { from, to, for_ms: None }),
        at(hang_ms + 1_000.0, Fault::Kill { node: Who::Leader, restart_after_ms: None }),
    ];
    plan.requires = require([(Fact::Kills, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
