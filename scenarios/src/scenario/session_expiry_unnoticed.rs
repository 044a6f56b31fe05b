//! `session-expiry-unnoticed`: the leader is cut off from the coordination service, which then drops its session early.
//!
//! Half of `partition` and half of `lost-lease`: the leader can neither renew nor be told, and relies on a lease that
//! the service no longer keeps. Sessions end early when a server has lost track of them, when an operator revokes them
//! to unblock a deployment, or when memory is short. The successor is elected while the leader's own arithmetic says,
//! rightly, that its lease is valid: no rule of belief can help, and only a token that is checked tells the two apart.
//!
//! The cut lasts a lease and a half, so that the belief ends by the leader's clock before the leader is told.

use super::{Needs, Scenario, at, last_strike_ms, require, strike_ms, without_waiting};
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
    name: "session-expiry-unnoticed",
    about: "The leader is cut off from the coordination service, which ends its session early.",
    story: "At a time drawn from the seed nothing passes between the leader and the coordination service any more, for \
            a lease and a half, and in the same moment the service drops the leader's lease or key. A successor is \
            elected as soon as it looks. The former leader cannot be told, and relies on a lease that is valid by its \
            own clock.",
    hazard: hazard::LOST_LEASE,
    needs: Needs::Service,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let params = &without_waiting(params, SCENARIO.hazard, protocol);
    let cut_ms = params.granted_ttl_ms(protocol) * 3 / 2;
    let needed_ms = last_strike_ms(params, protocol) + cut_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let (from, to) = (vec![Who::Leader], vec![Who::Service]);
    let cut = Fault::Partition { from, to, one_way: false, for_ms: Some(cut_ms as f64) };
    let node = Who::Leader;
    let dropped = if protocol.service.has_leases { Fault::DropLease { node } } else { Fault::DropKey { node } };
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(strike_ms, cut), at(strike_ms, dropped)];
    // On independent servers, a holder sets its key anew as soon as it is reachable again.
    let independent = protocol.service.all().all(|service| service.members.most > 1 && !service.members.led);
    let elections = if independent { 1 } else { 2 };
    plan.requires = require([(Fact::Faults, 2), (Fact::Elections, elections), (Fact::LeadersTookEffect, elections)]);
    plan
}
