//! What a node must not do while it gives leadership up, and when it wakes after its lease; and what its clients must.

use super::{Canary, DARK, ELECTIONS, compiled, figure, light, steady, survives};
use protocols::point::Point;
use scenarios::{
    Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
};

/// The canaries of this file.
pub(super) fn canaries() -> Vec<Canary> {
    let refused = figure("writes_fenced", |m| m.writes_fenced as f64);
    let asked = figure("requests_invoked", |m| m.requests_invoked as f64);
    vec![
        survives("asked to resign with writes under way", ELECTIONS, 1.0, resigns).within(ELECTIONS, 2.0, 2.0),
        survives("asleep beyond its lease", ELECTIONS, 1.0, asleep).within(refused, 0.0, 0.0),
        survives("asleep with writes unanswered", ELECTIONS, 1.0, asleep_unanswered).within(refused, 0.0, 0.0),
        survives("asleep between connections", ELECTIONS, 1.0, asleep_unconnected).within(refused, 0.0, 0.0),
        survives("answers to a former term", ELECTIONS, 1.0, former_term).within(ELECTIONS, 2.0, 2.0),
        survives("more than may be under way", DARK, 1_000.0, too_many),
        held("clients that were started again", clients_reborn).within(asked, 1_700.0, 1_950.0),
        held("clients that stood still", clients_asleep).within(asked, 1_900.0, 2_100.0),
    ]
}

/// A canary whose cause shows nothing in figures, and must not.
fn held(name: &'static str, plan: super::MakePlan) -> Canary {
    Canary { safe: true, ..super::breaks(name, &[], plan) }
}

fn at(ms: f64, what: Fault) -> PlannedFault {
    PlannedFault { when: Trigger::At { ms }, what }
}

/// When the leader passes `point` for the nth time after 5 s.
fn passes(point: Point, nth: u64) -> Trigger {
    let (point, after) = (point.name().to_owned(), Some(Box::new(Trigger::At { ms: 5_000.0 })));
    Trigger::Passage { point, node: Who::Leader, nth, after, delay_ms: 0.0 }
}

fn slow(from: Who, to: Who, extra_ms: u64, for_ms: f64) -> Fault {
    Fault::Latency { from: vec![from], to: vec![to], extra_us: extra_ms * 1_000, for_ms: Some(for_ms) }
}

/// Writes take longer than from one tick to the next. Whoever goes on taking work is never done with it, and whoever does
/// not wait for the answers has not stopped when its successor starts.
fn resigns(seed: u64, on: bool) -> Result<Plan, String> {
    let mut plan = steady("redis-fenced", seed, Vec::new())?;
    plan.faults.push(at(4_000.0, slow(Who::Leader, Who::Store, 1_200, 10_000.0)));
    if on {
        plan.faults.push(at(7_000.0, Fault::Resign { node: Who::Leader }));
    }
    Ok(plan)
}

/// The leader sleeps right after a renewal; requests, reads and ticks wait for it when it wakes.
fn asleep(seed: u64, on: bool) -> Result<Plan, String> {
    let mut params = light();
    (params.duration_ms, params.read_lease, params.reads_per_s) = (Some(20_000), Some(true), Some(400));
    let mut plan = compiled("steady", "redis-fenced", seed, &params)?;
    plan.requires.clear();
    if on {
        let when = passes(Point::Renewed, 1);
        plan.faults.push(PlannedFault { when, what: Fault::Pause { node: Who::Leader, for_ms: 4_600.0 } });
    }
    Ok(plan)
}

/// The store's answers are late, and come after a lease that the leader has slept through.
fn asleep_unanswered(seed: u64, on: bool) -> Result<Plan, String> {
    let mut plan = steady("redis-fenced", seed, Vec::new())?;
    plan.faults.push(at(5_000.0, slow(Who::Store, Who::Leader, 7_000, 1_200.0)));
    if on {
        let when = passes(Point::Renewed, 1);
        plan.faults.push(PlannedFault { when, what: Fault::Pause { node: Who::Leader, for_ms: 4_600.0 } });
    }
    Ok(plan)
}

/// The store dies and is back; the leader falls asleep before it has connected again.
fn asleep_unconnected(seed: u64, on: bool) -> Result<Plan, String> {
    let mut plan = steady("redis-fenced", seed, Vec::new())?;
    plan.load.rate = 500;
    let (when, restart_after_ms) = (passes(Point::Renewed, 1), Some(50.0));
    plan.faults.push(PlannedFault { when: when.clone(), what: Fault::Kill { node: Who::Store, restart_after_ms } });
    if on {
        let (point, after) = (Point::LeaseChecked.name().to_owned(), Some(Box::new(when)));
        let when = Trigger::Passage { point, node: Who::Leader, nth: 4, after, delay_ms: 0.0 };
        plan.faults.push(PlannedFault { when, what: Fault::Pause { node: Who::Leader, for_ms: 4_600.0 } });
    }
    Ok(plan)
}

/// One candidate loses its lease and gets another. Writes of its first term reach the store after the second has sealed it,
/// are refused, and the refusals come while as many writes of the second term are under way. By datagrams: a new connection
/// carries no old answers.
fn former_term(seed: u64, on: bool) -> Result<Plan, String> {
    let mut params = light();
    (params.nodes, params.duration_ms, params.read_lease) = (1, Some(20_000), Some(false));
    let mut plan = compiled("steady", "redis-fenced", seed, &params)?;
    plan.requires.clear();
    plan.network.datagrams = true;
    let renewed = passes(Point::Renewed, 1);
    let late = slow(Who::Leader, Who::Store, 3_000, 1_020.0);
    plan.faults.push(PlannedFault { when: renewed.clone(), what: late });
    let (point, after) = (Point::AfterSeal.name().to_owned(), Some(Box::new(renewed.clone())));
    let sealed = Trigger::Passage { point, node: Who::Leader, nth: 1, after, delay_ms: 0.0 };
    plan.faults.push(PlannedFault { when: sealed, what: slow(Who::Leader, Who::Store, 2_000, 1_500.0) });
    if on {
        plan.faults.push(PlannedFault { when: renewed, what: Fault::DropLease { node: Who::Leader } });
    }
    Ok(plan)
}

/// The store is away for so long that more requests come than fit on a connection.
fn too_many(seed: u64, on: bool) -> Result<Plan, String> {
    let (from, to, for_ms) = (vec![Who::Leader], vec![Who::Store], Some(if on { 4_000.0 } else { 200.0 }));
    let cut = Fault::Partition { from, to, one_way: false, for_ms };
    let mut plan = steady("redis-fenced", seed, vec![(5_000.0, cut)])?;
    plan.load.rate = 500;
    Ok(plan)
}

/// A client's second life must not take the requests of its first for its own.
fn clients_reborn(seed: u64, on: bool) -> Result<Plan, String> {
    let kill = Fault::Kill { node: Who::Clients, restart_after_ms: Some(2_000.0) };
    steady("redis-fenced", seed, if on { vec![(6_000.0, kill)] } else { Vec::new() })
}

/// Open-loop clients ask for what they should have asked for meanwhile.
fn clients_asleep(seed: u64, on: bool) -> Result<Plan, String> {
    let pause = Fault::Pause { node: Who::Clients, for_ms: 5_000.0 };
    steady("redis-fenced", seed, if on { vec![(6_000.0, pause)] } else { Vec::new() })
}
