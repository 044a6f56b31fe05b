//! `service-leader-isolated`: the member that leads the coordination service is cut off from the other members, and
//! every candidate still reaches it.
//!
//! It steps down when no majority has answered it for a while, and the others elect another. But it goes on answering:
//! a candidate connected to it has to notice that it knows nothing new, and go to another member. By the seed the
//! candidates' leader lives on, and should not lose its leadership over that; or it dies during the cut and does not
//! come back before the cut heals, so that another candidate has to take over:
//! ```text
//!  S                     S + up to the service's failover + ttl      S + cut          + up to ttl
//!  cut between service's  candidates' leader dies                    healed           the leader is back
//!  leader and its peers
//! ```
//! A candidate that trusts the isolated member waits for a dead leader until the cut heals. So the cut is longer than
//! the liveness bound, which is longer than usual by the service's own failover, the restarted lease, and the patience
//! of a candidate that asked the isolated member.
//!
//! With etcd it is longer by the whole cut. A waiting candidate has a watch, and another member renews its lease: etcd
//! ends a watch at a member without a leader only for clients that ask for that (`clientv3.WithRequireLeader`;
//! `etcdserver/api/v3rpc/interceptor.go: monitorLeader`), which the recipes do not (`client/v3/concurrency/key.go:
//! waitDelete`).

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
    name: "service-leader-isolated",
    about: "The member that leads the coordination service is cut off from its peers, but not from candidates; their leader may die.",
    story: "At a time drawn from the seed nothing passes any more between the member that leads the coordination \
            service and the other members, which elect another; every candidate reaches all of them. In every second \
            run the candidates' leader is killed meanwhile. A candidate that keeps asking the isolated member learns \
            nothing of that until the cut is healed, long after a successor should lead.",
    hazard: Hazard::new("The coordination service's leading member is cut off from the others."),
    needs: Needs::Cluster,
    plan,
};

/// How long a candidate that asks a member without a leader waits for an answer, and then for the next member,
/// milliseconds: Consul's longest blocking request (15 s and a sixteenth), its `rpc_hold_timeout` (7 s), and a pause (2
/// s).
const PATIENCE_MS: u64 = 25_000;

/// The service whose watches do not reveal a member's isolation.
const BLIND: &str = "etcd";

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let params = &clustered(params, protocol);
    let ttl_ms = params.granted_ttl_ms(protocol);
    let over_ms = failover_ms(protocol) + ttl_ms;
    let bound_ms = params.liveness_bound_ms(protocol) + over_ms + PATIENCE_MS;
    let cut_ms = over_ms + bound_ms + 5_000;
    let blind_ms = if protocol.service.name == BLIND { cut_ms } else { 0 };
    let rest_ms = params.aftermath_ms(protocol).max(bound_ms + blind_ms + 1_000);
    let needed_ms = last_strike_ms(params, protocol) + cut_ms + ttl_ms + rest_ms;
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let dies_ms = first_ms + drawn_ms(&mut random, 0.0, over_ms as f64);
    let back_ms = first_ms + cut_ms as f64 + drawn_ms(&mut random, 0.0, ttl_ms as f64);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let cut = Fault::Partition {
        from: vec![Who::ServiceLeader],
        to: vec![Who::Service],
        one_way: false,
        for_ms: Some(cut_ms as f64),
    };
    let dies = Fault::Kill { node: Who::Leader, restart_after_ms: Some((back_ms - dies_ms).round()) };
    plan.faults = vec![at(first_ms, cut)];
    plan.requires = require([(Fact::Faults, 1), (Fact::LeadersTookEffect, 1)]);
    if streams::between(&mut random, 0, 1) == 0 {
        plan.faults.push(at(dies_ms, dies));
        plan.requires = require([(Fact::Faults, 1), (Fact::Kills, 1), (Fact::LeadersTookEffect, 2)]);
    }
    plan.liveness_bound_ms = bound_ms + blind_ms;
    plan
}
