//! `unreplicated-grant`: the primary is cut off with its leader, goes on acknowledging, and is replaced.
//!
//! Redis acknowledges before any replica has the write. So a primary that loses its replicas and the sentinels goes on
//! granting and renewing for every client that still reaches it, while another is promoted without the writes that it
//! never received, such as the lock and the token counter. `min-replicas-to-write` makes the window shorter. Only the
//! resource can tell the two leaders apart.
//!
//! The primary is `redis-1`; it and the leader are cut off from the other servers and all sentinels, from a time drawn
//! from the seed, for longer than the silence of two leases, the vote and the promotion take.

use super::{Needs, Scenario, at, drawn_ms, require};
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
    name: "unreplicated-grant",
    about: "The primary and its leader are cut off from replicas and sentinels, which promote another.",
    story: "From a time drawn from the seed on, the primary and the leader see each other and nobody else of the service. The \
            primary goes on acknowledging, and the leader goes on leading, while sentinels promote a replica that has less than \
            was acknowledged, and a follower takes the lock there.",
    hazard: hazard::ANY,
    needs: Needs::Named(&["redis-sentinel"]),
    plan,
};

/// When the cut begins, milliseconds. Sentinels learn of replicas from the primary's answer to `INFO`, which they ask
/// for every 10 s; at first it may list none.
const BEGINS_MS: (f64, f64) = (12_000.0, 16_000.0);
/// Length of the cut in leases, ...
const LASTS_LEASES: u64 = 7;
/// ... and its least length, milliseconds.
const LASTS_AT_LEAST_MS: u64 = 20_000;
/// The service's other processes.
const OTHERS: [&str; 5] = ["redis-2", "redis-3", "sentinel-1", "sentinel-2", "sentinel-3"];

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let lasts_ms = LASTS_AT_LEAST_MS.max(LASTS_LEASES * params.granted_ttl_ms(protocol));
    let needed_ms = BEGINS_MS.1 as u64 + lasts_ms + params.aftermath_ms(protocol) + lasts_ms;
    let mut random = streams::stream(seed, PLAN);
    let cut_ms = drawn_ms(&mut random, BEGINS_MS.0, BEGINS_MS.1);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let others = || OTHERS.iter().map(|name| Who::Named((*name).to_owned())).collect::<Vec<_>>();
    let cut = |from, to| at(cut_ms, Fault::Partition { from, to, one_way: false, for_ms: Some(lasts_ms as f64) });
    let far: Vec<Who> = others().into_iter().chain([Who::Followers]).collect();
    plan.faults = vec![cut(vec![Who::Named("redis-1".to_owned())], far), cut(vec![Who::Leader], others())];
    // Nobody else can act until the primary is replaced.
    plan.liveness_bound_ms += lasts_ms;
    plan.requires = require([(Fact::Faults, 2), (Fact::LeadersTookEffect, 2), (Fact::Elections, 2)]);
    plan
}
