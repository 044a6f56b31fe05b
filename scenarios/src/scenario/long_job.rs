//! `long-job`: a singleton worker whose jobs take longer than its lease.
//!
//! Reference text 002, "Singleton background worker", has a loop: take a message, `process(msg)`, `session.renew()`. Nothing is
//! renewed while a message is processed, so a job that is longer than the lease outlives it. Somebody else is elected, finds
//! the message not acknowledged, and processes it as well; the first one, whose only thread was at the job, goes on as if
//! nothing had happened (`--bug renews-between-jobs`). Nothing else has to go wrong.
//!
//! What sets it right is a renewal of its own beside the job, as every client library has it: this scenario without the bug.
//! A fence does not. Behind one, whoever is done with a job is refused, since another leads by then, and is in the same trouble:
//! the same message is processed again and again, and none is ever delivered (`items done outside 0`). The lease is too short
//! for the job, and only a fence makes that visible at the queue's end instead of the customer's.

use super::{Needs, Scenario, require, settled_ms, works_with};
use crate::{params::Params, plan::Plan};
use protocols::{
    election::{Hazard, Protocol},
    history::Fact,
    work::once::QUEUE_WORKER,
};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "long-job",
    about: "A singleton worker's jobs take longer than its lease, and nothing goes wrong.",
    story: "The leader takes one message of a queue after the other, and each takes a third longer than the lease lasts. A worker \
            that renews beside its job stays the leader, and every message is delivered once. One that renews between jobs, as \
            the reference text's does, loses its lease at every job, and what it was at is done by another as well.",
    hazard: Hazard::None,
    needs: Needs::Named(&["redis-lease", "redis-fenced", "etcd-election"]),
    plan,
};

/// So many jobs are done in a run, and a bit more.
const JOBS: u64 = 8;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let ttl_ms = params.granted_ttl_ms(protocol);
    let job_ms = params.work_set.item_ms.unwrap_or(ttl_ms + ttl_ms / 3);
    let needed_ms = settled_ms(params, protocol) + JOBS.saturating_mul(job_ms) + ttl_ms;
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.works = works_with(params, &QUEUE_WORKER);
    plan.work_set.item_ms = Some(job_ms);
    plan.charge_check = params.charge_check;
    plan.requires = require([(Fact::Elections, 1), (Fact::EffectsTried, 2)]);
    plan
}
