//! `second-takeover` and `service-second-takeover`: a leader is cut off and replaced, and once the cut heals its
//! successor is cut off as well.
//!
//! The second takeover reveals what the first one spoiled: whose log is the newest, which entries a former leader must
//! truncate, who counts as having an entry, and whether entries of an earlier term may be committed by counting (Ongaro
//! and Ousterhout, "In Search of an Understandable Consensus Algorithm", 2014, §5.4.2 and figure 8). By the seed the
//! second cut begins while the first leader is still catching up, or just before or after that.
//!
//! In the candidates' scenario every node has a copy of the data, which acknowledges what a majority of the copies
//! have: elections decide about copies, and the judge compares everything they acknowledged. Either side of the cut has
//! a client.

use super::{Needs, Scenario, at, clustered, cut_ms, drawn_ms, failover_ms, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    copies::Copies,
    election::{Hazard, Protocol, hazard},
    history::Fact,
};

/// The latest start of the second cut after the first has healed, milliseconds: by then connections that were silent
/// for some seconds have delivered their backlog.
const BETWEEN_MS: f64 = 1_500.0;

/// The scenario with the candidates' leaders.
pub const CANDIDATES: Scenario = Scenario {
    name: "second-takeover",
    about: "The leader is cut off and replaced, and its successor is cut off as soon as the leader is back.",
    story: "There is no store: every node has a copy of the data, which acknowledges what a majority of the copies have. At a \
            time drawn from the seed the leader and a client are cut off from everybody else until a successor is at work. The \
            cut is healed, and up to a second and a half later the successor is cut off with another client, while the \
            former leader's copy may not be up to date yet. A third leadership begins with the newest that a majority has.",
    hazard: hazard::CUT_OFF_FROM_PEERS,
    needs: Needs::Votes,
    plan: of_candidates,
};

/// The scenario with the members of the coordination service.
pub const MEMBERS: Scenario = Scenario {
    name: "service-second-takeover",
    about: "The member that leads the coordination service is cut off and replaced, and so is its successor at once.",
    story: "At a time drawn from the seed nothing passes any more between the member that leads the coordination service and \
            anybody else, until the others have elected another. The cut is healed, and up to a second and a half later the \
            same happens to the other one, while the first may not have caught up yet. Whatever a member has applied at one \
            place of the log, every other must apply there.",
    hazard: Hazard::new("The coordination service's leading member is cut off from the others."),
    needs: Needs::Cluster,
    plan: of_members,
};

fn of_candidates(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let cut_ms = cut_ms(params, protocol);
    let needed_ms = last_strike_ms(params, protocol) + 2 * cut_ms + BETWEEN_MS as u64 + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let second_ms = first_ms + cut_ms as f64 + drawn_ms(&mut random, 0.0, BETWEEN_MS);
    let client = |number: u16| Who::Named(format!("c{number}"));
    let cut = |with: u16| Fault::Partition {
        from: vec![Who::Leader, client(with)],
        to: [Who::Followers].into_iter().chain((1..=params.clients).filter(|n| *n != with).map(client)).collect(),
        one_way: false,
        for_ms: Some(cut_ms as f64),
    };
    let mut plan = params.plan(CANDIDATES.name, protocol, seed, needed_ms);
    plan.copies = params.copies.or(Some(Copies::Majority));
    plan.faults = vec![at(first_ms, cut(1)), at(second_ms, cut(2.min(params.clients)))];
    plan.requires = require([(Fact::ElectedWhileCutOff, 2), (Fact::LeadersTookEffect, 2)]);
    plan
}

fn of_members(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let params = &clustered(params, protocol);
    let cut_ms = failover_ms(protocol) + 1_000;
    let over_ms = 2 * cut_ms + BETWEEN_MS as u64 + params.granted_ttl_ms(protocol);
    let bound_ms = params.liveness_bound_ms(protocol) + 2 * over_ms;
    let rest_ms = params.aftermath_ms(protocol).max(bound_ms + 1_000);
    let needed_ms = last_strike_ms(params, protocol) + over_ms + rest_ms;
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let second_ms = first_ms + cut_ms as f64 + drawn_ms(&mut random, 0.0, BETWEEN_MS);
    let cut = || Fault::Partition {
        from: vec![Who::ServiceLeader],
        to: vec![Who::Service, Who::Candidates],
        one_way: false,
        for_ms: Some(cut_ms as f64),
    };
    let mut plan = params.plan(MEMBERS.name, protocol, seed, needed_ms);
    plan.faults = vec![at(first_ms, cut()), at(second_ms, cut())];
    plan.requires = require([(Fact::Faults, 2), (Fact::LeadersTookEffect, 1)]);
    plan.liveness_bound_ms = bound_ms;
    plan
}
