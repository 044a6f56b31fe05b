//! Canaries of groups, members and works: faults on one of several leaderships, members that join and leave, and a
//! leader's extra works.

use super::{Above, Canary, DARK, ELECTIONS, MakePlan, UNCHECKED, at_ms, breaks, compiled, figure, light, survives};
use crate::error::Failed;
use protocols::{
    fence::checks::ChargeCheck,
    work::{
        once::INVOICES,
        sequencer,
        work_set::{Asked, COMPACTION, CURSOR_FIRST, PENDING_JOBS},
    },
};
use scenarios::{
    Params, Plan,
    fault::{Fault, Who},
};

const GROUPS: u16 = 3;
const REDONE: Above = figure("work_redone", |m| m.work_redone.unwrap_or_default() as f64);

pub(super) fn canaries() -> Vec<Canary> {
    let over = |name, plan: MakePlan| survives(name, ELECTIONS, GROUPS.into(), plan);
    vec![
        breaks("token unchecked in one of three groups", UNCHECKED, |seed, on| asleep(seed, on, "redis-fenced")),
        breaks("token unchecked in one of three groups", UNCHECKED, |seed, on| asleep(seed, on, "etcd-election")),
        over("one of three groups hands over: raft", |seed, on| hands_over(seed, on, "raft")),
        over("one of three groups hands over: zab", |seed, on| hands_over(seed, on, "zab-fle")),
        Canary { safe: true, ..breaks("members join and leave", &[], members_change) },
        survives("a healthy leader is shot", DARK, 1_000.0, shot),
        breaks("two claim one job", &["records"], two_claim),
        breaks("an invoice is charged without its id", &["done_once"], charged_twice),
        breaks("nobody looks at the token of a late refresh", &["no_stale_cache_entry"], set_back),
        breaks("a cursor is kept before the work is done", &["nothing_skipped"], cursor_first),
        survives("pending jobs begin anew without a cursor", REDONE, 10.0, pending_jobs),
        survives("an effect takes longer than an item", DARK, 100.0, slow_effects),
        breaks("the lock of a night is given back", &["done_once"], given_back),
        breaks("nobody leads one of three groups", &["liveness"], nobody_leads),
        survives("orders to hand shards over are lost", DARK, 1_000.0, lost_orders),
        Canary { safe: true, ..breaks("a shard goes to the newest of its heirs", &[], newer_heir) },
    ]
}

/// A scenario with three groups whose faults strike the last group only.
fn of_the_last(scenario: &str, protocol: &str, seed: u64, params: Params) -> Result<Plan, Failed> {
    let mut plan = compiled(scenario, protocol, seed, &Params { groups: GROUPS, ..params })?;
    plan.faults.iter_mut().for_each(|fault| fault.group = GROUPS - 1);
    Ok(plan)
}

fn asleep(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    of_the_last("gc-pause", protocol, seed, Params { fencing: (!on).into(), ..light() })
}

/// The leader of one group resigns; the others stay.
fn hands_over(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let mut plan = of_the_last("graceful-step-down", protocol, seed, light())?;
    if !on {
        plan.faults.clear();
        plan.requires.clear();
    }
    Ok(plan)
}

/// A scenario, with its faults or without.
fn story(scenario: &str, protocol: &str, seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = compiled(scenario, protocol, seed, &light())?;
    if !on {
        plan.faults.clear();
        plan.requires.clear();
    }
    Ok(plan)
}

fn members_change(seed: u64, on: bool) -> Result<Plan, Failed> {
    story("membership-churn", "raft", seed, on)
}

/// Somebody asks the fencing device to shoot the leader, in a follower's name.
fn shot(seed: u64, on: bool) -> Result<Plan, Failed> {
    story("adversary-rogue-fence", "stonith", seed, on)
}

/// A leader that believes for ever claims jobs along with its successor.
fn two_claim(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = compiled("partition", "redis-naive", seed, &light())?;
    plan.works = ["sequencer", "job-queue"].map(str::to_owned).into();
    plan.requires.clear();
    if !on {
        plan.faults.clear();
    }
    Ok(plan)
}

/// The leader dies between charging an invoice and marking its row; the charge carries the invoice's id, or does not.
fn charged_twice(seed: u64, on: bool) -> Result<Plan, Failed> {
    let check = if on { ChargeCheck::Sealed } else { ChargeCheck::SealedId };
    compiled("incident-invoice", "redis-fenced", seed, &Params { charge_check: Some(check), ..light() })
}

