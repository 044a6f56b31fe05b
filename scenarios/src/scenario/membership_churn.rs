//! `membership-churn`: candidates join and leave under load, and the leader itself leaves.
//!
//! Four changes in an order drawn from the seed: two newcomers join, one of the first members leaves, and the current
//! leader leaves. Each change moves the majority, and overlapping changes could let two majorities disagree (Ongaro
//! 2015, "bug in single-server membership changes", raft-dev); so a leader has to carry them out one by one. The first
//! member that leaves is drawn too and may be a leader that left before: then its change does nothing, and three
//! changes are required.
//!
//! The changes are an election (ttl and takeover) and 2 s apart, so that the next finds a leader. If there is none, it
//! waits for one.

use super::{Needs, Scenario, at, candidate, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::{Candidate, Plan},
    streams::{self, CLOCKS, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "membership-churn",
    about: "Candidates join and leave under load, and the leader itself leaves.",
    story: "Beside the first members there are two newcomers. In an order drawn from the seed both join, a member leaves, and \
            the leader is made to leave the cluster that it leads; the time between is enough for an election. Whatever the \
            members are, writes go on.",
    hazard: hazard::CHURN,
    needs: Needs::Membership,
    plan,
};

const NEWCOMERS: u16 = 2;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let apart_ms = params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol) + 2_000;
    let needed_ms = last_strike_ms(params, protocol) + 3 * apart_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let leaves = candidate(streams::between(&mut random, 1, u64::from(params.nodes)) as u16);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let mut changes = vec![Fault::Leave { node: Who::Named(leaves) }, Fault::Leave { node: Who::Leader }];
    let mut clocks = streams::stream(seed, &format!("{CLOCKS}/newcomers"));
    for number in params.nodes + 1..=params.nodes + NEWCOMERS {
        let name = candidate(number);
        changes.push(Fault::Join { node: Who::Named(name.clone()) });
        plan.candidates.push(Candidate {
            name,
            wall_offset_ms: streams::within(&mut clocks, params.clock_skew_ms),
            rate_ppm: streams::within(&mut clocks, params.clock_drift_ppm),
            starts_at_ms: 0,
            joins_later: true,
            timings: None,
        });
    }
    for last in (1..changes.len()).rev() {
        changes.swap(last, streams::between(&mut random, 0, last as u64) as usize);
    }
    let changes = changes.into_iter().enumerate();
    plan.faults = changes.map(|(place, change)| at(first_ms + (place as u64 * apart_ms) as f64, change)).collect();
    let asked = params.rate.saturating_mul(plan.duration_ms) / 1_000;
    plan.requires = require([
        (Fact::MembershipChanges, 3),
        (Fact::LeadersTookEffect, 2),
        (Fact::WritesAccepted, (asked / 10).max(1)),
    ]);
    plan
}
