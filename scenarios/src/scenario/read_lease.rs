//! `read-lease`: the leader's clock is slow, it is cut off, and it goes on answering reads from memory.
//!
//! A lease read asks nobody: the leader checks its clock and answers. That is correct while nobody else can have issued
//! a number, which depends on two clocks: the leader's, which ends its belief, and that of the candidate that waits to
//! replace it. Here the first runs slow by the drift and the second fast by it, from the moment of a renewal, so that
//! both measure the whole lease:
//! ```text
//!  R                              R + T/(1+d)       + m                    R + L/(1−d)
//!  renewed, clocks drift, cut     others stand      successor's answers    belief ends
//!                                                   └── stale reads, if there is such a stretch ──┘
//! ```
//! `read_lease.rs` in the folder above has the inequality. The leader is cut off from the other candidates, the
//! coordination service and the store alike: a refusal by the store would end its belief early and hide its length.
//! Clients reach everyone, and every second read goes round all candidates.

use super::{Needs, Scenario, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, PlannedFault, Trigger, Who},
    params::{Params, READS_PER_S},
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
    point::Point,
};

pub const SCENARIO: Scenario = Scenario {
    name: "read-lease",
    about: "A leader with a slow clock is cut off while it answers reads from memory.",
    story: "At its first renewal after a time drawn from the seed, the leader's clock begins to run slow by the clock drift \
            and everybody else's fast by it, and nothing passes any more between the leader and the other candidates, the \
            coordination service and the store. Clients still reach it, and it answers their reads from memory until its \
            lease is over by its own clock. Its successor hands out new numbers as soon as others' clocks allow.",
    hazard: hazard::CLOCK_DRIFT,
    needs: Needs::Lease,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let cut_ms = 3 * params.granted_ttl_ms(protocol) + 2_000;
    // The renewal that triggers it may be one interval away.
    let renew_ms = 2 * params.timings(protocol).renew_interval_ms;
    let needed_ms = last_strike_ms(params, protocol) + renew_ms + cut_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let from_memory = params.read_lease.unwrap_or(true);
    let reads_per_s = Some(params.reads_per_s.unwrap_or(READS_PER_S));
    let params = Params { read_lease: Some(from_memory), reads_per_s, ..params.clone() };
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    // Any candidate may lead when it strikes: until then every clock is right.
    plan.candidates.iter_mut().for_each(|candidate| candidate.rate_ppm = 0);
    let drift_ppm = i64::try_from(params.clock_drift_ppm).unwrap_or(i64::MAX);
    let for_ms = Some(cut_ms as f64);
    let others =
        if protocol.service.process.is_some() { vec![Who::Followers, Who::Service] } else { vec![Who::Followers] };
    let rate = |node, ppm| Fault::ClockRate { node, ppm, for_ms };
    let mut faults = vec![rate(Who::Trigger, -drift_ppm)];
    faults.extend(others.iter().map(|node| rate(node.clone(), drift_ppm)));
    let to = others.into_iter().chain([Who::Store]).collect();
    faults.push(Fault::Partition { from: vec![Who::Trigger], to, one_way: false, for_ms });
    plan.faults =
        faults.into_iter().map(|what| PlannedFault { when: renewed_after(strike_ms), what, group: 0 }).collect();
    let asked = [(Fact::ElectedWhileCutOff, 1), (Fact::LeadersTookEffect, 2), (Fact::ReadsOfReplacedLeader, 1)];
    plan.requires = require(asked);
    if from_memory {
        plan.requires.extend(require([(Fact::ReadsWhileCutOff, 1)]));
    }
    plan
}

/// The leader's first renewal after a time.
fn renewed_after(ms: f64) -> Trigger {
    Trigger::Passage {
        point: Point::Renewed.name().to_owned(),
        node: Who::Leader,
        nth: 1,
        after: Some(Box::new(Trigger::At { ms })),
        delay_ms: 0.0,
        matching: None,
    }
}
