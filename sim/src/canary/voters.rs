//! Canaries of candidates that elect among themselves: a voter keeps its vote through a power loss, half the votes are
//! no majority, and a leader that hears of a successor has stopped.

use super::{Above, Canary, DARK, ELECTIONS, MakePlan, at_ms, breaks, compiled, figure, light, survives};
use crate::error::Failed;
use protocols::{
    history::{Fact, Requirement},
    point::Point,
};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
};

pub(super) fn canaries() -> Vec<Canary> {
    vec![
        breaks("power lost on disks that lie: raft", &["elections"], |seed, on| disks_lie(seed, on, "raft")),
        breaks("power lost on disks that lie: kraft", &["elections"], |seed, on| disks_lie(seed, on, "kraft")),
        breaks("power lost on disks that lie: zab", &["elections"], |seed, on| disks_lie(seed, on, "zab-fle")),
        survives("power lost after a vote: raft", DARK, 2_500.0, |seed, on| voter_dark(seed, on, "raft")),
        survives("power lost after a vote: kraft", DARK, 2_500.0, |seed, on| voter_dark(seed, on, "kraft")),
        survives("an epoch proposed twice", STARTUP, 700.0, epoch_twice),
        Canary { at_most: Some(Above { than: 300.0, ..DARK }), ..held("power lost after an entry: raft", log_lost) },
        held("a candidate that starts again", stands_again).within(STARTUP, 2_500.0, 4_500.0),
        mute("kraft follows its successor", follows_successor),
        held("a connect that comes late", stray_connect).within(ELECTIONS, 1.0, 1.0),
        survives("a follower ahead of who was elected", STARTUP, 6_000.0, follower_ahead),
        survives("followers restart in a leader's lease", ELECTIONS, 1.0, lease_forgotten),
        survives("a voter starts again while another stands", ELECTIONS, 1.0, voter_forgets),
        survives("raft hears of its successor", ELECTIONS, 3.0, mute_raft),
        mute("kraft hears of its successor", |seed, on| mute_leader(seed, on, "kraft")),
        mute("zab hears late from its followers", late_pongs),
        Canary { safe: false, holds: &["dual_belief"], ..mute("bully hears of its successor", mute_bully) },
        survives("half on each side: raft", DARK, 4_000.0, |seed, on| halves(seed, on, "raft")),
        survives("half on each side: kraft", DARK, 4_000.0, |seed, on| halves(seed, on, "kraft")),
        survives("half on each side: zab", DARK, 4_000.0, |seed, on| halves(seed, on, "zab-fle")),
        survives("half on each side: stonith", DARK, 4_000.0, |seed, on| halves(seed, on, "stonith")),
        survives("handed over to who was named", ELECTIONS, 4.0, named_successor),
        survives("a leader is shot with writes on their way", DARK, 4_000.0, shot_in_flight),
        survives("a ring's laps out of order: lelann", DARK, 500.0, |seed, on| reordered(seed, on, "ring-lelann")),
        survives("a ring's laps out of order: chang-roberts", DARK, 250.0, |s, on| {
            reordered(s, on, "ring-chang-roberts")
        }),
    ]
}

const STARTUP: Above = figure("startup_dark_ms", |m| m.startup_dark_ms.unwrap_or_default());

/// A canary whose cause must have no effect.
fn held(name: &'static str, plan: MakePlan) -> Canary {
    Canary { safe: true, ..breaks(name, &[], plan) }
}

fn mute(name: &'static str, plan: MakePlan) -> Canary {
    survives(name, ELECTIONS, 1.0, plan)
}

/// A run without requirements in which, if `on`, the given faults strike.
fn told(protocol: &str, seed: u64, params: Params, on: bool, faults: Vec<PlannedFault>) -> Result<Plan, Failed> {
    let mut plan = compiled("steady", protocol, seed, &Params { read_lease: Some(false), ..params })?;
    plan.requires.clear();
    if on {
        plan.faults = faults;
    }
    Ok(plan)
}

fn lasting(duration_ms: u64, nodes: u16) -> Params {
    Params { duration_ms: Some(duration_ms), nodes, ..light() }
}

fn named(number: u16) -> Who {
    Who::Named(format!("n{number}"))
}

/// A partition between two groups.
fn cut(ms: f64, (from, to): (Vec<Who>, Vec<Who>), one_way: bool, for_ms: f64) -> PlannedFault {
    at_ms(ms, Fault::Partition { from, to, one_way, for_ms: Some(for_ms) })
}

