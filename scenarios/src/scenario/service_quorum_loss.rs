//! `service-quorum-loss`: the coordination service loses the majority of its members, and later has one again.
//!
//! By the seed a majority of them dies, or nothing passes between any two of them while every candidate reaches all;
//! for the service's own failover and one to two leases, longer than any leader may believe without a renewal. Nothing
//! is granted or renewed meanwhile: the leader stops by its own clock, and the fleet is dark. A member that went on
//! answering without a majority would show here. Afterwards every grant stands for at least another whole lease,
//! although its holder has stopped: the liveness bound is longer by a lease. The judge counts it from the end of the
//! service's own failover, which begins when the members are a majority again.

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
    name: "service-quorum-loss",
    about: "For longer than a lease, the coordination service has no majority of its members.",
    story: "At a time drawn from the seed a majority of the coordination service's members dies, or its members hear \
            nothing of each other, for one lease to two and the service's own patience. Nobody is granted anything \
            meanwhile, and the current leader has to stop. Then the members are a majority again, and somebody leads.",
    hazard: Hazard::new("The coordination service loses its majority."),
    needs: Needs::Cluster,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let params = &clustered(params, protocol);
    let ttl_ms = params.granted_ttl_ms(protocol);
    let longest_ms = failover_ms(protocol) + 2 * ttl_ms;
    let over_ms = failover_ms(protocol) + ttl_ms;
    let needed_ms =
        last_strike_ms(params, protocol) + longest_ms + over_ms + params.aftermath_ms(protocol) + longest_ms;
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let for_ms = drawn_ms(&mut random, (failover_ms(protocol) + ttl_ms) as f64, longest_ms as f64);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let topology = plan.topology_of(protocol);
    let members: Vec<Who> = topology.asked().map(|member| Who::Named(topology.name(member).to_owned())).collect();
    let dies = streams::between(&mut random, 0, 1) == 0;
    plan.faults = match dies || members.len() == 1 {
        true => {
            let kill = |node: &Who| Fault::Kill { node: node.clone(), restart_after_ms: Some(for_ms) };
            members.iter().take(members.len() / 2 + 1).map(|node| at(first_ms, kill(node))).collect()
        }
        false => {
            let cut = |(place, from): (usize, &Who)| {
                let to = members[place + 1..].to_vec();
                let cut = Fault::Partition { from: vec![from.clone()], to, one_way: false, for_ms: Some(for_ms) };
                at(first_ms, cut)
            };
            members[..members.len() - 1].iter().enumerate().map(cut).collect()
        }
    };
    plan.requires = require([(Fact::Faults, plan.faults.len() as u64), (Fact::LeadersTookEffect, 1)]);
    plan.liveness_bound_ms += ttl_ms;
    plan
}
