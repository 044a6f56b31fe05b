//! Canaries of what a node must not do while it resigns or after it wakes without a lease, and of what its clients must
//! do.

use super::{Above, Canary, DARK, ELECTIONS, compiled, figure, light, steady, survives};
use crate::error::Failed;
use protocols::point::Point;
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
};

pub(super) fn canaries() -> Vec<Canary> {
    let refused = figure("writes_fenced", |m| m.writes_fenced as f64);
    let asked = figure("requests_invoked", |m| m.requests_invoked as f64);
    let asked_or_read = figure("requests and reads", |m| (m.requests_invoked + m.reads_answered) as f64);
    vec![
        survives("asked to resign with writes under way", ELECTIONS, 1.0, resigns).within(ELECTIONS, 2.0, 2.0),
        survives("asleep beyond its lease", ELECTIONS, 1.0, asleep).within(refused, 0.0, 0.0),
        survives("asleep with writes unanswered", ELECTIONS, 1.0, asleep_unanswered).within(refused, 0.0, 0.0),
        survives("asleep between connections", ELECTIONS, 1.0, asleep_unconnected).within(refused, 0.0, 0.0),
        survives("answers to a former term", ELECTIONS, 1.0, former_term).within(ELECTIONS, 2.0, 2.0),
        survives("answers to a former seal", ELECTIONS, 2.0, former_seal),
        survives("only reads tell a leader that it was replaced", ELECTIONS, 1.0, replaced_and_read),
        Canary {
            at_most: Some(Above { than: 100.0, ..DARK }),
            ..survives("clients are told who leads", ELECTIONS, 4.0, told_who_leads)
        },
        survives("more than may be under way", DARK, 1_000.0, too_many),
        held("clients that were started again", clients_reborn).within(asked, 1_700.0, 1_950.0),
        held("clients that stood still", clients_asleep).within(asked_or_read, 2_600.0, 2_750.0),
        survives("dead with writes under way", ELECTIONS, 1.0, dies),
    ]
}

/// A canary whose cause must have no effect.
fn held(name: &'static str, plan: super::MakePlan) -> Canary {
    Canary { safe: true, ..super::breaks(name, &[], plan) }
}

fn at(ms: f64, what: Fault) -> PlannedFault {
    PlannedFault { when: Trigger::At { ms }, what, group: 0 }
}

/// When the leader first passes `point` after `after_ms`.
fn passes(point: Point, after_ms: f64) -> Trigger {
    let (point, after) = (point.name().to_owned(), Some(Box::new(Trigger::At { ms: after_ms })));
    Trigger::Passage { point, node: Who::Leader, nth: 1, after, delay_ms: 0.0, matching: None }
}

/// The leader pauses at its first renewal after `after_ms`.
fn sleeps(after_ms: f64, for_ms: f64) -> PlannedFault {
    PlannedFault { when: passes(Point::Renewed, after_ms), what: Fault::Pause { node: Who::Leader, for_ms }, group: 0 }
}

fn slow(from: Who, to: Who, extra_ms: u64, for_ms: f64) -> Fault {
    Fault::Latency { from: vec![from], to: vec![to], extra_us: extra_ms * 1_000, for_ms: Some(for_ms) }
}

/// Writes take longer than a tick. A leader that keeps accepting work never finishes, and one that does not wait for
/// the answers has not stopped when its successor starts.
fn resigns(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = steady("redis-fenced", seed, Vec::new())?;
    plan.load.tick_ms = 100;
    plan.faults.push(at(4_000.0, slow(Who::Leader, Who::Store, 1_400, 16_000.0)));
    // The leader hardly works in that time, and nothing makes it step down.
    plan.liveness_bound_ms += 16_000;
    if on {
        // A tick has just fired: its write is answered, and the next tick due, before the last request is answered.
        plan.faults.push(at(7_300.0, Fault::Resign { node: Who::Leader }));
    }
    Ok(plan)
}

