//! `stale-address`: clients go by an address that says who leads, and it says so too late.
//!
//! Everywhere else clients ask every candidate in turn, which is the best that they can do. Most people's clients go by a virtual
//! IP, a DNS record or a label instead ([`protocols::address`]). Which of them is drawn from the seed, unless `--address` says it.
//!
//! The leader is cut off from the coordination service, and from whoever answers for the address where that is somebody else's
//! machine: it cannot take its label off, and need not take a record back. Clients and the store still reach it. Its successor
//! claims the address, and every client that has not heard of it goes on asking the former leader, which takes effect if it still
//! believes and nobody checks its token, and otherwise serves nobody. That is over at the latest when the client's ttl is, and
//! nothing but that: however fast the election is, no client is served before.
//!
//! With the usual ttl ([`ADDRESS_TTL_MS`]) all of it fits into the bound on liveness. A longer one does not, and then some client
//! is not served although somebody leads, depending on when it asked last. A label that cannot be removed costs every other
//! question until the link is back.

use super::{Needs, Scenario, at, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, Who},
    params::{ADDRESS_TTL_MS, Params},
    plan::{DIRECTORY, Plan},
    streams::{self, PLAN},
};
use protocols::{
    address::Kind,
    election::{Hazard, Promise, Protocol},
    history::Fact,
};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "stale-address",
    about: "Clients find the leader by an address (virtual IP, DNS or label) that still leads to the former one.",
    story: "Clients do not ask every candidate; they go by a virtual IP, a DNS record or a label, which one is drawn from the seed. \
            At a time drawn from the seed the leader is cut off from the coordination service, and from the record or the labels, \
            for three leases and two seconds. Clients and the store still reach it. A successor is elected and claims the address. \
            Clients that were told of the former leader keep to it until their ttl is over.",
    hazard: Hazard::CutOffFromService,
    needs: Needs::Service,
    plan,
};

/// What is promised. A former leader that believes goes on for as long as it is cut off, but for how long clients stay with it, and
/// so what becomes of their numbers, depends on when they asked last.
pub(super) fn promised(promised: Promise, params: &Params) -> Promise {
    match promised {
        Promise::Breaks(names) if names.contains(&"leaders_acting_by_effect") => {
            Promise::Breaks(&["leaders_acting_by_effect"])
        }
        Promise::Breaks(_) => Promise::May,
        _ if params.address_ttl_ms.is_some_and(|ttl_ms| ttl_ms > ADDRESS_TTL_MS) => Promise::May,
        promised => promised,
    }
}

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let cut_ms = 3 * params.granted_ttl_ms(protocol) + 2_000;
    let needed_ms = last_strike_ms(params, protocol) + cut_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let drawn = Kind::ALL[streams::between(&mut random, 0, Kind::ALL.len() as u64 - 1) as usize];
    let kind = params.address.unwrap_or(drawn);
    let mut to = vec![Who::Service];
    if kind.is_remote() {
        to.push(Who::Named(DIRECTORY.to_owned()));
    }
    let cut = Fault::Partition { from: vec![Who::Leader], to, one_way: false, for_ms: Some(cut_ms as f64) };
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.address = Some(params.address_of(kind));
    plan.faults = vec![at(strike_ms, cut)];
    plan.requires = require([(Fact::ElectedWhileCutOff, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
