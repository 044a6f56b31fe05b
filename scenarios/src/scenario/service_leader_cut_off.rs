//! `service-leader-cut-off`: the member that leads the coordination service is cut off from everybody, for a while.
//!
//! The others elect another member; when the cut heals the old one follows it. Candidates connected to it lose their
//! connections, all at once, and connect to the others, or wait for it: by the seed the cut lasts from half of the
//! service's own failover to all of it and a lease. The question is what each does once it is connected again, since
//! several do so at the same time.
//!
//! The liveness bound is longer by the cut: a candidate that waits on a silent connection may do so until the cut
//! heals.

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
    name: "service-leader-cut-off",
    about: "The member that leads the coordination service is cut off from everybody, is replaced, and comes back.",
    story: "At a time drawn from the seed nothing passes any more between the member that leads the coordination \
            service and anybody else, for between half of the time that the service takes to elect another, and all of \
            that and a lease. Clients that were connected to it move to the others, all at the same time, and have to \
            find their place again. Then it comes back, and follows.",
    hazard: Hazard::new("The coordination service's leading member is cut off from the others."),
    needs: Needs::Cluster,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let params = &clustered(params, protocol);
    let ttl_ms = params.granted_ttl_ms(protocol);
    let over_ms = failover_ms(protocol) + ttl_ms;
    let bound_ms = params.liveness_bound_ms(protocol) + 2 * over_ms;
    let rest_ms = params.aftermath_ms(protocol).max(bound_ms + 1_000);
    let needed_ms = last_strike_ms(params, protocol) + over_ms + rest_ms;
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let for_ms = drawn_ms(&mut random, failover_ms(protocol) as f64 / 2.0, over_ms as f64);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let cut = Fault::Partition {
        from: vec![Who::ServiceLeader],
        to: vec![Who::Service, Who::Candidates],
        one_way: false,
        for_ms: Some(for_ms),
    };
    plan.faults = vec![at(first_ms, cut)];
    plan.requires = require([(Fact::Faults, 1), (Fact::LeadersTookEffect, 1)]);
    plan.liveness_bound_ms = bound_ms;
    plan
}
