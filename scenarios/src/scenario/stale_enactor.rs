//! `stale-enactor`: the leader is stopped between checking its lease and a clean-up, or making a plan live; its
//! successor makes newer plans and cleans up; then the sleeper wakes and goes on.
//!
//! A fence on writes alone does not protect data from deletions, and a fence on clean-ups alone lets an old plan
//! replace a newer one. Both have happened:
//! - In the night of 19 to 20 October 2025 a DNS Enactor of DynamoDB was delayed after it had checked that its plan was
//!   newer than the one in use. Another applied a much newer plan and began to clean up. The first overwrote that plan
//!   with its own; the clean-up deleted it as far too old; the endpoint had no addresses left (AWS, "Summary of the
//!   Amazon DynamoDB Service Disruption in the Northern Virginia (US-EAST-1) Region").
//! - A range deletion by the former owner of one of Temporal's shards deletes what its successor has written, although
//!   the former owner's writes are refused (temporalio/temporal pull request 12016).
//!
//! The times are those of [`super::gc_pause`]. The pause is longer, so that the successor has cleaned up after more
//! plans than are kept: then the sleeper's pending operation is about a plan that is gone. In half of the seeds the
//! pause comes in a clean-up, in the others while a plan is made live.

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
    fence::plans::KEPT,
    history::Fact,
    point::Point,
    types::MILLISECOND,
    work::enactor,
};

pub const SCENARIO: Scenario = Scenario {
    name: "stale-enactor",
    about: "The leader is stopped between checking its lease and cleaning up, or using a plan; its successor makes \
            newer ones.",
    story: "The leader makes numbered plans, makes each of them live, and deletes those that are not in use any more. It finds \
            its lease valid for a clean-up, or for making a plan live, and right there everything on its node stops. The lease \
            runs out; a successor makes plans of its own and cleans up. Then the sleeper resumes: its clean-up would delete \
            what the successor made, the live plan included, and its plan is one that the successor has deleted.",
    hazard: hazard::PAUSE_BEYOND_LEASE,
    needs: Needs::Nothing,
    plan,
};

/// The violations if nothing checks a token.
pub const UNFENCED: Promise = Promise::Breaks(&[
    "leaders_acting_by_effect",
    "seq_strictly_increasing",
    "no_stale_write",
    "no_stale_deletion",
    "read_version",
]);

/// At least this many plans are made by the successor before the sleeper wakes.
const PLANS: u64 = 2 * (KEPT + 1);

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let cycle_ms = cycle_ms(params);
    let own_ms = || gc_pause::default_pause_ms(params, protocol) + PLANS * cycle_ms;
    let pause_ms = params.pause_ms.unwrap_or_else(own_ms);
    let woken_ms = mid_work::woken_ms(params, protocol, pause_ms, cycle_ms);
    let needed_ms = woken_ms.saturating_add(params.aftermath_ms(protocol));
    let mut random = streams::stream(seed, PLAN);
    let stop = Stop::drawn(&mut random, params, protocol, pause_ms, cycle_ms);
    let cleans_up = streams::between(&mut random, 0, 1) == 1;
    let point = if cleans_up { Point::DeleteChecked } else { Point::EnactChecked };
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.works = works_with(params, &enactor::WORK);
    plan.faults = stop.faults(&stop.at(point), params, protocol);
    let tried = if cleans_up { Fact::StaleDeletionAttempts } else { Fact::StaleEnactmentAttempts };
    plan.requires = if protocol.cuts_power() {
        // The sleeper does not wake: its power is cut before there is a successor.
        require([(Fact::Elections, 2), (Fact::LeadersTookEffect, 2), (Fact::Kills, 1)])
    } else {
        require([(Fact::Elections, 2), (Fact::LeadersBelieving, 2), (tried, 1), (Fact::ElectedWhilePaused, 1)])
    };
    plan
}

/// The longest time to make a plan, make it live and clean up, milliseconds: three round trips to the store.
fn cycle_ms(params: &Params) -> u64 {
    enactor::PERIOD / MILLISECOND + (6 * params.network().one_way_max_us()).div_ceil(1_000)
}
