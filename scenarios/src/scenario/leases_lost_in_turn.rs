//! `leases-lost-in-turn`: the leader loses its lease, as many times as there are candidates.
//!
//! Every test has one lost lease. The second and the third reveal that the fleet has become smaller: an elector that
//! runs once and returns when its lease is lost (client-go's `LeaderElector.Run`) leaves a process that is up, passes
//! its health checks, and never stands again. After each candidate has lost one lease, nobody leads
//! (kuberhealthy/kuberhealthy issue 1533). Curator's `LeaderSelector` without `autoRequeue()` is another.
//!
//! Each cut is between the leader and the coordination service alone, and lasts until the lease has expired and a
//! successor has had time to be elected. The next begins two seconds after its end.

use super::{Needs, Scenario, at, last_strike_ms, require, strike_ms};
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
    name: "leases-lost-in-turn",
    about: "The leader is cut off from the coordination service for longer than its lease, once for each candidate.",
    story: "At a time drawn from the seed the leader is cut off from the coordination service until its lease has run out and \
            another candidate was elected. Two seconds after the cut is healed the same happens to that one, and so on, as many \
            times as there are candidates. A candidate that has lost a lease has to stand again: in the end somebody leads.",
    hazard: hazard::CUT_OFF_FROM_SERVICE,
    needs: Needs::Named(&["redis-fenced", "etcd-election", "k8s-lease", "zk-selector"]),
    plan,
};

/// From the end of a cut to the beginning of the next, milliseconds.
const BETWEEN_MS: u64 = 2_000;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    // A renewal in flight when the cut began may extend the lease once more.
    let cut_ms = 2 * params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol);
    let cuts = u64::from(params.nodes);
    let all_ms = cuts.saturating_mul(cut_ms + BETWEEN_MS);
    let needed_ms = last_strike_ms(params, protocol) + all_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let first_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let cut = |number: u64| {
        let (from, to, for_ms) = (vec![Who::Leader], vec![Who::Service], Some(cut_ms as f64));
        let begins_ms = first_ms + (number * (cut_ms + BETWEEN_MS)) as f64;
        at(begins_ms, Fault::Partition { from, to, one_way: false, for_ms })
    };
    plan.faults = (0..cuts).map(cut).collect();
    plan.requires = require([(Fact::Faults, cuts), (Fact::Elections, cuts), (Fact::LeadersTookEffect, 2)]);
    plan
}