/// At the first passage of `point` by one of `node` after `from_ms`.
fn at_point(point: Point, node: Who, from_ms: f64, what: Fault) -> PlannedFault {
    let point = point.name().to_owned();
    let after = Some(Box::new(Trigger::At { ms: from_ms }));
    PlannedFault {
        when: Trigger::Passage { point, node, nth: 1, after, delay_ms: 0.0, matching: None },
        what,
        group: 0,
    }
}

/// All nodes lose power on disks that acknowledge syncs without saving, or merely crash, which loses nothing.
fn disks_lie(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let (node, restart_after_ms) = (Who::Candidates, Some(50.0));
    let down = match on {
        true => Fault::PowerLoss { node, restart_after_ms },
        false => Fault::Kill { node, restart_after_ms },
    };
    let lie = Fault::SyncFail { node: Who::Candidates, silent: true, for_ms: None };
    told(protocol, seed, lasting(14_000, 3), true, vec![at_ms(0.0, lie), at_ms(8_000.0, down)])
}

/// The leader dies, and the other two stand at once. The first to vote for itself loses power before it sends the vote;
/// when it is back, the other repeatedly asks it for that vote.
fn voter_dark(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let kill = Fault::Kill { node: Who::Leader, restart_after_ms: Some(10_000.0) };
    let pause = Fault::Pause { node: Who::Candidates, for_ms: 3_000.0 };
    let dark = Fault::PowerLoss { node: Who::Trigger, restart_after_ms: Some(50.0) };
    let faults =
        vec![at_ms(6_000.0, kill), at_ms(6_002.0, pause), at_point(Point::Voted, Who::Candidates, 6_000.0, dark)];
    // A candidate keeps asking for longer than a request takes.
    let patient = Params { election_timeout_ms: Some((4_000, 4_001)), lease_ttl_ms: Some(1_000), ..lasting(20_000, 3) };
    let params = if protocol == "kraft" { patient } else { lasting(20_000, 3) };
    let mut plan = told(protocol, seed, params, on, faults)?;
    plan.liveness_bound_ms = 20_000;
    Ok(plan)
}

/// Only `n1` has accepted the first epoch of `n5`, which dies. The others begin with that epoch again, and then meet
/// `n1`.
fn epoch_twice(seed: u64, on: bool) -> Result<Plan, Failed> {
    let first = |what| at_point(Point::Voted, named(1), 0.0, what);
    let hang = |number| at_ms(0.0, Fault::SyncHang { node: named(number), for_ms: Some(1_000.0) });
    let back = |number| first(Fault::Kill { node: named(number), restart_after_ms: Some(100.0) });
    let mut faults: Vec<PlannedFault> = (2..=4).map(hang).chain((2..=4).map(back)).collect();
    let others = vec![named(2), named(3), named(4)];
    faults.extend([
        first(Fault::PowerLoss { node: named(1), restart_after_ms: Some(100.0) }),
        first(Fault::Kill { node: named(5), restart_after_ms: None }),
        first(Fault::Partition { from: vec![named(1)], to: others, one_way: false, for_ms: Some(3_000.0) }),
    ]);
    let mut plan = told("zab-fle", seed, lasting(10_000, 5), on, faults)?;
    plan.candidates.iter_mut().for_each(|candidate| candidate.starts_at_ms = 100);
    Ok(plan)
}

/// The followers lose power right after they acknowledged the first entry of the leader's term. A follower that lost
/// what it acknowledged cannot be led any more. Whether there is another election depends on who is back first.
fn log_lost(seed: u64, on: bool) -> Result<Plan, Failed> {
    let dark = Fault::PowerLoss { node: Who::Followers, restart_after_ms: Some(50.0) };
    told("raft", seed, lasting(8_000, 3), on, vec![at_point(Point::AfterElected, Who::Candidates, 0.0, dark)])
}

/// Only the first to start is up to stand, and dies with its vote on disk: it must stand again in the same epoch.
fn stands_again(seed: u64, on: bool) -> Result<Plan, Failed> {
    let timings = Params { election_timeout_ms: Some((3_000, 3_001)), ..lasting(12_000, 3) };
    let back = Fault::Kill { node: named(1), restart_after_ms: Some(20.0) };
    let mut plan = told("kraft", seed, timings, on, vec![at_point(Point::Voted, named(1), 0.0, back)])?;
    plan.candidates[1..].iter_mut().for_each(|candidate| candidate.starts_at_ms = 2_500);
    Ok(plan)
}

