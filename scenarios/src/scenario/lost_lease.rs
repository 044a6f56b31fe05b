//! `lost-lease`: the coordination service drops the leader's lease or key, and nobody tells the leader.
//!
//! An operator revokes the lease of a process that looked dead, or deletes the lock's key to "unblock" a deployment, or
//! the server evicts it when memory is short. The service rightly gives leadership to the next candidate; the former
//! leader believes until it hears of that. With Redis it hears when its next renewal fails, and until then there are
//! two leaders, whatever the timings: only the token tells them apart. With etcd the leader watches its key, and hears
//! as soon as its successor does.
//!
//! It happens twice, an election and 2 s apart. With etcd the seed chooses the lease, with all its keys, or the key
//! alone, whose lease is then renewed without an error.

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
    name: "lost-lease",
    about: "The coordination service drops the leader's lease or key, and the leader is not told.",
    story: "At a time drawn from the seed, and again an election later, an operator takes the leader's lease or its key away, \
            as people do to get a deployment going again. The next candidate is elected as soon as it looks, while the former \
            leader still believes and writes, until it hears of it.",
    hazard: hazard::LOST_LEASE,
    needs: Needs::Service,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let params = &without_waiting(params, SCENARIO.hazard, protocol);
    let apart_ms = params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol) + 2_000;
    let needed_ms = last_strike_ms(params, protocol) + apart_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    for number in 0..2 {
        let lease = streams::between(&mut random, 0, 1) == 0 && protocol.service.has_leases;
        let node = Who::Leader;
        let what = if lease { Fault::DropLease { node } } else { Fault::DropKey { node } };
        plan.faults.push(at(first_ms + (number * apart_ms) as f64, what));
    }
    // On independent servers, a holder that extends in time sets its key anew and notices nothing.
    let independent = protocol.service.all().all(|service| service.members.most > 1 && !service.members.led);
    let (elections, took_effect) = if independent { (1, 1) } else { (3, 2) };
    plan.requires = require([(Fact::Faults, 2), (Fact::Elections, elections), (Fact::LeadersTookEffect, took_effect)]);
    plan
}