/// The leader pauses repeatedly, right after a renewal; requests and reads await it when it wakes, few enough that
/// their answers fit on a connection.
fn asleep(seed: u64, on: bool) -> Result<Plan, Failed> {
    let timings = Params { lease_ttl_ms: Some(1_000), renew_interval_ms: Some(300), rate: 50, ..light() };
    let params = Params { duration_ms: Some(20_000), read_lease: Some(true), reads_per_s: Some(400), ..timings };
    let mut plan = compiled("steady", "redis-fenced", seed, &params)?;
    plan.requires.clear();
    if on {
        // The lengths differ because clients give up silent connections at a fixed beat.
        let pauses = [(4_000.0, 1_700.0), (8_000.0, 1_740.0), (12_000.0, 1_780.0), (16_000.0, 1_720.0)];
        plan.faults = pauses.map(|(after_ms, for_ms)| sleeps(after_ms, for_ms)).into();
    }
    Ok(plan)
}

/// The store's answers arrive after a lease that the leader has slept through.
fn asleep_unanswered(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = steady("redis-fenced", seed, Vec::new())?;
    plan.faults.push(at(5_000.0, slow(Who::Store, Who::Leader, 7_000, 1_500.0)));
    if on {
        // The leader has looked and found the writes unanswered, but has not yet timed out.
        plan.faults.push(sleeps(5_400.0, 4_600.0));
    }
    Ok(plan)
}

/// The store crashes and restarts; the leader pauses before it has reconnected.
fn asleep_unconnected(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = steady("redis-fenced", seed, Vec::new())?;
    plan.load.rate = 500;
    let (when, restart_after_ms) = (passes(Point::Renewed, 5_000.0), Some(50.0));
    plan.faults.push(PlannedFault {
        when: when.clone(),
        what: Fault::Kill { node: Who::Store, restart_after_ms },
        group: 0,
    });
    if on {
        let (point, after) = (Point::LeaseChecked.name().to_owned(), Some(Box::new(when)));
        let when = Trigger::Passage { point, node: Who::Leader, nth: 4, after, delay_ms: 0.0, matching: None };
        plan.faults.push(PlannedFault { when, what: Fault::Pause { node: Who::Leader, for_ms: 4_600.0 }, group: 0 });
    }
    Ok(plan)
}

/// The only candidate loses its lock and takes it again. Writes of its first term reach the store after the second
/// term's seal and are refused; the refusals arrive while writes of the second term with the same numbers are
/// outstanding. Uses reordering datagrams, since connections do not deliver old answers.
fn former_term(seed: u64, on: bool) -> Result<Plan, Failed> {
    let params = Params { nodes: 1, duration_ms: Some(20_000), read_lease: Some(false), ..light() };
    let mut plan = compiled("steady", "redis-fenced", seed, &params)?;
    plan.requires.clear();
    (plan.network.datagrams, plan.network.reorder) = (true, 1.0);
    let renewed = passes(Point::Renewed, 5_000.0);
    // Lasts until just after the next renewal, which reveals the loss; a detour takes three times the latency.
    let late = slow(Who::Leader, Who::Store, 1_000, 1_020.0);
    plan.faults.push(PlannedFault { when: renewed.clone(), what: late, group: 0 });
    let (point, after) = (Point::AfterSeal.name().to_owned(), Some(Box::new(renewed.clone())));
    let sealed = Trigger::Passage { point, node: Who::Leader, nth: 1, after, delay_ms: 0.0, matching: None };
    plan.faults.push(PlannedFault { when: sealed, what: slow(Who::Leader, Who::Store, 700, 1_500.0), group: 0 });
    if on {
        plan.faults.push(PlannedFault { when: renewed, what: Fault::DropKey { node: Who::Leader }, group: 0 });
    }
    Ok(plan)
}

