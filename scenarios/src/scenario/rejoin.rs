//! `rejoin`: a follower is cut off from the other candidates for many election timeouts, and comes back.
//!
//! While cut off, it hears no leader and stands again and again. If every attempt takes a new term, it comes back with
//! a higher term than the leader's: its answer to the next heartbeat, or its request for votes, deposes a healthy
//! leader, and everybody elects. Ongaro's dissertation calls it a disruptive server (§4.2.3, §9.6); with pre-votes the
//! candidate keeps its term, comes back and follows.
//!
//! The candidate to be cut off must not lead, so it starts last: after the others have had time to elect.
//! ```text
//!  settled       + one lease at most      + twelve longest timeouts
//!  it starts     it is cut off            it comes back
//! ```
//! Clients and the store reach everybody all the time.

use super::{Needs, Scenario, at, cut, drawn_ms, require, settled_ms, shuffled};
use crate::{
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "rejoin",
    about: "A follower is cut off from the other candidates for many election timeouts, and comes back.",
    story: "A candidate drawn from the seed starts when the others have a leader, and follows. Then nothing passes between it \
            and the others for twelve of the longest election timeouts, in which it stands again and again. When it comes \
            back, the leader that the others have should go on leading.",
    hazard: hazard::REJOIN,
    needs: Needs::ElectionTimeout,
    plan,
};

/// Length of the cut, in longest election timeouts.
const TIMEOUTS: u64 = 12;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let longest_ms = params.timings(protocol).election_timeout_ms.map_or(0, |(_, max_ms)| max_ms);
    let (ttl_ms, for_ms) = (params.granted_ttl_ms(protocol), TIMEOUTS * longest_ms);
    let starts_ms = settled_ms(params, protocol);
    // By then it has found the leader.
    let first_ms = starts_ms + longest_ms + 500;
    let needed_ms = first_ms + ttl_ms + for_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let names = shuffled(&mut random, params);
    let cut_ms = drawn_ms(&mut random, first_ms as f64, (first_ms + ttl_ms) as f64);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let (one, others) = names.split_at(1);
    for candidate in plan.candidates.iter_mut().filter(|candidate| candidate.name == one[0]) {
        candidate.starts_at_ms = starts_ms;
    }
    plan.faults = vec![at(cut_ms, cut(one, others, for_ms))];
    plan.requires = require([(Fact::Faults, 1), (Fact::LeadersTookEffect, 1)]);
    plan
}
