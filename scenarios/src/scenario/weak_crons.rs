//! `weak-crons`: a nightly job that must run once, in a fleet where one clock is late and one host is down for two
//! nights.
//!
//! The article *Leader election: mechanisms, failure modes, fencing*, "Cron job that runs once", has two ways, and
//! recommends one of them:
//!
//! | | runs twice | misses | why |
//! |---|---|---|---|
//! | `cron-hash`, the text's "naive" | never | the nights in which its host is down | no other host checks |
//! | `cron-lock`, the text's "better" | every night | none | the lock is released when the job is done, and a host whose midnight comes later than that finds it free: skew that exceeds the job's length |
//! | `cron-key`: a key for each night, which is kept | never | none here | a late host finds the night taken |
//!
//! The lock keeps two hosts from running the job at the same time, but the requirement is once a night, which has to be
//! recorded for as long as anybody may ask. The key's price: a host that dies in the middle of the job leaves its night
//! undone.
//!
//! All three face the same faults: a clock that is late by more than the job takes, and the death of the host that the
//! hash picks, from after the second night until after the fourth.

use super::{Needs, Scenario, at, candidate, drawn_ms, require, works_with};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{
        Promise, Protocol,
        cron::{self, HASH, KEY, LOCK},
        hazard,
    },
    history::Fact,
    types::MILLISECOND,
    work::{
        nightly_job::{JOB_TIME, PERIOD, WORK},
        sequencer,
    },
};

pub const SCENARIO: Scenario = Scenario {
    name: "weak-crons",
    about: "A nightly job that must run once, while one clock is late and one host is down: by lock, by hash, by a key \
            per night.",
    story: "Every night, which is ten seconds, a job of one second is to run once in the fleet. One host's clock is late by more \
            than the job takes, and the host that the job's name hashes to is down for two nights. A lock that is released when \
            the job is done lets the late host run it again; the hash misses two nights; a key for each night, which is kept, \
            has it run once.",
    hazard: hazard::ANY,
    needs: Needs::Named(&[LOCK.name, HASH.name, KEY.name]),
    plan,
};

const NIGHTS: u64 = 7;
/// How much later than the job's length the late clock is, milliseconds.
const LATE_MS: (f64, f64) = (500.0, 1_500.0);
/// When the host dies after the second midnight, milliseconds: everybody is done with that night's job.
const DIES_MS: (f64, f64) = (5_000.0, 8_000.0);

/// The promise of each protocol.
pub(super) fn promised(protocol: &Protocol) -> Promise {
    match protocol.name {
        name if name == LOCK.name => Promise::Breaks(&["done_once"]),
        name if name == HASH.name => Promise::Breaks(&["nothing_skipped"]),
        _ => Promise::Holds,
    }
}

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (night_ms, job_ms) = (PERIOD / MILLISECOND, JOB_TIME / MILLISECOND);
    let needed_ms = NIGHTS * night_ms + night_ms / 2;
    // Clients play no part; they ask now and then, and are refused.
    let few = Params { rate: 2, reads_per_s: Some(0), ..params.clone() };
    let mut plan = few.plan(SCENARIO.name, protocol, seed, needed_ms);
    let mut random = streams::stream(seed, PLAN);
    let host = cron::host(params.nodes);
    let late = (host.0 + 1) % params.nodes;
    if let Some(late) = plan.candidates.get_mut(usize::from(late)) {
        late.wall_offset_ms = -(job_ms as f64 + drawn_ms(&mut random, LATE_MS.0, LATE_MS.1)) as i64;
    }
    let dies_ms = 2.0 * night_ms as f64 + drawn_ms(&mut random, DIES_MS.0, DIES_MS.1);
    let node = Who::Named(candidate(host.0 + 1));
    plan.faults = vec![at(dies_ms, Fault::Kill { node, restart_after_ms: Some(2.0 * night_ms as f64) })];
    plan.works = match params.works.is_empty() {
        true => [sequencer::WORK.name, WORK.name].map(str::to_owned).into(),
        false => works_with(params, &WORK),
    };
    // Nobody leads between two jobs, and another check decides whether a night was missed.
    plan.liveness_bound_ms = plan.duration_ms;
    plan.requires = match protocol.name == HASH.name {
        true => require([(Fact::Kills, 1), (Fact::Restarts, 1), (Fact::EffectsTried, 4)]),
        false => require([(Fact::Kills, 1), (Fact::ContestedElections, 4), (Fact::EffectsTried, 6)]),
    };
    plan
}
