//! `adversary-delayed-renewals`: an adversary delays only the leader's renewals, by more than its lease.
//!
//! Reference text "Split brain": "delay lease renewal". The adversary sits between the leader and the peers that it
//! renews its lease with (the coordination service, or the other candidates) and passes everything else at once: the
//! leader hears everybody, reaches the store and serves its clients. Its renewals arrive a lease and a half after they
//! were sent, when another node leads.
//!
//! **What holds.** Safety, with and without a token: a belief counted from the *sending* of the last confirmed request
//! ends before the lease does, and a late renewal is for the lease that is gone, not for the successor's. etcd's client
//! and KRaft, which count from answers, promise nothing without a token; no answer comes in time, so they stop as well.
//! **What breaks.** Availability: the leader is replaced, once, although it could have gone on.

use super::{Needs, Scenario, at, cut_ms, last_strike_ms, require, strike_ms};
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
    name: "adversary-delayed-renewals",
    about: "The messages that keep the leader in office are delayed for longer than its lease; everything else passes.",
    story: "At a time drawn from the seed an adversary delays everything that the leader sends to the coordination \
            service, or to the other candidates, by one and a half leases. The lease runs out, a successor is elected, \
            and then its predecessor's renewals arrive.",
    hazard: hazard::DELAYED_RENEWALS,
    needs: Needs::Lease,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let for_ms = cut_ms(params, protocol);
    let extra_ms = params.granted_ttl_ms(protocol) * 3 / 2;
    let needed_ms = last_strike_ms(params, protocol) + for_ms + extra_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let to = if protocol.elects_among_peers() { Who::Followers } else { Who::Service };
    let (from, to, extra_us) = (vec![Who::Leader], vec![to], extra_ms * 1_000);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(strike_ms, Fault::Latency { from, to, extra_us, for_ms: Some(for_ms as f64) })];
    plan.requires = require([(Fact::Elections, 2), (Fact::LeadersTookEffect, 2)]);
    plan
}
