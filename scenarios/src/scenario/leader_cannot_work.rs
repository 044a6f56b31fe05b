//! `leader-cannot-work` and `leader-without-clients`: the leader keeps its lease but cannot do its work.
//!
//! It renews, so nobody stands against it, but it cannot serve: the store does not hear it, or answers far too late, or
//! its clients do not reach it. Everybody else is healthy and could serve. This is the oldest outage of services that
//! elect a leader: tikv/pd issue 10671 (47 minutes without timestamps), AcalephStorage/consul-alerts issue 40,
//! kubernetes/kubernetes issue 70819.
//!
//! The seed draws one of three faults between leader and store: the leader is cut off, its packets take `SLOW_US`
//! longer either way, or `LOST` of them are lost. Which protocols notice, and how soon, is in their
//! [`protocols::election::Notices`]: none checks the work, so nobody acts while the fault lasts, except if everybody
//! leads anyway. The remedy is in the node: with `--step-down-after` a leader resigns once the store has owed it an
//! answer for that long.
//!
//! A leader that its clients do not reach gets no requests, and has no way to notice. The clients' operator has to
//! detect that.

use super::{Needs, Scenario, at, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Hazard, Notice, Promise, Protocol, hazard},
    fence::checks::Fencing,
    history::Fact,
};

pub(super) const HAZARD: Hazard = Hazard::new("The leader keeps its lease but cannot work.");

/// The scenario with the store.
pub const SCENARIO: Scenario = Scenario {
    name: "leader-cannot-work",
    about: "The leader renews its lease and cannot get through to the store, while everybody else could.",
    story: "From a time drawn from the seed on, the leader is cut off from the store, or hears from it seconds late, \
            or loses nearly all packets to it and from it; which of these, the seed decides. It still reaches \
            everything that it needs to stay the leader, and the others reach the store. Some leader must take effect \
            within the bound all the same.",
    hazard: HAZARD,
    needs: Needs::Nothing,
    plan,
};

/// The scenario with the clients.
pub const CLIENTS: Scenario = Scenario {
    name: "leader-without-clients",
    about: "The leader renews its lease and no client reaches it, while everybody else could serve.",
    story: "From a time drawn from the seed on, nothing passes between the leader and the clients. It still reaches \
            the store and everything that it needs to stay the leader, and clients reach the others, who know that \
            they do not lead. Some leader must take effect within the bound all the same.",
    hazard: HAZARD,
    needs: Needs::Nothing,
    plan: without_clients,
};

/// Extra latency of a slow store, microseconds: longer than the bound of most plans allows.
const SLOW_US: u64 = 5_000_000;
/// Share of lost packets.
const LOST: f64 = 0.95;

/// True if the leader's node makes it step down because the store is silent.
fn is_remedied(scenario: &Scenario, params: &Params) -> bool {
    params.tenure.step_down_after_ms > 0 && scenario.name == SCENARIO.name
}

/// True if the protocol or the node notices that the leader cannot work.
pub(super) fn is_noticed(scenario: &Scenario, protocol: &Protocol, params: &Params) -> bool {
    is_remedied(scenario, params) || protocol.notices.cannot_work != Notice::Never
}

/// The safety promise.
pub(super) fn promised(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Promise {
    match ((protocol.promise)(hazard::NONE, false), params.fencing) {
        (Promise::Breaks(names), _) => Promise::Breaks(names),
        (_, Fencing::On) if protocol.tokened => Promise::Holds,
        (calm, _) if scenario.name == CLIENTS.name => calm,
        // The leader abandons its connection and sends everything again. What it sent into the cut arrives too once the
        // cut heals, out of order, and perhaps after a successor's first write.
        _ => Promise::May,
    }
}

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    stuck(&SCENARIO, params, protocol, seed, |story, for_ms| {
        let (from, to) = (vec![Who::Leader], vec![Who::Store]);
        let for_ms = Some(for_ms);
        match story {
            0 => vec![Fault::Partition { from, to, one_way: false, for_ms }],
            1 => {
                let back = Fault::Latency { from: to.clone(), to: from.clone(), extra_us: SLOW_US, for_ms };
                vec![Fault::Latency { from, to, extra_us: SLOW_US, for_ms }, back]
            }
            _ => {
                let back = Fault::Loss { from: to.clone(), to: from.clone(), probability: LOST, for_ms };
                vec![Fault::Loss { from, to, probability: LOST, for_ms }, back]
            }
        }
    })
}

fn without_clients(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    stuck(&CLIENTS, params, protocol, seed, |_, for_ms| {
        let (from, to) = (vec![Who::Leader], vec![Who::Clients]);
        vec![Fault::Partition { from, to, one_way: false, for_ms: Some(for_ms) }]
    })
}

/// The plan in which these faults outlast two liveness bounds, so that a missing leader cannot merely be late.
fn stuck(
    scenario: &Scenario,
    params: &Params,
    protocol: &Protocol,
    seed: u64,
    faults: fn(u64, f64) -> Vec<Fault>,
) -> Plan {
    let for_ms = 2 * params.liveness_bound_ms(protocol) + 2_000;
    let needed_ms = last_strike_ms(params, protocol) + for_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let story = streams::between(&mut random, 0, 2);
    let mut plan = params.plan(scenario.name, protocol, seed, needed_ms);
    plan.faults = faults(story, for_ms as f64).into_iter().map(|fault| at(strike_ms, fault)).collect();
    // The leader notices after that time, and its successor has the usual time.
    plan.liveness_bound_ms += params.tenure.step_down_after_ms;
    plan.requires = require([(Fact::LeadersTookEffect, 1)]);
    plan
}