/// The only candidate loses its lock before the answer to its seals arrives, and takes it again. That answer arrives
/// while the next seals are outstanding, on a slow connection to the store that survives.
fn former_seal(seed: u64, on: bool) -> Result<Plan, Failed> {
    let timings = Params { lease_ttl_ms: Some(1_000), renew_interval_ms: Some(300), ..light() };
    let params = Params { nodes: 1, duration_ms: Some(16_000), read_lease: Some(false), ..timings };
    let mut plan = compiled("steady", "redis-fenced", seed, &params)?;
    plan.requires.clear();
    let seals = || passes(Point::BeforeSeal, 5_000.0);
    plan.faults = vec![
        at(5_000.0, Fault::DropKey { node: Who::Leader }),
        PlannedFault { when: seals(), what: slow(Who::Leader, Who::Store, 1_000, 1_400.0), group: 0 },
    ];
    if on {
        plan.faults.push(PlannedFault { when: seals(), what: Fault::DropKey { node: Who::Leader }, group: 0 });
    }
    Ok(plan)
}

/// A leader loses its lock unnoticed. It hardly writes, so it learns only from a refused read that it was replaced.
fn replaced_and_read(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = steady("redis-fenced", seed, Vec::new())?;
    (plan.load.rate, plan.load.tick_ms, plan.load.reads_per_s) = (1, 20_000, 400);
    // Covers the time from the successor's election, through its seal, to the next read.
    plan.dual_belief_bound_ms = Some(60.0);
    if on {
        let (from, to) = (vec![Who::Service], vec![Who::Leader]);
        let deaf = Fault::Partition { from, to, one_way: true, for_ms: Some(3_000.0) };
        let renewed = || passes(Point::Renewed, 5_000.0);
        plan.faults = vec![
            PlannedFault { when: renewed(), what: Fault::DropKey { node: Who::Leader }, group: 0 },
            PlannedFault { when: renewed(), what: deaf, group: 0 },
        ];
    }
    Ok(plan)
}

/// Leaders resign one after the other, and all nodes learn of the next one at once. Seven nodes, because a client that
/// asked them all in turn would be late.
fn told_who_leads(seed: u64, on: bool) -> Result<Plan, Failed> {
    let params = Params { nodes: 7, duration_ms: Some(12_000), read_lease: Some(false), ..light() };
    let mut plan = compiled("steady", "etcd-election", seed, &params)?;
    plan.requires.clear();
    let resign = |place: u32| at(4_000.0 + 1_200.0 * f64::from(place), Fault::Resign { node: Who::Leader });
    plan.faults = if on { (0..6).map(resign).collect() } else { Vec::new() };
    Ok(plan)
}

/// The store is unreachable until more requests wait than fit on a connection.
fn too_many(seed: u64, on: bool) -> Result<Plan, Failed> {
    let (from, to, for_ms) = (vec![Who::Leader], vec![Who::Store], Some(if on { 4_000.0 } else { 200.0 }));
    let cut = Fault::Partition { from, to, one_way: false, for_ms };
    let mut plan = steady("redis-fenced", seed, vec![(5_000.0, cut)])?;
    plan.load.rate = 500;
    Ok(plan)
}

/// A restarted client must not take its former requests for its own.
fn clients_reborn(seed: u64, on: bool) -> Result<Plan, Failed> {
    let kill = Fault::Kill { node: Who::Clients, restart_after_ms: Some(2_000.0) };
    steady("redis-fenced", seed, if on { vec![(6_000.0, kill)] } else { Vec::new() })
}

/// Paused open-loop clients send all the requests that they missed.
fn clients_asleep(seed: u64, on: bool) -> Result<Plan, Failed> {
    let pause = Fault::Pause { node: Who::Clients, for_ms: 5_000.0 };
    let mut plan = steady("redis-fenced", seed, if on { vec![(6_000.0, pause)] } else { Vec::new() })?;
    // 2,000 requests, and two thirds of 1,000 reads, which are those that go to the leader.
    plan.load.reads_per_s = 50;
    Ok(plan)
}

/// The clients ask other nodes, which do not lead either; these must not claim that nothing happened.
fn dies(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = steady("redis-fenced", seed, Vec::new())?;
    plan.faults.push(at(4_000.0, slow(Who::Leader, Who::Store, 60, 16_000.0)));
    if on {
        plan.faults.push(at(6_000.0, Fault::Kill { node: Who::Leader, restart_after_ms: None }));
    }
    Ok(plan)
}