/// The leader pauses before it sends its last version to the caches.
fn set_back(seed: u64, on: bool) -> Result<Plan, Failed> {
    compiled("stale-cache", "redis-fenced", seed, &Params { fencing: (!on).into(), ..light() })
}

/// The leader dies in the middle of a segment, with its cursor after the segment or before it.
fn cursor_first(seed: u64, on: bool) -> Result<Plan, Failed> {
    let (works, bugs) = (vec![&sequencer::WORK, &COMPACTION], on.then_some(&CURSOR_FIRST).into_iter().collect());
    compiled("clean-kill", "etcd-election", seed, &Params { works, bugs, ..light() })
}

/// A leader of pending jobs dies; its successor resumes at the cursor, saved every ten jobs, or there is no cursor.
fn pending_jobs(seed: u64, on: bool) -> Result<Plan, Failed> {
    let work_set = Asked { checkpoint_every: Some(if on { 0 } else { 10 }), ..Asked::default() };
    let params = Params { works: vec![&sequencer::WORK, &PENDING_JOBS], work_set, ..light() };
    compiled("clean-kill", "etcd-election", seed, &params)
}

/// The payment provider answers each charge later than the worker would start the next.
fn slow_effects(seed: u64, on: bool) -> Result<Plan, Failed> {
    let params = Params { duration_ms: Some(20_000), works: vec![&sequencer::WORK, &INVOICES], ..light() };
    let mut plan = compiled("steady", "redis-fenced", seed, &params)?;
    plan.requires.clear();
    if on {
        let (from, to, for_ms) = (vec![Who::Leader], vec![Who::Store], Some(8_000.0));
        plan.faults = vec![at_ms(5_000.0, Fault::Latency { from, to, extra_us: 180_000, for_ms })];
    }
    Ok(plan)
}

/// A nightly job guarded by a lock that is released after the job, so that a late clock runs it again; or by one key
/// per night.
fn given_back(seed: u64, on: bool) -> Result<Plan, Failed> {
    compiled("weak-crons", if on { "cron-lock" } else { "cron-key" }, seed, &light())
}

/// One group's leader loses its session, and Consul withholds the lock for the lock-delay of 15 s.
fn nobody_leads(seed: u64, on: bool) -> Result<Plan, Failed> {
    let params = Params { groups: GROUPS, duration_ms: Some(20_000), read_lease: Some(false), ..light() };
    let mut plan = compiled("steady", "consul-session", seed, &params)?;
    plan.requires.clear();
    plan.liveness_bound_ms = 8_000;
    if on {
        plan.faults = vec![at_ms(5_000.0, Fault::DropLease { node: Who::Leader })];
        plan.faults.iter_mut().for_each(|fault| fault.group = GROUPS - 1);
    }
    Ok(plan)
}

/// A member receives nothing for a while, but its own messages arrive: the others keep handing over what it should
/// lead, until it does.
fn lost_orders(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = compiled("shard-rebalance", "raft-core", seed, &Params { groups: 6, ..light() })?;
    plan.requires.clear();
    plan.faults.clear();
    if on {
        let named = |name: &str| Who::Named(name.to_owned());
        let (from, to) = (vec![named("n1"), named("n2")], vec![named("n3")]);
        plan.faults = vec![at_ms(0.0, Fault::Partition { from, to, one_way: true, for_ms: Some(6_000.0) })];
    }
    Ok(plan)
}

/// The store is slow, so that handing over a group takes long. Meanwhile another member joins, and groups meant for the
/// first newcomer go to the second at once.
fn newer_heir(seed: u64, on: bool) -> Result<Plan, Failed> {
    let params = Params { groups: 12, nodes: 5, ..light() };
    let mut plan = compiled("shard-rebalance", "redis-fenced", seed, &params)?;
    plan.requires.clear();
    (plan.candidates[3].starts_at_ms, plan.candidates[4].starts_at_ms, plan.duration_ms) = (5_000, 6_000, 20_000);
    let (from, to, for_ms) = (vec![Who::Candidates], vec![Who::Store], Some(3_000.0));
    plan.faults =
        if on { vec![at_ms(5_500.0, Fault::Latency { from, to, extra_us: 2_800_000, for_ms })] } else { vec![] };
    Ok(plan)
}