/// The leader, `n1`, is cut off. `n3`, which restarted just before, has not heard from it since and votes for `n2`.
/// Then `n1` and `n3` meet: `n1` learns not of an election but of its winner, and not from the store either.
fn follows_successor(seed: u64, on: bool) -> Result<Plan, Failed> {
    let faults = vec![
        at_ms(5_730.0, Fault::Kill { node: named(3), restart_after_ms: Some(100.0) }),
        cut(5_750.0, (vec![named(1)], vec![named(2), Who::Store]), false, 12_000.0),
        cut(5_750.0, (vec![named(1)], vec![named(3)]), false, 2_150.0),
    ];
    let params = Params { election_timeout_ms: Some((1_000, 1_001)), ..lasting(18_000, 3) };
    let mut plan = told("kraft", seed, params, on, faults)?;
    for (candidate, starts_at_ms) in plan.candidates.iter_mut().zip([0, 900, 900]) {
        candidate.starts_at_ms = starts_at_ms;
    }
    (plan.dual_belief_bound_ms, plan.liveness_bound_ms) = (Some(1_500.0), 18_000);
    Ok(plan)
}

/// `n1` begins to follow, is cut off with its connect in flight, and follows over another connection when `n2` dies.
/// Then the old connect arrives; the leader must not take it for a new one.
fn stray_connect(seed: u64, on: bool) -> Result<Plan, Failed> {
    let faults = vec![
        cut(3_100.0, (vec![named(1)], vec![named(3)]), true, 3_100.0),
        at_ms(8_500.0, Fault::Kill { node: named(2), restart_after_ms: None }),
    ];
    let mut plan = told("zab-fle", seed, Params { lease_ttl_ms: Some(1_000), ..lasting(14_000, 3) }, on, faults)?;
    (plan.network.latency_us, plan.network.jitter_us) = (20_000, 0);
    plan.candidates[0].starts_at_ms = 3_000;
    Ok(plan)
}

/// Only `n3` has begun its epoch when it loses power. The other nodes elect `n2`, which waits for the disk of `n1`; the
/// return of `n3` does not help, since it is ahead.
fn follower_ahead(seed: u64, on: bool) -> Result<Plan, Failed> {
    let voted = at_point(Point::Voted, named(2), 0.0, cut(0.0, (vec![named(3)], vec![named(2)]), true, 800.0).what);
    let faults = vec![
        voted,
        at_ms(0.0, Fault::SyncHang { node: named(1), for_ms: Some(7_000.0) }),
        at_ms(1_000.0, Fault::PowerLoss { node: named(3), restart_after_ms: Some(2_500.0) }),
        at_ms(1_200.0, Fault::Kill { node: named(2), restart_after_ms: Some(100.0) }),
    ];
    let mut plan = told("zab-fle", seed, Params { lease_ttl_ms: Some(4_000), ..lasting(12_000, 3) }, on, faults)?;
    plan.candidates[0].starts_at_ms = 1_500;
    plan.liveness_bound_ms = 12_000;
    Ok(plan)
}

/// A leader with a slow clock has just heard from its followers; they restart, and it hears no more from them.
fn lease_forgotten(seed: u64, on: bool) -> Result<Plan, Failed> {
    let renewed = |what| at_point(Point::Renewed, Who::Leader, 5_000.0, what);
    let apart =
        Fault::Partition { from: vec![Who::Trigger], to: vec![Who::Followers], one_way: false, for_ms: Some(3_000.0) };
    let faults = vec![
        at_ms(4_000.0, Fault::ClockRate { node: Who::Leader, ppm: -300_000, for_ms: Some(6_000.0) }),
        renewed(apart),
        renewed(Fault::Kill { node: Who::Followers, restart_after_ms: Some(1.0) }),
    ];
    told("raft", seed, lasting(12_000, 3), on, faults)
}

/// Of a leader's two followers, one does not hear it and stands in vain; the other has just renewed its lease when it
/// restarts, cut off from the leader. It must not vote before that lease ends.
fn voter_forgets(seed: u64, on: bool) -> Result<Plan, Failed> {
    let renewed = |what| at_point(Point::Renewed, named(1), 6_000.0, what);
    let apart = Fault::Partition { from: vec![named(1)], to: vec![named(2)], one_way: false, for_ms: Some(3_000.0) };
    let faults = vec![
        at_ms(1_500.0, Fault::Transfer { node: Who::Leader, to: named(1) }),
        cut(3_000.0, (vec![named(1)], vec![named(3)]), false, 9_000.0),
        renewed(apart),
        renewed(Fault::Kill { node: named(2), restart_after_ms: Some(1.0) }),
    ];
    told("raft-core", seed, lasting(14_000, 3), on, faults)
}

/// The leader's messages are lost; messages to it are not.
fn mute_from(ms: f64, for_ms: f64) -> PlannedFault {
    cut(ms, (vec![Who::Leader], vec![Who::Followers]), true, for_ms)
}

