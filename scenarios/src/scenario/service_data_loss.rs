//! `service-data-loss`: the coordination service dies with its disk, and comes back empty.
//!
//! A volume that was not mounted, a pod without a persistent claim, a cluster recreated from its manifest. The service
//! grants again at once, and its tokens restart far below what the resource has seen. So the resource refuses every
//! leader until tokens have caught up: nothing is lost or done twice, and nobody is served.
//!
//! How long that takes depends on how the service counts:
//! - a counter of elections (Redis' `INCR`, a row's `token`, leaseTransitions) rises by one per leadership, so as many
//!   leaders are refused as there were before; an operator has to raise it (`cargo real raise-token`);
//! - a number of all writes (etcd's revision, Consul's index, ZooKeeper's zxid) rises with every attempt and every
//!   session, and with the service's other users; here that is little, in production it was millions;
//! - without tokens nobody can be refused: the former leader believes by its clock, the next one has the lock.
//!
//! Redis behind Sentinel loses only the primary's disk. The primary is back long before any sentinel misses it, so
//! nobody is promoted; its replicas, which still had everything, resynchronise with the empty primary and have nothing
//! either (redis.io, "Redis replication", on safety when persistence is turned off).
//!
//! Leadership changes hands eight times before, so that there are tokens to fall behind. The service is back within
//! half a second.

use super::{Needs, Scenario, at, drawn_ms, keeper, require, settled_ms, without_waiting};
use crate::{
    fault::{Fault, PlannedFault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "service-data-loss",
    about: "The coordination service loses its disk after several changes of leadership, and comes back empty.",
    story: "Eight leaders give leadership up, one after the other. Then, at a time drawn from the seed, the \
            coordination service dies with its disk, and within half a second an unused one answers in its place. It \
            grants leadership at once, with tokens below all that the resource has seen.",
    hazard: hazard::SERVICE_DATA_LOSS,
    needs: Needs::Data,
    plan,
};

/// How many times leadership changes hands before the loss.
const CHANGES: u64 = 8;
/// Downtime of the service, milliseconds.
const BACK_MS: (f64, f64) = (20.0, 500.0);

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    plan_of(SCENARIO.name, params, protocol, seed, |_, node, restart_after_ms| Fault::LoseData {
        node,
        restart_after_ms,
    })
}

/// The plan of this scenario with another fault; `loss` gets the time at which the fleet had settled on its first
/// leader, milliseconds.
pub(super) fn plan_of(
    scenario: &str,
    params: &Params,
    protocol: &Protocol,
    seed: u64,
    loss: impl FnOnce(f64, Who, Option<f64>) -> Fault,
) -> Plan {
    let params = &without_waiting(params, hazard::SERVICE_DATA_LOSS, protocol);
    let (ttl_ms, settled_ms) = (params.granted_ttl_ms(protocol), settled_ms(params, protocol));
    let apart_ms = params.takeover_max_ms(protocol) + 1_000;
    let first_ms = settled_ms + CHANGES * apart_ms;
    // Every holder has to lose its lease, and as many leaders as there were before are refused.
    let recovery_ms = (CHANGES + 2) * (ttl_ms + apart_ms);
    let needed_ms = first_ms + ttl_ms + recovery_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = drawn_ms(&mut random, first_ms as f64, (first_ms + ttl_ms) as f64);
    let down_ms = drawn_ms(&mut random, BACK_MS.0, BACK_MS.1);
    let mut plan = params.plan(scenario, protocol, seed, needed_ms);
    let resign = |change: u64| at((settled_ms + change * apart_ms) as f64, Fault::Resign { node: Who::Leader });
    plan.faults = (0..CHANGES).map(resign).collect::<Vec<PlannedFault>>();
    plan.faults.push(at(strike_ms, loss(settled_ms as f64, keeper(protocol), Some(down_ms))));
    let took_effect = if params.nodes > 1 { CHANGES } else { 1 };
    plan.requires = require([(Fact::Kills, 1), (Fact::Restarts, 1), (Fact::LeadersTookEffect, took_effect)]);
    plan
}
