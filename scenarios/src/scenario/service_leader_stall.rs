//! `service-leader-stall`: the member that leads the coordination service stops, another is elected, and it wakes up.
//!
//! By the seed its process is stopped or no sync of its disk ends, for so long that every lease that it knew of is over by
//! its own clock. The members that go on have elected another meanwhile, which has given every lease its whole time again.
//! When the old one wakes up, and until it has heard of the new one, it believes to lead, and that everybody's lease is
//! over. What it then does about that is the question: leases that are kept alive have to survive it.
//!
//! Leases are longer here unless one is asked for, 30 s: a keepalive that was on its way to the member that stopped keeps
//! its stream for 7 s (etcd: `ReqTimeout`; our clients' pings take as long), and so may the next one. A session of 3 s does
//! not survive that, and one of 12 s does not always.
//!
//! A disk stalls when something is to be written, and who keeps a lease alive writes nothing: so the followers start again
//! then, and ask for leases.
//!
//! The bound on liveness is longer by the service's own failover and the lease that it gives anew.

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

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "service-leader-stall",
    about: "The member that leads the coordination service stops or waits for its disk, is replaced, and wakes up.",
    story: "At a time drawn from the seed the process of the member that leads the coordination service stops, or no sync of \
            its disk ends (the followers have started again, and want leases), for longer than a lease of 30 s. The others elect another, and leases are kept alive with that one. \
            Then it wakes up, believes to lead, and to know that all leases are over. They are not.",
    hazard: Hazard::ServiceStall,
    needs: Needs::Cluster,
    plan,
};

/// The lease that is asked for here, milliseconds.
const LEASE_MS: u64 = 30_000;

/// The followers start again so soon after a disk has stalled, and after they were killed, milliseconds.
const WRITES_AFTER_MS: f64 = 100.0;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let lease_ttl_ms = params.lease_ttl_ms.or(Some(LEASE_MS));
    let params = &Params { lease_ttl_ms, ..clustered(params, protocol) };
    let ttl_ms = params.granted_ttl_ms(protocol);
    let over_ms = failover_ms(protocol) + ttl_ms;
    let needed_ms = last_strike_ms(params, protocol) + 2 * over_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let for_ms = drawn_ms(&mut random, ttl_ms as f64 + 500.0, over_ms as f64);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let node = Who::ServiceLeader;
    plan.faults = match streams::between(&mut random, 0, 1) {
        0 => vec![at(first_ms, Fault::Pause { node, for_ms })],
        _ => {
            let restart = Fault::Kill { node: Who::Followers, restart_after_ms: Some(WRITES_AFTER_MS) };
            vec![at(first_ms, Fault::SyncHang { node, for_ms: Some(for_ms) }), at(first_ms + WRITES_AFTER_MS, restart)]
        }
    };
    plan.requires = require([(Fact::Faults, 1), (Fact::LeadersTookEffect, 1)]);
    plan.liveness_bound_ms += over_ms;
    plan
}
