//! Canaries of the world and the judge: the effect of each fault, clock and network, and what each invariant detects.

use super::{
    AVAILABILITY, Above, Canary, DARK, ELECTIONS, REQUESTS, SERVED, UNCHECKED, above, at_ms, breaks, compiled, light,
    steady, survives,
};
use crate::error::Failed;
use protocols::{fence::checks::Fencing, point::Point};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    params::Profile,
    plan::Network,
};

pub(super) fn canaries() -> Vec<Canary> {
    vec![
        breaks("clocks that drift", &["no_stale_read"], drift),
        breaks("the service's clock is set", &["no_stale_write", "read_version"], clock_step),
        breaks("belief longer than promised", &["dual_belief"], promised_less),
        breaks("belief without a grant", &["phantom_leader"], outlived_grant),
        breaks("nobody elected", &["liveness"], slow_network),
        breaks("elected late", &["liveness"], late),
        breaks("duplicates", &["read_version"], |seed, on| hostile(seed, on, true)),
        breaks("reordering", &["read_version"], |seed, on| hostile(seed, on, false)),
        breaks("duplicates where no request is remembered", &["one_number"], applied_twice),
        breaks("token unchecked", UNCHECKED, |seed, on| unchecked(seed, on, "redis-fenced")),
        breaks("two keep one schedule", &["records"], two_schedules),
        breaks("token unchecked", UNCHECKED, |seed, on| unchecked(seed, on, "etcd-election")),
        above("latency", SERVED, 5.0, latency),
        above("lost on a connection", SERVED, 1.0, |seed, on| lost(seed, on, "redis-fenced")),
        above("lost datagrams", ELECTIONS, 2.0, |seed, on| lost(seed, on, "bully")),
        above("loss on a link's connections", SERVED, 1.0, |seed, on| link_loses(seed, on, "redis-fenced")),
        above("loss on a link's datagrams", ELECTIONS, 1.0, |seed, on| link_loses(seed, on, "bully")),
        above("narrow links", SERVED, 2.0, narrow),
        above("clocks uneven from the start", REQUESTS, 140.0, uneven),
        above("cut both ways, not one", ELECTIONS, 1.0, both_ways),
        above("cut for long, not shortly", DARK, 1_000.0, long_cut),
        above("power lost, not crashed", DARK, 100.0, power_lost),
        above("slow disk", DARK, 5_000.0, slow_disk),
        above("the newest leader is struck", ELECTIONS, 2.0, newest_struck),
        above("one of two partitions heals", ELECTIONS, 1.0, overlapping),
        above("a fault waits for a leader that lives", ELECTIONS, 2.0, next_struck),
        Canary { at_most: Some(Above { than: 3_000.0, ..DARK }), ..parked() },
        survives("dead while it waits to connect", DARK, 1_000.0, reborn_in_pause),
        Canary { at_most: Some(Above { than: 8_000.0, ..DARK }), ..fenced_twice() },
        Canary { at_most: Some(Above { than: 10_000.0, ..DARK }), ..two_fenced() },
        survives("a clock that goes faster while a timer is set", AVAILABILITY, 0.65, faster),
        survives("those who wait lose their leases", ELECTIONS, 1.0, waiters_dropped),
        survives("power lost before a sync: raft", DARK, 4_000.0, |seed, on| nothing_synced(seed, on, "raft")),
        survives("power lost before a sync: kraft", DARK, 4_000.0, |seed, on| nothing_synced(seed, on, "kraft")),
        survives("power lost before a sync: zab", DARK, 4_000.0, |seed, on| nothing_synced(seed, on, "zab-fle")),
    ]
}

/// Datagrams to the store that are lost, duplicated and reordered.
const HOSTILE: &str = "hostile";

fn drift(seed: u64, on: bool) -> Result<Plan, Failed> {
    let clock_drift_ppm = if on { 400_000 } else { 100 };
    compiled("read-lease", "redis-fenced", seed, &Params { clock_drift_ppm, ..light() })
}

/// A leader that believes for ever records its ticks along with its successor's.
fn two_schedules(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = compiled("partition", "redis-naive", seed, &light())?;
    plan.requires.clear();
    if !on {
        plan.faults.clear();
    }
    Ok(plan)
}

/// A steady run in which the service's clock repeatedly jumps ahead right after a renewal.
fn stepped(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let mut plan = compiled("steady", protocol, seed, &light())?;
    let ahead = |nth: u64| PlannedFault {
        when: Trigger::Passage {
            point: Point::Renewed.name().to_owned(),
            node: Who::Leader,
            nth: 3,
            after: Some(Box::new(Trigger::At { ms: 5_000.0 * nth as f64 })),
            delay_ms: 0.0,
            matching: None,
        },
        what: Fault::ClockStep { node: Who::Service, by_ms: 60_000 },
        group: 0,
    };
    if on {
        plan.faults = (1..=4).map(ahead).collect();
    }
    Ok(plan)
}

