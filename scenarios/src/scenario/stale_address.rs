//! `stale-address`: clients find the leader by an address, which is updated too late.
//!
//! In every other scenario clients ask every candidate in turn, the best that they can do. Most people's clients use a
//! virtual IP, a DNS record or a label instead ([`protocols::address`]). The seed draws one of these, unless
//! `--address` sets it.
//!
//! The leader is cut off from the coordination service, and from the machine that serves the address if that is another
//! one: it cannot remove its label, and need not remove a record. Clients and the store still reach it. Its successor
//! claims the address, and every client that has not heard of that goes on asking the former leader, which takes effect
//! if it still believes and nobody checks its token, and otherwise serves nobody. That ends with the client's ttl at
//! the latest, and not before: however fast the election is, no such client is served earlier.
//!
//! With the usual ttl ([`ADDRESS_TTL_MS`]) all of it fits into the liveness bound. With a longer one some client is not
//! served although somebody leads, depending on when it asked last. A label that cannot be removed costs every other
//! request until the link is back.

use super::{Needs, Scenario, at, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, Who},
    params::{ADDRESS_TTL_MS, Params},
    plan::{DIRECTORY, Plan},
    streams::{self, PLAN},
};
use protocols::{
    address::Kind,
    election::{Promise, Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "stale-address",
    about: "Clients find the leader by an address (virtual IP, DNS or label) that still leads to the former one.",
    story: "Clients do not ask every candidate; they go by a virtual IP, a DNS record or a label, which one is drawn from the seed. \
            At a time drawn from the seed the leader is cut off from the coordination service, and from the record or the labels, \
            for three leases and two seconds. Clients and the store still reach it. A successor is elected and claims the address. \
            Clients that were told of the former leader keep to it until their ttl is over.",
    hazard: hazard::CUT_OFF_FROM_SERVICE,
    needs: Needs::Service,
    plan,
};

/// The promise. A former leader that believes goes on for as long as it is cut off, but how long clients stay with it,
/// and so what becomes of their numbers, depends on when they asked last.
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
