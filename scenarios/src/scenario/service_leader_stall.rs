//! `service-leader-stall`: the member that leads the coordination service stops, another is elected, and it wakes.
//!
//! By the seed its process is stopped or no sync of its disk ends, until every lease that it knew of has ended by its
//! own clock. Meanwhile the other members have elected another, which has restarted every lease. When the old one
//! wakes, and until it has heard of the new one, it believes that it leads and that everybody's lease has ended. The
//! question is how it acts on that: leases that are kept alive have to survive.
//!
//! Unless another lease is asked for, leases are longer here, 30 s: a keepalive on its way to the stopped member blocks
//! its stream for 7 s (etcd: `ReqTimeout`; our clients' pings take as long), and so may the next one. A session of 3 s
//! does not survive that, and one of 12 s does not always.
//!
//! A stalled disk only shows when something is to be written, and keepalives write nothing: so the followers restart
//! then, and ask for leases.
//!
//! The liveness bound is longer by the service's own failover and the restarted lease.

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
    name: "service-leader-stall",
    about: "The member that leads the coordination service stops or waits for its disk, is replaced, and wakes up.",
    story: "At a time drawn from the seed the process of the member that leads the coordination service stops, or no \
            sync of its disk ends (the followers have started again, and want leases), for longer than a lease of 30 \
            s. The others elect another, and leases are kept alive with that one. Then it wakes up, and believes that \
            it leads and that all leases are over. They are not.",
    hazard: Hazard::new("The coordination service's leading member stalls for longer than a lease, and wakes up."),
    needs: Needs::Cluster,
    plan,
};

/// The default lease here, milliseconds.
const LEASE_MS: u64 = 30_000;

/// How soon after the disk stalls the followers are killed, and how soon after that they start again, milliseconds.
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