fn clock_step(seed: u64, on: bool) -> Result<Plan, Failed> {
    stepped(seed, on, "redis-lease")
}

/// The same with a token, which makes it harmless, and with the bound of a run without clock steps.
fn outlived_grant(seed: u64, on: bool) -> Result<Plan, Failed> {
    stepped(seed, on, "redis-fenced")
}

/// etcd's leader, like its client, believes along with its successor; this plan claims that it never does.
fn promised_less(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = compiled("partition", "etcd-election", seed, &light())?;
    // Fencing would end the belief at the successor's seal.
    let unfenced = Params { fencing: false.into(), ..light() };
    if on {
        plan = compiled("partition", "etcd-election", seed, &unfenced)?;
        plan.dual_belief_bound_ms = Some(0.0);
    }
    Ok(plan)
}

/// Answers take longer than anybody waits.
fn slow_network(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = compiled("steady", "raft", seed, &light())?;
    if on {
        plan.network.latency_us = 400_000;
        plan.requires.clear();
    }
    Ok(plan)
}

/// The hostile network without loss, and with only one of its other defects.
fn defects(duplicates: bool) -> Result<Network, Failed> {
    let net = Profile::find(HOSTILE).ok_or("no such network")?.network();
    let (duplicate, reorder) = if duplicates { (net.duplicate, 0.0) } else { (0.0, 0.1) };
    Ok(Network { loss: 0.0, duplicate, reorder, ..net })
}

/// A protocol without tokens on links that duplicate or reorder. A detour takes a millisecond, so only messages sent
/// within it are overtaken.
fn hostile(seed: u64, on: bool, duplicates: bool) -> Result<Plan, Failed> {
    let mut plan = compiled("steady", "redis-lease", seed, &Params { rate: 2_000, ..Params::default() })?;
    if on {
        plan.network = defects(duplicates)?;
        plan.requires.clear();
    }
    Ok(plan)
}

/// A protocol with tokens on links that duplicate, with a store that checks only the token.
fn applied_twice(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = compiled("steady", "redis-fenced", seed, &Params { fencing: Fencing::Token, ..light() })?;
    if on {
        plan.network = defects(true)?;
        plan.requires.clear();
    }
    Ok(plan)
}

/// A leader with a token wakes after its lease; the store checks nothing.
fn unchecked(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    compiled("gc-pause", protocol, seed, &Params { fencing: (!on).into(), ..light() })
}

/// The leader dies, and its lease outlasts the bound, but not twice the bound.
fn late(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = compiled("clean-kill", "redis-fenced", seed, &light())?;
    // It stays dead: if the holder of the lease came back, the liveness clock would start afresh.
    for fault in &mut plan.faults {
        if let Fault::Kill { restart_after_ms, .. } = &mut fault.what {
            *restart_after_ms = None;
        }
    }
    if on {
        plan.liveness_bound_ms = 1_900;
    }
    Ok(plan)
}

fn latency(seed: u64, on: bool) -> Result<Plan, Failed> {
    let for_ms = Some(if on { 12_000.0 } else { 200.0 });
    let slow = Fault::Latency { from: vec![Who::Leader], to: vec![Who::Store], extra_us: 20_000, for_ms };
    steady("redis-fenced", seed, vec![(5_000.0, slow)])
}

fn lost(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let mut plan = steady(protocol, seed, Vec::new())?;
    if on {
        plan.network.loss = if protocol == "bully" { 0.7 } else { 0.02 };
    }
    Ok(plan)
}

fn link_loses(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let bully = protocol == "bully";
    let (to, probability) = if bully { (Who::Followers, 1.0) } else { (Who::Store, 0.1) };
    let loss = Fault::Loss { from: vec![Who::Leader], to: vec![to], probability, for_ms: Some(10_000.0) };
    steady(protocol, seed, if on { vec![(5_000.0, loss)] } else { Vec::new() })
}

/// The bandwidth leaves room for resends; otherwise a link once full would stay full.
fn narrow(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = steady("redis-fenced", seed, Vec::new())?;
    plan.load.rate = 200;
    plan.network.bandwidth_mbps = u64::from(on);
    Ok(plan)
}

fn uneven(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = steady("redis-lease", seed, Vec::new())?;
    plan.candidates.iter_mut().for_each(|candidate| candidate.rate_ppm = if on { 400_000 } else { 0 });
    Ok(plan)
}

