//! `long-job`: a singleton worker whose jobs take longer than its lease.
//!
//! The article *Leader election: mechanisms, failure modes, fencing*, "Singleton background worker", has a loop: take a
//! message, `process(msg)`, `session.renew()`. Nothing renews while a message is processed, so a job longer than the
//! lease outlives it. Another worker is elected, finds the message unacknowledged, and processes it as well; the first,
//! whose only thread was busy with the job, goes on as if nothing had happened (`--bug renews-between-jobs`). No fault
//! is needed.
//!
//! The remedy is a renewal that runs beside the job, as in every client library: this scenario without the bug. A fence
//! is not: behind one, a worker that finishes its job is refused, since another leads by then, with the same problem:
//! the same message is processed again and again, and none is ever delivered (`items done outside 0`). The lease is too
//! short for the job, and a fence only makes that visible at the queue's end instead of the customer's.

use super::{Needs, Scenario, require, settled_ms, works_with};
use crate::{params::Params, plan::Plan};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
    work::once::QUEUE_WORKER,
};

pub const SCENARIO: Scenario = Scenario {
    name: "long-job",
    about: "A singleton worker's jobs take longer than its lease, and nothing goes wrong.",
    story: "The leader takes one message of a queue after the other, and each takes a third longer than the lease \
            lasts. A worker that renews beside its job stays the leader, and every message is delivered once. One that \
            renews between jobs, as in a published example, loses its lease at every job, and another does the same \
            job as well.",
    hazard: hazard::NONE,
    needs: Needs::Named(&["redis-lease", "redis-fenced", "etcd-election"]),
    plan,
};

/// At least this many jobs are done in a run.
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
