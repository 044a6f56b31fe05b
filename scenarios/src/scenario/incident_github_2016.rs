//! `incident-github-2016`: the primary is cut off for 43 s, a majority elsewhere promotes another, and nobody can fence
//! the first.
//!
//! *What the article says* (*07 — Leader Election*, "Failure Modes"): "2016, GitHub MySQL Split-Brain … Orchestrator
//! promoted a replica … the old primary had ~30 seconds of writes that the new primary didn't have. Because Redis
//! Sentinel was configured without fencing tokens, the old primary briefly served reads".
//!
//! *The record differs.* No such incident of 2016 is on record, and Redis Sentinel had no part. GitHub's incidents were
//! in 2012 and on 2018-10-21, both with MySQL. In 2018 a data centre on the US East Coast was cut off for 43 s;
//! Orchestrator, with a majority of its own Raft elsewhere, promoted primaries on the West Coast, while those in the
//! East were healthy and had accepted some seconds of writes that were never replicated. Each side then had writes that
//! the other lacked, so nobody could fail back, and service was degraded for 24 hours and 11 minutes
//! (github.blog/2018-10-30-oct21-post-incident-analysis). The scenario keeps the text's name, under which readers look
//! for it, and plays what happened in 2018.
//!
//! *What the run shows*, on Redis with replicas and sentinels, which like Orchestrator promote by majority and cannot
//! fence: a cut separates the primary, the leader and half of the clients from everybody else for 43 s. The primary
//! acknowledges writes to its leader that no replica has; meanwhile the sentinels promote a replica, and a second
//! leader takes the lock there. When the cut heals, the old primary becomes a replica, and the writes it acknowledged
//! are gone. With the store's fence one of the two leaders takes effect; without it both do.

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
    name: "incident-github-2016",
    about: "The primary and its leader are cut off for 43 s, and a majority elsewhere promotes another that cannot fence it.",
    story: "The article \"07 — Leader Election\" dates it to 2016 and blames Redis Sentinel; it happened in 2018, with \
            MySQL under Orchestrator. For 43 s the primary's side of a partition keeps acknowledging, while a majority \
            on the other side promotes a replica without those writes. Both sides lead, and only the resource can tell \
            which of them is out of date.",
    hazard: hazard::PROMOTED_ELSEWHERE,
    needs: Needs::Named(&["redis-sentinel"]),
    plan,
};

/// When the cut begins, milliseconds: replicas have caught up by then.
const BEGINS_MS: (f64, f64) = (10_000.0, 14_000.0);
/// Length of the cut, milliseconds (github.blog, 2018-10-30).
const LASTS_MS: u64 = 43_000;
/// The service's processes on the other side.
const ELSEWHERE: [&str; 5] = ["redis-2", "redis-3", "sentinel-1", "sentinel-2", "sentinel-3"];

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let needed_ms = BEGINS_MS.1 as u64 + 2 * LASTS_MS + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let cut_ms = drawn_ms(&mut random, BEGINS_MS.0, BEGINS_MS.1);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let elsewhere = || ELSEWHERE.iter().map(|name| Who::Named((*name).to_owned())).chain([Who::Followers]);
    let cut = |from| {
        let to = elsewhere().collect();
        at(cut_ms, Fault::Partition { from: vec![from], to, one_way: false, for_ms: Some(LASTS_MS as f64) })
    };
    plan.faults = vec![cut(Who::Named("redis-1".to_owned())), cut(Who::Leader)];
    if params.clients > 1 {
        // This client gets its answers in the East.
        plan.faults.push(cut(Who::Named("c1".to_owned())));
    }
    // Nobody else can act until the primary is replaced.
    plan.liveness_bound_ms += LASTS_MS;
    plan.requires = require([(Fact::Faults, 2), (Fact::LeadersTookEffect, 2), (Fact::Elections, 2)]);
    plan
}
