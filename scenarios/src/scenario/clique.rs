//! `clique`: one link is down for good: A reaches B, and B reaches C, but A does not reach C.
//!
//! Networks are not transitive, and protocols that were tested with clean cuts fail on broken links: the two ends
//! disagree about who is alive, and everybody else hears both (Jensen et al., "Examining Raft's behaviour during
//! partial network failures", HAOC 2021: leaders that alternate for ever; Alfatafta et al., "Toward a Generic Fault
//! Tolerance Technique for Partial Network Partitioning", OSDI 2020; Cloudflare 2020-11-02: etcd without a leader for
//! six hours). Some candidate can always reach a majority, so one has to lead.
//!
//! The link is between two candidates, or between a candidate and the coordination service; both ends are drawn from
//! the seed, so the leader may or may not be one of them. The link stays down; the run lasts as long as a cut and its
//! aftermath.

use super::{Needs, Scenario, at, cut_ms, last_strike_ms, require, shuffled, strike_ms};
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
    name: "clique",
    about: "One link is down for ever, between two candidates or a candidate and the service; all others work.",
    story: "At a time drawn from the seed the link between two candidates, or a candidate and the coordination \
            service, goes down and stays down. All others reach both of its ends. By the seed the leader is one of \
            them, or not. To one end the other seems dead, and nobody else can see why.",
    hazard: hazard::MISSING_LINK,
    needs: Needs::ThirdParty,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let after_ms = cut_ms(params, protocol) + params.aftermath_ms(protocol);
    let needed_ms = last_strike_ms(params, protocol) + after_ms;
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let leads = streams::between(&mut random, 0, 1) == 0;
    let to_service = streams::between(&mut random, 0, 1) == 0;
    let names = shuffled(&mut random, params);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    // Candidates of a service do not talk to each other.
    let to_service = protocol.service.process.is_some() && (to_service || !protocol.elects_among_peers());
    let named = |place: usize| names.get(place).cloned().map_or(Who::Leader, Who::Named);
    let (one, other) = match to_service {
        true if leads => (Who::Leader, Who::Service),
        true => (named(0), Who::Service),
        // With three candidates, two pairs of three include the leader.
        false => (named(0), named(1)),
    };
    let cut = Fault::Partition { from: vec![one], to: vec![other], one_way: false, for_ms: None };
    plan.faults = vec![at(strike_ms, cut)];
    plan.requires = require([(Fact::Faults, 1), (Fact::LeadersTookEffect, 1)]);
    plan
}
