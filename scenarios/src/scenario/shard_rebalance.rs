//! `shard-rebalance`: one leadership for each of several shards, placed on the live members, and a member that dies and
//! comes back.
//!
//! Kafka's partitions and CockroachDB's ranges are led like this: many leaderships on the same nodes, so that no node
//! leads all. Here each shard should be led by the next member on a consistent hash ring ([`protocols::sharding`]
//! explains how it gets there). When a member dies, the shards that it led are dark until their leases have expired and
//! another member was elected; the other shards do not notice. When the member is back, it gets exactly these again, by
//! a hand-over that costs a few latencies. While nodes see different members, only each shard's token keeps the shard
//! safe.
//!
//! The run counts how many shards move, against the fewest that the ring has to move and the number a modulo would; how
//! long each is dark; and how many each member leads. `--placement modulo` places by modulo instead. If one group is
//! asked for, there are twelve.

use super::{Needs, Scenario, at, drawn_ms, require, settled_ms, strike_ms, without_waiting};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
    sharding::{Placement, SETTLED_WITHIN},
    types::MILLISECOND,
};

pub const SCENARIO: Scenario = Scenario {
    name: "shard-rebalance",
    about: "One leader per shard, placed by consistent hashing; a member dies, and comes back.",
    story: "Each of twelve shards has a leadership of its own, and should be led by the next member on a consistent \
            hash ring; a member that leads another's shard hands it over. At a time drawn from the seed a member is \
            killed: its shards go to others, and only those. When all has settled it is started again, and they come \
            back to it by a hand-over.",
    hazard: hazard::ROLLING_RESTART,
    needs: Needs::Shards,
    plan,
};

/// Default number of shards.
const SHARDS: u16 = 12;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let groups = if params.groups > 1 { params.groups } else { SHARDS };
    let placement = params.placement.or(Some(Placement::Ring));
    let params = without_waiting(&Params { groups, placement, ..params.clone() }, SCENARIO.hazard, protocol);
    let settles_ms = SETTLED_WITHIN / MILLISECOND + params.liveness_bound_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    // The first to start is elected everywhere, and hands over most of its shards.
    let handed_ms = (SETTLED_WITHIN / MILLISECOND) as f64;
    let dies_ms = strike_ms(&mut random, &params, protocol) + handed_ms;
    let down_ms = drawn_ms(&mut random, settles_ms as f64 + 500.0, settles_ms as f64 + 1_500.0);
    let who = streams::between(&mut random, 1, u64::from(params.nodes));
    let last_ms = settled_ms(&params, protocol) + params.granted_ttl_ms(protocol) + handed_ms as u64;
    let needed_ms = last_ms + 2 * settles_ms + 2_000;
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let node = Who::Named(super::candidate(who as u16));
    plan.faults = vec![at(dies_ms, Fault::Kill { node, restart_after_ms: Some(down_ms) })];
    // The most that one shard has: the dead member, its successor, and the member again.
    plan.requires = require([(Fact::Kills, 1), (Fact::Restarts, 1), (Fact::LeadersTookEffect, 3)]);
    plan
}
