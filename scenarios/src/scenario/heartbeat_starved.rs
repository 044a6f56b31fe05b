//! `heartbeat-starved`: the leader's link is full of data, and its heartbeats wait behind it.
//!
//! Reference text "Split brain": "heartbeat path saturated", and its advice to separate the heartbeat from the data
//! plane. The leader is healthy, nothing is cut and nothing is lost; its machine just cannot send as fast as it has to.
//! What it sends in one second takes ten to leave, and a heartbeat waits for everything sent before it: the second one
//! is nine seconds late, and others stand for election as if the leader were dead. Nobody else's link is narrow, so the
//! successor leads well; the former leader's heartbeats, renewals and writes keep arriving, later and later.
//!
//! **What breaks.** Everything but a token that is checked. Writes wait like heartbeats: those that the leader sent
//! while its lease was valid leave its machine long after a successor took over. No lease, no quorum and no belief
//! counted from sending helps, nor does `stonith`, which assumes that no packet travels for longer than 200 ms. **What
//! holds.** With a separate link for election traffic (`--control-link separate`) no heartbeat waits for data, and the
//! leader stays: it serves a tenth of its load. It also stays if no link is narrow: `steady`.

use super::{Needs, Scenario, at, cut_ms, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::{MESSAGE_BYTES, Plan},
    streams::{self, PLAN},
};
use protocols::{
    election::{
        Promise, Protocol, hazard,
        promise::{UNCHECKED, UNFENCED},
    },
    fence::checks::Fencing,
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "heartbeat-starved",
    about: "The leader's link is full of data, and its heartbeats wait behind them.",
    story: "At a time drawn from the seed the leader's uplink becomes so narrow that what it sends in a second takes \
            ten. Heartbeats and renewals wait behind the data and arrive too late, and a healthy leader is replaced, \
            unless they have a link of their own.",
    hazard: hazard::SATURATED_LINK,
    needs: Needs::Heartbeats,
    plan,
};

/// How many times more the leader has to send than its link carries.
const OVERLOAD: u64 = 10;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    // A request to cut the leader's power may itself wait behind the data, until the device has restarted the
    // requester's machine.
    let again_ms = if protocol.cuts_power() { params.takeover_max_ms(protocol) } else { 0 };
    let late_ms = if params.control_apart { 0 } else { params.granted_ttl_ms(protocol) };
    let needed_ms =
        last_strike_ms(params, protocol) + cut_ms(params, protocol) + again_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    // A write and an answer for each request.
    let sent_kbps = 2 * params.rate * MESSAGE_BYTES * 8 / 1_000;
    let narrow = Fault::Bandwidth { node: Who::Leader, kbps: (sent_kbps / OVERLOAD).max(1), for_ms: None };
    plan.faults = vec![at(strike_ms, narrow)];
    // A late renewal still counts if it arrives before the lease ends.
    plan.liveness_bound_ms += late_ms;
    plan.requires = match params.control_apart {
        true => require([(Fact::Faults, 1), (Fact::LeadersTookEffect, 1)]),
        false => require([(Fact::Elections, 2)]),
    };
    plan
}

/// What is promised when a leader's link is full. With a separate link for election traffic, leadership is not
/// affected. Otherwise the leader is replaced, and its writes wait in its machine for longer than any lease: they
/// arrive while its successor leads, and only a token that is checked tells them apart.
pub(super) fn promised(protocol: &Protocol, params: &Params) -> Promise {
    match (params.fencing, protocol.tokened) {
        _ if params.control_apart => (protocol.promise)(hazard::NONE, params.fencing == Fencing::On),
        (Fencing::On, true) => (protocol.promise)(hazard::SATURATED_LINK, true),
        (Fencing::Token | Fencing::Order | Fencing::Memory, true) => Promise::May,
        (Fencing::Off, true) => UNCHECKED,
        (_, false) => UNFENCED,
    }
}