/// A leader that hears nothing is still heard.
fn both_ways(seed: u64, on: bool) -> Result<Plan, Failed> {
    let (from, to) = (vec![Who::Followers], vec![Who::Leader]);
    let cut = Fault::Partition { from, to, one_way: !on, for_ms: Some(8_000.0) };
    steady("bully", seed, vec![(5_000.0, cut)])
}

fn long_cut(seed: u64, on: bool) -> Result<Plan, Failed> {
    let for_ms = Some(if on { 6_000.0 } else { 250.0 });
    let cut = Fault::Partition { from: vec![Who::Candidates], to: vec![Who::Store], one_way: false, for_ms };
    steady("redis-fenced", seed, vec![(5_000.0, cut)])
}

/// A crashed store resets its connections and is back before the leader reconnects; a store without power sends no
/// resets.
fn power_lost(seed: u64, on: bool) -> Result<Plan, Failed> {
    let (node, restart_after_ms) = (Who::Store, Some(15.0));
    let down = match on {
        true => Fault::PowerLoss { node, restart_after_ms },
        false => Fault::Kill { node, restart_after_ms },
    };
    let mut plan = steady("redis-fenced", seed, vec![(5_000.0, down)])?;
    plan.load.rate = 500;
    Ok(plan)
}

/// No vote reaches a disk while the leader is dead.
fn slow_disk(seed: u64, on: bool) -> Result<Plan, Failed> {
    let slow = Fault::SlowDisk { node: Who::Candidates, extra_us: 10_000_000, for_ms: Some(14_000.0) };
    let kill = Fault::Kill { node: Who::Leader, restart_after_ms: None };
    let slow = if on { vec![(5_000.0, slow)] } else { Vec::new() };
    steady("raft", seed, slow.into_iter().chain([(6_000.0, kill)]).collect())
}

/// Two nodes believe: one cut off from the service, and its successor. A fault on the leader strikes the successor.
fn newest_struck(seed: u64, on: bool) -> Result<Plan, Failed> {
    let cut =
        Fault::Partition { from: vec![Who::Leader], to: vec![Who::Service], one_way: false, for_ms: Some(14_000.0) };
    let kill = Fault::Kill { node: Who::Leader, restart_after_ms: None };
    let kill = if on { vec![(11_000.0, kill)] } else { Vec::new() };
    let mut plan = steady("redis-naive", seed, std::iter::once((5_000.0, cut)).chain(kill).collect())?;
    plan.liveness_bound_ms = 20_000;
    Ok(plan)
}

/// A short and a long partition overlap on the same links.
fn overlapping(seed: u64, on: bool) -> Result<Plan, Failed> {
    let cut = |for_ms| {
        let (from, to, for_ms) = (vec![Who::Leader], vec![Who::Followers], Some(for_ms));
        Fault::Partition { from, to, one_way: false, for_ms }
    };
    let long = if on { vec![(5_000.0, cut(8_000.0))] } else { Vec::new() };
    steady("bully", seed, long.into_iter().chain([(5_050.0, cut(100.0))]).collect())
}

/// Nobody leads when the second kill is due: it strikes the next leader.
fn next_struck(seed: u64, on: bool) -> Result<Plan, Failed> {
    let kill = || Fault::Kill { node: Who::Leader, restart_after_ms: None };
    let mut plan = steady("bully", seed, vec![(5_000.0, kill())])?;
    if on {
        plan.faults.push(at_ms(5_001.0, kill()));
    }
    Ok(plan)
}

/// A connection to the store is repeatedly silent, never long enough to be given up, and carries more in total than it
/// can buffer.
fn parked() -> Canary {
    above("silence on a connection, many times", DARK, 1_000.0, |seed, on| {
        let (from, to, for_ms) = (vec![Who::Leader], vec![Who::Store], Some(150.0));
        let cut = Fault::Partition { from, to, one_way: false, for_ms };
        let often = if on { 12 } else { 0 };
        let mut plan = steady(
            "redis-fenced",
            seed,
            (0..often).map(|nth| (4_000.0 + 1_000.0 * f64::from(nth), cut.clone())).collect(),
        )?;
        plan.load.rate = 2_000;
        Ok(plan)
    })
}

/// The store is unreachable so long that the leader pauses before it reconnects. The leader dies meanwhile; its next
/// life writes without a pause, and nothing may be resent.
fn reborn_in_pause(seed: u64, on: bool) -> Result<Plan, Failed> {
    let params =
        Params { nodes: 1, duration_ms: Some(14_000), read_lease: Some(false), rate: 500, ..Params::default() };
    let mut plan = compiled("steady", "bully", seed, &params)?;
    plan.requires.clear();
    plan.liveness_bound_ms = 14_000;
    if on {
        let down = |node, ms| Fault::Kill { node, restart_after_ms: Some(ms) };
        let (from, to) = (vec![Who::Candidates], vec![Who::Store]);
        let slow = Fault::Latency { from, to, extra_us: 60_000, for_ms: Some(6_000.0) };
        plan.faults = vec![
            at_ms(5_000.0, down(Who::Store, 2_650.0)),
            at_ms(7_600.0, down(Who::Candidates, 100.0)),
            at_ms(7_650.0, slow),
        ];
    }
    Ok(plan)
}

