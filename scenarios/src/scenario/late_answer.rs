//! `late-answer`: the leader's confirmations come late, and then it is cut off.
//!
//! A lease lasts for the granted time from when it was *requested*: the grantor counts from that time or later. A
//! leader that counts from the answer believes for longer than others wait, by the answer's delay, which nobody notices
//! until the leader is cut off right after an answer.
//!
//! Answers of the service, or of the other candidates if there is none, take three tenths of a lease longer, which is
//! less than the time to the next renewal; the cut begins at the second renewal after that.

use super::{Needs, Scenario, at, cut_ms, last_strike_ms, require, strike_ms};
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
    name: "late-answer",
    about: "Answers to the leader take long, and right after one of them it is cut off.",
    story: "At a time drawn from the seed everything that confirms the leader begins to take a good part of a lease to \
            arrive. Right after the second confirmation the leader is cut off from those that confirm it. They wait \
            for one lease from their confirmation; the leader must not believe for longer.",
    hazard: hazard::ANY,
    needs: Needs::Named(&[
        "redis-lease",
        "redis-fenced",
        "etcd-election",
        "raft-core",
        "redlock",
        "etcd-key",
        "object-lease",
        "db-row",
        "raft",
        "kraft",
        "zab-fle",
    ]),
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (ttl_ms, cut_ms) = (params.granted_ttl_ms(protocol), cut_ms(params, protocol));
    let others = if protocol.elects_among_peers() { Who::Followers } else { Who::Service };
    let slow_ms = 4 * ttl_ms;
    let needed_ms = last_strike_ms(params, protocol) + slow_ms + cut_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let extra_us = ttl_ms * 300;
    let (from, to, for_ms) = (vec![others.clone()], vec![Who::Leader], Some(slow_ms as f64));
    let (point, node) = (Point::Renewed.name().to_owned(), Who::Leader);
    let after = Some(Box::new(Trigger::At { ms: strike_ms }));
    let confirmed =
        Trigger::Passage { point, node, nth: 2, after, delay_ms: 2.0 * (extra_us as f64 / 1e3), matching: None };
    let cut =
        Fault::Partition { from: vec![Who::Trigger], to: vec![others], one_way: false, for_ms: Some(cut_ms as f64) };
    plan.faults = vec![
        at(strike_ms, Fault::Latency { from, to, extra_us, for_ms }),
        PlannedFault { when: confirmed, what: cut, group: 0 },
    ];
    plan.requires = require([(Fact::ElectedWhileCutOff, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
