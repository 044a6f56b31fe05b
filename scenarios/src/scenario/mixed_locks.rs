//! `mixed-locks`: a migration from one lock to another is half done, and each half of the candidates takes its own.
//!
//! New versions of a program take the lock under a new name, in another table, or of another kind, and during the
//! upgrade both versions run. Each lock has one holder, so there are two leaders, and neither lock's service can tell.
//! It happened to CockroachDB, whose leases are of two kinds: taking the new kind did not revoke a lease of the old one
//! (cockroachdb/cockroach issue 101836, pull request 101942: bump the holder's epoch whatever kind of lease is
//! acquired).
//!
//! Here the locks are two keys on one Redis server: odd candidates stand for the old key, even ones for the new one
//! (`--bug mixed-locks`, which the plan switches on). With two services, the resource would see the same.
//!
//! *Is one fenced resource enough?* If both locks draw their tokens from one counter, yes: the leader that took its
//! lock last is admitted, and the other is refused at its next write, gives up, takes its lock again with a higher
//! token, and so on: nothing is written twice, and leadership bounces for as long as the migration lasts. Tokens of two
//! counters cannot be compared, and would be granted twice. No fence is needed if a holder of the new lock takes the
//! old one as well: `redis-lease-migrating` and `redis-fenced-migrating` ([`protocols::election::both_locks`]) do, and
//! one leads at a time.
//!
//! There is no other fault, except that with those two protocols the leader dies once, so that leadership passes
//! between versions.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, require, settled_ms, strike_ms, without_waiting};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, both_locks, hazard, redis_common::MIXED_LOCKS},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "mixed-locks",
    about: "Half of the candidates take the lock by its old name, and half by its new one.",
    story: "A migration to another lock is half done when the run begins: candidates of odd numbers stand for the old \
            one, those of even numbers for the new one. Each lock has one holder, as it should, so there are two \
            leaders; whether both take effect is up to the resource. Where the new version takes both locks, one leads \
            at a time, whoever dies.",
    hazard: hazard::MIXED_LOCKS,
    needs: Needs::Named(&["redis-lease", "redis-fenced", "redis-lease-migrating", "redis-fenced-migrating"]),
    plan,
};

/// How long the migration stays half done, milliseconds.
const LASTS_MS: u64 = 10_000;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let params = &without_waiting(params, SCENARIO.hazard, protocol);
    if both_locks::find(protocol.name).is_some() {
        return done_right(params, protocol, seed);
    }
    let needed_ms = settled_ms(params, protocol) + LASTS_MS;
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    if !plan.bugs.iter().any(|id| id == MIXED_LOCKS.id) {
        plan.bugs.push(MIXED_LOCKS.id.to_owned());
    }
    plan.requires = require([(Fact::Elections, 2), (Fact::LeadersBelieving, 2)]);
    plan
}

/// Half of the candidates take both locks, and the leader dies: a candidate of either version leads afterwards.
fn done_right(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let needed_ms = last_strike_ms(params, protocol) + LASTS_MS + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let back_ms = drawn_ms(&mut random, 500.0, LASTS_MS as f64);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(strike_ms, Fault::Kill { node: Who::Leader, restart_after_ms: Some(back_ms) })];
    plan.requires = require([(Fact::Kills, 1), (Fact::Elections, 2), (Fact::LeadersTookEffect, 2)]);
    plan
}
