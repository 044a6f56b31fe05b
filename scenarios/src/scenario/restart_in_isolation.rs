//! `restart-in-isolation`: followers restart while the leader is cut off from them.
//!
//! The leader leads by the others' grants, and they have to remember those: a follower that forgets its vote on restart
//! votes again in the same term, and one that forgets when it last heard the leader can elect another before the
//! leader's lease ends. The leader cannot tell them: it is cut off. Clients and the store reach everybody.
//!
//! The times, with S the strike:
//! ```text
//!  S             S + up to ttl + takeover     + 20 to 500 ms        + three leases and 2 s
//!  leader cut    followers die                they are back         the cut is healed
//! ```
//! By the seed all followers restart, or one drawn candidate, which may be the leader.

use super::{Needs, Scenario, at, candidate, cut_ms, drawn_ms, last_strike_ms, require, strike_ms, without_waiting};
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
    name: "restart-in-isolation",
    about: "Followers restart while the leader is cut off from them.",
    story: "At a time drawn from the seed the leader and the other candidates stop hearing from each other. Before or \
            while the others elect a successor, all of them, or one candidate drawn from the seed, are killed and are \
            back within half a second. A node that forgets what it has granted grants it to another.",
    hazard: hazard::RESTART_IN_ISOLATION,
    needs: Needs::Peers,
    plan,
};

/// Downtime of a restart, milliseconds.
const DOWN_MS: (f64, f64) = (20.0, 500.0);

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let within_ms = params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol);
    let cut_ms = within_ms + DOWN_MS.1 as u64 + cut_ms(params, protocol);
    // If a candidate dies in the middle of an election, the others wait for it and elect again.
    let again_ms = params.takeover_max_ms(protocol) + DOWN_MS.1 as u64;
    let needed_ms = last_strike_ms(params, protocol) + cut_ms + params.aftermath_ms(protocol) + again_ms;
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let dies_ms = strike_ms + drawn_ms(&mut random, 1.0, within_ms as f64);
    let restart_after_ms = Some(drawn_ms(&mut random, DOWN_MS.0, DOWN_MS.1));
    let all = streams::between(&mut random, 0, 1) == 0;
    let one = candidate(streams::between(&mut random, 1, u64::from(params.nodes)) as u16);
    let params = without_waiting(params, SCENARIO.hazard, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.liveness_bound_ms += again_ms;
    let (from, to) = (vec![Who::Leader], vec![Who::Followers]);
    let cut = Fault::Partition { from, to, one_way: false, for_ms: Some(cut_ms as f64) };
    plan.faults = vec![at(strike_ms, cut)];
    if all {
        // The followers of the current leader; while nobody leads, the fault waits for the successor.
        plan.faults.push(at(dies_ms, Fault::Kill { node: Who::Followers, restart_after_ms }));
    } else {
        plan.faults.push(at(dies_ms, Fault::Kill { node: Who::Named(one), restart_after_ms }));
    }
    plan.requires = require([(Fact::Restarts, 1), (Fact::LeadersTookEffect, 1)]);
    // One of two is no majority.
    if plan.candidates.len() > 2 || !protocol.majority {
        plan.requires.extend(require([(Fact::ElectedWhileCutOff, 1), (Fact::Elections, 2)]));
        if all {
            plan.requires.extend(require([(Fact::RestartsWhileCutOff, 1)]));
        }
    }
    plan
}
