//! `stale-cache`: the leader is stopped after it has recorded a version and before it invalidates the caches; its
//! successor sends that invalidation and newer ones; then the sleeper wakes and sends its own.
//!
//! Two things can go wrong. If the successor does not check what the caches have (`--bug cache-not-caught-up`), nobody
//! tells them of the sleeper's version: a lost invalidation. And the sleeper's message, when it wakes, sets caches back
//! to a version that is seconds old: a late one. Only the token lets a cache recognise it.
//!
//! The times are those of [`super::gc_pause`]; the pause is longer, so that the successor has recorded newer versions.

use super::{
    Needs, Scenario, gc_pause,
    mid_work::{self, Stop},
    require, works_with,
};
use crate::{
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Promise, Protocol, hazard},
    history::Fact,
    point::Point,
    types::MILLISECOND,
    work::cache_invalidator::{PERIOD, WORK},
};

pub const SCENARIO: Scenario = Scenario {
    name: "stale-cache",
    about: "The leader is stopped between checking its lease and refreshing the caches; its successor brings newer \
            versions.",
    story: "The leader records one version after the other, and tells the caches of each. It finds its lease valid for telling \
            them, and right there everything on its node stops. The lease runs out; a successor tells the caches of what they \
            have missed, and of newer versions. Then the sleeper resumes, and tells them of the old one.",
    hazard: hazard::PAUSE_BEYOND_LEASE,
    needs: Needs::Nothing,
    plan,
};

/// The violations if nothing checks a token.
pub const UNFENCED: Promise = Promise::Breaks(&[
    "leaders_acting_by_effect",
    "seq_strictly_increasing",
    "no_stale_write",
    "no_stale_cache_entry",
    "read_version",
]);

/// At least this many versions are recorded by the successor before the sleeper wakes.
const VERSIONS: u64 = 4;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let cycle_ms = cycle_ms(params);
    let own_ms = || gc_pause::default_pause_ms(params, protocol) + VERSIONS * cycle_ms;
    let pause_ms = params.pause_ms.unwrap_or_else(own_ms);
    let needed_ms =
        mid_work::woken_ms(params, protocol, pause_ms, cycle_ms).saturating_add(params.aftermath_ms(protocol));
    let mut random = streams::stream(seed, PLAN);
    let stop = Stop::drawn(&mut random, params, protocol, pause_ms, cycle_ms);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.works = works_with(params, &WORK);
    plan.faults = stop.faults(&stop.at(Point::RefreshChecked), params, protocol);
    plan.requires = if protocol.cuts_power() {
        // The sleeper does not wake: its power is cut before there is a successor.
        require([(Fact::Elections, 2), (Fact::LeadersTookEffect, 2), (Fact::Kills, 1)])
    } else {
        let tried = Fact::StaleRefreshAttempts;
        require([(Fact::Elections, 2), (Fact::LeadersBelieving, 2), (tried, 1), (Fact::ElectedWhilePaused, 1)])
    };
    plan
}

/// The longest time from one version to the next, milliseconds: two round trips to the store.
fn cycle_ms(params: &Params) -> u64 {
    PERIOD / MILLISECOND + (4 * params.network().one_way_max_us()).div_ceil(1_000)
}
