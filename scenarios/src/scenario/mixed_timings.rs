//! `mixed-timings`: one candidate is configured with a longer lease than the others, and leads.
//!
//! This happens in the middle of a configuration change, or by a mistake in one. The leader writes its lease's length
//! into the service's record; a candidate that goes by its own configuration takes the lease while the leader may still
//! believe (kubernetes/kubernetes issue 47671).
//!
//! `n1` has a lease five times as long as the others, and starts before them; at a time drawn from the seed it is cut
//! off from the service for two of *their* leases, which is less than its own.

use super::{Needs, Scenario, at, drawn_ms, require, settled_ms};
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
    name: "mixed-timings",
    about: "The leader has a longer lease than the others are configured for, and is cut off for longer than theirs.",
    story: "One candidate asks for a lease five times as long as the others do, and leads. At a time drawn from the \
            seed it cannot reach the service for two of the others' leases. Its own goes on, and the record says so: \
            only it may lead.",
    hazard: hazard::NONE,
    needs: Needs::Named(&["k8s-lease"]),
    plan,
};

/// How many times longer the leader's lease is.
const LONGER: u64 = 5;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (short_ms, short) = (params.granted_ttl_ms(protocol), params.timings(protocol));
    let params = &Params { lease_ttl_ms: Some(LONGER * short_ms), ..params.clone() };
    let first_ms = settled_ms(params, protocol);
    let needed_ms = first_ms + 3 * short_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let cut_ms = drawn_ms(&mut random, first_ms as f64, (first_ms + short_ms) as f64);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    for other in plan.candidates.iter_mut().skip(1) {
        other.timings = Some(short);
        other.starts_at_ms += 1_000;
    }
    let (from, to, for_ms) = (vec![Who::Named("n1".to_owned())], vec![Who::Service], Some((2 * short_ms) as f64));
    plan.faults = vec![at(cut_ms, Fault::Partition { from, to, one_way: false, for_ms })];
    plan.requires = require([(Fact::Faults, 1), (Fact::LeadersTookEffect, 1)]);
    plan
}
