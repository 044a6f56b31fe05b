//! `lost-answer`: the leader gives leadership back, and never hears that the service accepted.
//!
//! The leader's requests reach the service, but from the moment it lets go, the service's answers are lost for two and
//! a half seconds. So it does not know whether it has let go, and tries again: by then a successor may hold the
//! leadership (etcd-io/etcd issue 22082). A request to release has to name the holder.

use super::{Needs, Scenario, at, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, PlannedFault, Trigger, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
    point::Point,
};

pub const SCENARIO: Scenario = Scenario {
    name: "lost-answer",
    about: "The leader resigns, and the service's answers to it are lost for a while.",
    story: "At a time drawn from the seed the leader is asked to resign. Its request arrives, and nothing that the service \
            answers comes back for two and a half seconds. It tries again, as it must, while its successor already leads.",
    hazard: hazard::RESIGNATION,
    needs: Needs::Named(&["redis-lease", "redis-fenced", "etcd-election", "etcd-key", "kafka-zk-controller"]),
    plan,
};

/// How long answers are lost, milliseconds.
const DEAF_MS: f64 = 2_500.0;

/// How long the leader may take to give its lease back, milliseconds.
const RELEASED_WITHIN_MS: u64 = 4_000;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let needed_ms =
        last_strike_ms(params, protocol) + DEAF_MS as u64 + RELEASED_WITHIN_MS + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let resign_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let (point, node) = (Point::BeforeRelease.name().to_owned(), Who::Candidates);
    let released = Trigger::Passage { point, node, nth: 1, after: None, delay_ms: 0.0, matching: None };
    let (from, to) = (vec![Who::Service], vec![Who::Trigger]);
    let deaf = Fault::Partition { from, to, one_way: true, for_ms: Some(DEAF_MS) };
    plan.faults =
        vec![at(resign_ms, Fault::Resign { node: Who::Leader }), PlannedFault { when: released, what: deaf, group: 0 }];
    plan.requires = require([(Fact::Resignations, 1), (Fact::Faults, 2), (Fact::LeadersTookEffect, 2)]);
    plan
}