fn mute_leader(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    told(protocol, seed, lasting(16_000, 3), on, vec![mute_from(5_000.0, 7_000.0)])
}

/// The leader's clock is so slow, and the others' so fast, that its lease has not ended when it hears of a successor; a
/// majority may have acknowledged that one a trip earlier. Every node leads once before, so that all connections exist:
/// a mute node accepts no new ones. The load is light, so that the store does not tell it sooner.
fn mute_raft(seed: u64, on: bool) -> Result<Plan, Failed> {
    let transfer = |number: u16| {
        let to_each = Fault::Transfer { node: Who::Leader, to: named(number) };
        at_ms(1_700.0 + 300.0 * f64::from(number), to_each)
    };
    let rate = |node, ppm| at_ms(4_000.0, Fault::ClockRate { node, ppm, for_ms: Some(8_000.0) });
    let mut faults: Vec<PlannedFault> = (1..=3).map(transfer).collect();
    faults.extend([rate(Who::Leader, -500_000), rate(Who::Followers, 500_000), mute_from(5_000.0, 7_000.0)]);
    let mut plan = told("raft", seed, Params { rate: 10, ..lasting(14_000, 3) }, on, faults)?;
    plan.dual_belief_bound_ms = Some(1.0);
    if on {
        plan.requires = vec![Requirement { fact: Fact::ElectedWhileCutOff, at_least: 1 }];
    }
    Ok(plan)
}

/// Dual belief has no promised bound here, but each hears of the other within a heartbeat or two.
fn mute_bully(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = mute_leader(seed, on, "bully")?;
    plan.dual_belief_bound_ms = Some(3_000.0);
    Ok(plan)
}

/// Answers to a leader's pings arrive two thirds of a lease late, even after it has fallen mute.
fn late_pongs(seed: u64, on: bool) -> Result<Plan, Failed> {
    let (from, to) = (vec![Who::Followers], vec![Who::Leader]);
    let late = Fault::Latency { from, to, extra_us: 2_000_000, for_ms: Some(12_000.0) };
    let params = Params { lease_ttl_ms: Some(3_000), ..lasting(18_000, 3) };
    told("zab-fle", seed, params, on, vec![at_ms(3_000.0, late), mute_from(8_000.0, 6_000.0)])
}

/// Four candidates, two on each side, at the start and once later: nobody may win, and a leader must stop.
fn halves(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let sides = || (vec![named(1), named(2)], vec![named(3), named(4)]);
    let faults = vec![cut(0.0, sides(), false, 5_000.0), cut(9_000.0, sides(), false, 9_000.0)];
    let lease_ttl_ms = matches!(protocol, "zab-fle" | "stonith").then_some(3_000);
    let mut plan = told(protocol, seed, Params { lease_ttl_ms, ..lasting(20_000, 4) }, on, faults)?;
    plan.liveness_bound_ms = 20_000;
    Ok(plan)
}

/// Five candidates; each handover names one that would not win otherwise.
fn named_successor(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut ms = 3_000.0;
    let faults = [5, 4, 5, 4, 3].map(|number| {
        ms += 1_500.0;
        at_ms(ms, Fault::Transfer { node: Who::Leader, to: named(number) })
    });
    let mut plan = told("raft", seed, lasting(13_000, 5), on, faults.into())?;
    if on {
        // One transfer may name the current leader.
        plan.requires = vec![Requirement { fact: Fact::TransfersWon, at_least: 4 }];
    }
    Ok(plan)
}

/// One of two nodes has the other's power cut, whose last writes take nearly as long as the protocol assumes at most.
fn shot_in_flight(seed: u64, on: bool) -> Result<Plan, Failed> {
    let slow =
        Fault::Latency { from: vec![Who::Leader], to: vec![Who::Store], extra_us: 150_000, for_ms: Some(12_000.0) };
    let apart = cut(5_000.0, (vec![Who::Leader], vec![Who::Followers, Who::Service]), false, 9_000.0);
    told("stonith", seed, lasting(18_000, 2), on, vec![at_ms(4_500.0, slow), apart])
}

/// Leaders resign one after the other, and the laps of candidates overtake each other. Messages out of order wait to be
/// resent; none is lost.
fn reordered(seed: u64, on: bool, protocol: &str) -> Result<Plan, Failed> {
    let resign = |place: u32| at_ms(5_000.0 + 2_000.0 * f64::from(place), Fault::Resign { node: Who::Leader });
    let mut plan = told(protocol, seed, lasting(18_000, 5), true, (0..6).map(resign).collect())?;
    plan.network.reorder = if on { 0.3 } else { 0.0 };
    Ok(plan)
}
