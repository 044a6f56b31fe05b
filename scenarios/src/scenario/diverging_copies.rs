//! `diverging-copies` and `majority-copies`: a cut separates the leader and one client from everybody else, and every
//! node has a copy of the data instead of one store, like database servers with replicas that can be promoted.
//!
//! If the leader's copy acknowledges at once, both sides continue from the same number. When the cut heals, one side's
//! writes stay and the other's acknowledged writes are lost: PostgreSQL's manual states that with asynchronous
//! replicas, transactions not yet sent are lost with the primary, and `pg_rewind` discards what a server has beyond its
//! successor. A quorum, a lease or a fencing device ends the *belief* of the leader that is cut off; what its copy
//! acknowledged until then is lost all the same. A token does not help: the leader's own copy has not seen a newer one.
//!
//! If the copy acknowledges only what a majority of the copies have, no acknowledged write is lost: the leader that is
//! cut off acknowledges nothing.
//!
//! The cut is that of [`super::isolate_leader`], which explains its length.

use super::second_takeover::CANDIDATES;
use super::{Needs, Scenario, at, cut_ms, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    copies::Copies,
    election::{Promise, Protocol, hazard},
    history::Fact,
};

/// Both sides acknowledge.
pub const DIVERGING: Scenario = Scenario {
    name: "diverging-copies",
    about: "Every node has a copy of the data, which acknowledges at once; the leader is cut off with one of the clients.",
    story: "There is no store: the leader writes to the copy on its own node, which acknowledges at once and is replicated to the \
            others. At a time drawn from the seed the leader and a client are cut off from everybody else, for three leases and \
            two seconds. The others elect a successor, whose copy goes on from the same number. When the cut is healed one \
            leader stays, the other's copy is rewound, and what it had acknowledged is lost.",
    hazard: hazard::CUT_OFF_FROM_PEERS,
    needs: Needs::Peers,
    plan: diverging,
};

/// Only a majority acknowledges.
pub const MAJORITY: Scenario = Scenario {
    name: "majority-copies",
    about: "Like diverging-copies, but a copy acknowledges only what a majority of the copies have.",
    story: "There is no store: the leader writes to the copy on its own node, which acknowledges what a majority of \
            the copies have. At a time drawn from the seed the leader and a client are cut off from everybody else, \
            for three leases and two seconds. The leader's copy has no majority any more, and acknowledges nothing; \
            its successor's begins with the newest that a majority has. When the cut is healed the former leader's \
            copy is rewound, and no acknowledged write is lost.",
    hazard: hazard::CUT_OFF_FROM_PEERS,
    needs: Needs::Votes,
    plan: majority,
};

/// When a leader's copy acknowledges in a scenario with these parameters.
pub(super) fn copies(scenario: &Scenario, params: &Params) -> Option<Copies> {
    params.copies.or(match scenario.name {
        name if name == DIVERGING.name => Some(Copies::Async),
        name if name == MAJORITY.name || name == CANDIDATES.name => Some(Copies::Majority),
        _ => None,
    })
}

/// What copies that acknowledge at once promise in a scenario, given the promise for a single store.
pub(super) fn promised(scenario: &Scenario, promised: Promise) -> Promise {
    match scenario.hazard {
        hazard::NONE => promised,
        _ if scenario.name == DIVERGING.name => Promise::Breaks(&["copies_agree"]),
        _ => Promise::May,
    }
}

fn diverging(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    plan(&DIVERGING, params, protocol, seed)
}

fn majority(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    plan(&MAJORITY, params, protocol, seed)
}

fn plan(scenario: &Scenario, params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let cut_ms = cut_ms(params, protocol);
    let needed_ms = last_strike_ms(params, protocol) + cut_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let client = |number: u16| Who::Named(format!("c{number}"));
    let cut = Fault::Partition {
        from: vec![Who::Leader, client(1)],
        to: [Who::Followers].into_iter().chain((2..=params.clients).map(client)).collect(),
        one_way: false,
        for_ms: Some(cut_ms as f64),
    };
    let mut plan = params.plan(scenario.name, protocol, seed, needed_ms);
    plan.copies = copies(scenario, params);
    plan.faults = vec![at(strike_ms, cut)];
    plan.requires = require([(Fact::ElectedWhileCutOff, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