/// The fencing device hangs until two nodes have asked it for the same machine: the leader, which dies, and the next
/// leader. The device answers only once in the run.
fn fenced_twice() -> Canary {
    survives("two ask for one machine's power", DARK, 4_000.0, |seed, on| {
        let timings = Params { lease_ttl_ms: Some(3_000), request_timeout_ms: Some(15_000), ..light() };
        let params = Params { duration_ms: Some(20_000), read_lease: Some(false), ..timings };
        let mut plan = compiled("steady", "stonith", seed, &params)?;
        plan.requires.clear();
        plan.liveness_bound_ms = 20_000;
        if on {
            let n3 = Who::Named("n3".to_owned());
            plan.faults = vec![
                at_ms(4_000.0, Fault::Kill { node: n3, restart_after_ms: None }),
                at_ms(4_000.0, Fault::Pause { node: Who::Service, for_ms: 11_000.0 }),
                at_ms(9_500.0, Fault::Kill { node: Who::Leader, restart_after_ms: Some(50.0) }),
            ];
        }
        Ok(plan)
    })
}

/// The fencing device hangs while it is asked for two machines: it has to cut the power of both, one after the other.
fn two_fenced() -> Canary {
    survives("one asks for two machines' power", DARK, 4_000.0, |seed, on| {
        let timings = Params { nodes: 5, request_timeout_ms: Some(10_000), ..light() };
        let params = Params { duration_ms: Some(20_000), read_lease: Some(false), ..timings };
        let mut plan = compiled("steady", "stonith", seed, &params)?;
        plan.requires.clear();
        plan.liveness_bound_ms = 20_000;
        if on {
            let kill = |name: &str| Fault::Kill { node: Who::Named(name.to_owned()), restart_after_ms: None };
            plan.faults = vec![
                at_ms(4_000.0, kill("n1")),
                at_ms(4_000.0, kill("n2")),
                at_ms(4_000.0, Fault::Pause { node: Who::Service, for_ms: 6_000.0 }),
            ];
        }
        Ok(plan)
    })
}

/// The clocks of the candidates speed up by half soon after a dead leader's last heartbeat: they take over after 3.9 s
/// instead of 5.5 s, unless running timers ignore the change.
fn faster(seed: u64, on: bool) -> Result<Plan, Failed> {
    let params = Params { lease_ttl_ms: Some(6_000), duration_ms: Some(20_000), read_lease: Some(false), ..light() };
    let mut plan = compiled("steady", "lowest-id", seed, &params)?;
    plan.requires.clear();
    plan.liveness_bound_ms = 20_000;
    let kill = Fault::Kill { node: Who::Leader, restart_after_ms: None };
    plan.faults = vec![at_ms(8_000.0, kill)];
    if on {
        plan.faults.push(at_ms(8_200.0, Fault::ClockRate { node: Who::Candidates, ppm: 500_000, for_ms: None }));
    }
    Ok(plan)
}

/// A waiter that is told that the leader has gone, and has lost its own lease meanwhile, must read before it believes.
fn waiters_dropped(seed: u64, on: bool) -> Result<Plan, Failed> {
    let drop = Fault::DropLease { node: Who::Followers };
    let resign = Fault::Resign { node: Who::Leader };
    steady("etcd-election", seed, if on { vec![(5_000.0, drop), (5_001.0, resign)] } else { Vec::new() })
}

/// The leader dies while no sync completes, and all nodes lose power again and again: nothing unsaved may have been
/// announced.
fn nothing_synced(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let hang = Fault::SyncHang { node: Who::Candidates, for_ms: Some(6_000.0) };
    let kill = Fault::Kill { node: Who::Leader, restart_after_ms: Some(1_500.0) };
    let mut faults = vec![(5_000.0, hang), (5_001.0, kill)];
    for outage in 0..5_u32 {
        faults.extend((1..=3_u32).map(|number| {
            let node = Who::Named(format!("n{number}"));
            let at_ms = 5_600.0 + f64::from(outage) * 1_300.0 + f64::from(number) * 10.0;
            (at_ms, Fault::PowerLoss { node, restart_after_ms: Some(50.0) })
        }));
    }
    steady(protocol, seed, if on { faults } else { Vec::new() })
}
