//! Raft under kills, power losses of all nodes, partitions, clock errors, slow disks, transfers, and membership
//! changes. Two nodes never believe at once, and terms only increase.

use crate::common::run_with_history;
use protocols::election;
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};
use sim::run::Options;
use std::collections::BTreeMap;

/// A plan with only `faults`, until 3 s after the last one.
fn plan(nodes: u16, seed: u64, faults: Vec<(f64, Fault)>) -> Plan {
    let last_ms = faults.iter().map(|(ms, _)| *ms as u64).max().unwrap_or(0);
    let params = Params { nodes, rate: 100, duration_ms: Some(last_ms + 3_000), ..Params::default() };
    let steady = scenario::find("steady").expect("a scenario");
    let mut plan = steady.compile(&params, &election::raft::PROTOCOL, seed).expect("the parameters make sense");
    plan.faults =
        faults.into_iter().map(|(ms, what)| PlannedFault { when: Trigger::At { ms }, what, group: 0 }).collect();
    plan
}

fn named(name: &str) -> Who {
    Who::Named(name.to_owned())
}

fn cut(from: Vec<Who>, to: Vec<Who>, one_way: bool, for_ms: f64) -> Fault {
    Fault::Partition { from, to, one_way, for_ms: Some(for_ms) }
}

/// The leaders in a history.
struct Reigns {
    /// Term and node of every election, in order.
    elected: Vec<(u64, String)>,
    /// Who joined (`true`) or left, and when, in milliseconds.
    members: Vec<(u64, String, bool)>,
    /// When each election took place, in milliseconds.
    at_ms: Vec<u64>,
}

/// Runs a plan, which must hold every invariant, and checks that no two nodes believed at once and that terms
/// increased.
fn reigns(plan: &Plan) -> Reigns {
    plan.validate().expect("the plan makes sense");
    let (run, history) = run_with_history(plan, Options::default());
    let name = format!("{} nodes, seed {}", plan.candidates.len(), plan.seed);
    assert_eq!(run.judgement.verdict.name(), "pass", "{name}:\n{history}");
    let (mut elected, mut members, mut at_ms) = (Vec::<(u64, String)>::new(), Vec::new(), Vec::new());
    let mut believers = BTreeMap::new();
    for line in history.lines() {
        let event: serde_json::Value = serde_json::from_str(line).expect("a history is JSON lines");
        let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
        let (ms, node) = (event["t_us"].as_u64().unwrap_or_default() / 1_000, text("node"));
        match (event["event"].as_str().unwrap_or_default(), text("state").as_str()) {
            ("elected", _) => {
                let term = event["token"].as_u64().expect("a term");
                assert_eq!(believers.insert(node.clone(), term), None, "{name}, {ms} ms: {node} is elected twice");
                assert_eq!(believers.len(), 1, "{name}, {ms} ms: {believers:?} believe at one time");
                if let Some((before, _)) = elected.last() {
                    assert!(term > *before, "{name}, {ms} ms: term {term} after term {before}");
                }
                elected.push((term, node));
                at_ms.push(ms);
            }
            ("deposed", _) | ("node", "down" | "off") => drop(believers.remove(&node)),
            ("node", state @ ("joined" | "left")) => members.push((ms, node, state == "joined")),
            _ => {}
        }
    }
    Reigns { elected, members, at_ms }
}

fn followers_from_leader(one_way: bool, for_ms: f64) -> Fault {
    cut(vec![Who::Leader], vec![Who::Followers], one_way, for_ms)
}

#[test]
fn a_killed_leader_is_followed_by_one_of_a_later_term() {
    for (nodes, seed) in [(3, 0), (3, 1), (3, 2), (5, 3), (5, 4), (7, 5), (9, 6)] {
        let kill = |ms| (ms, Fault::Kill { node: Who::Leader, restart_after_ms: Some(400.0) });
        let reigns = reigns(&plan(nodes, seed, vec![kill(1_500.0), kill(3_500.0), kill(5_500.0)]));
        assert!(reigns.elected.len() >= 4, "{nodes} nodes, seed {seed}: {:?}", reigns.elected);
    }
}

#[test]
fn everybody_loses_power_and_comes_back_to_a_later_term() {
    for (nodes, seed) in [(1, 0), (3, 1), (3, 2), (3, 3), (5, 4), (5, 5)] {
        let dark = |ms| (ms, Fault::PowerLoss { node: Who::Candidates, restart_after_ms: Some(150.0) });
        // Once while a leader reigns, and again in the middle of the following election.
        let faults = vec![dark(1_500.0), dark(4_500.0), dark(4_500.0 + 150.0 + 300.0 + 170.0 + 7.0 * seed as f64)];
        let reigns = reigns(&plan(nodes, seed, faults));
        let (before, after) = (reigns.at_ms.first(), reigns.at_ms.last());
        assert!(before < Some(&1_500) && after > Some(&5_000), "{nodes} nodes, seed {seed}: {:?}", reigns.at_ms);
    }
}

#[test]
fn a_leader_that_is_cut_off_has_stopped_believing_before_another_begins() {
    for seed in 0..12 {
        let faults = vec![
            (1_500.0, followers_from_leader(false, 1_200.0)),
            (4_500.0, followers_from_leader(true, 1_200.0)),
            // Too short for a successor, but long enough for the belief to end.
            (7_500.0, followers_from_leader(false, 300.0 + 20.0 * seed as f64)),
        ];
        let mut plan = plan([3, 5][seed as usize % 2], seed, faults);
        // The bound allows for 10 % of clock error.
        for (index, candidate) in plan.candidates.iter_mut().enumerate() {
            candidate.rate_ppm = if index % 2 == 0 { 45_000 } else { -45_000 };
        }
        let reigns = reigns(&plan);
        assert!(reigns.elected.len() >= 3, "seed {seed}: {:?}", reigns.elected);
    }
}

#[test]
fn a_follower_that_restarts_does_not_break_the_promise_it_gave_the_leader() {
    for seed in 0..20 {
        let mut plan = plan(3, seed, Vec::new());
        plan.duration_ms = 4_000;
        let leader = run_leader(&plan);
        let others: Vec<String> = plan.candidates.iter().map(|c| c.name.clone()).filter(|n| *n != leader).collect();
        let (lonely, forgetful) = (named(&others[0]), named(&others[1]));
        let at = |ms, what| PlannedFault { when: Trigger::At { ms }, what, group: 0 };
        plan.faults = vec![
            // One follower is cut off past its election timeout, and keeps standing ...
            at(1_500.0, cut(vec![lonely.clone()], vec![named(&leader)], false, 1_500.0)),
            // ... and the other, which has just acknowledged the leader, dies and restarts at once.
            at(1_950.0 + 10.0 * seed as f64, cut(vec![forgetful.clone()], vec![named(&leader)], false, 1_000.0)),
            at(1_951.0 + 10.0 * seed as f64, Fault::Kill { node: forgetful, restart_after_ms: Some(2.0) }),
        ];
        let reigns = reigns(&plan);
        assert!(reigns.elected.len() >= 2, "seed {seed}: {:?}", reigns.elected);
    }
}

/// The first leader of a plan without faults.
fn run_leader(plan: &Plan) -> String {
    reigns(plan).elected.first().expect("somebody leads").1.clone()
}

#[test]
fn leadership_goes_to_whom_it_is_handed() {
    for seed in 0..6 {
        let steady = plan(5, seed, Vec::new());
        let first = run_leader(&steady);
        let heir = steady.candidates.iter().map(|c| c.name.clone()).find(|n| *n != first).expect("another");
        let faults = vec![
            (1_500.0, Fault::Transfer { node: Who::Leader, to: named(&heir) }),
            (2_500.0, Fault::Resign { node: Who::Leader }),
        ];
        let reigns = reigns(&plan(5, seed, faults));
        assert_eq!(reigns.elected[1].1, heir, "seed {seed}: {:?}", reigns.elected);
        assert_ne!(reigns.elected[2].1, heir, "seed {seed}: {:?}", reigns.elected);
        assert!(reigns.at_ms[1] < 1_550 && reigns.at_ms[2] < 2_550, "seed {seed}: {:?}", reigns.at_ms);
    }
}

#[test]
fn the_only_node_gives_up_by_starting_a_new_term() {
    let reigns = reigns(&plan(1, 1, vec![(1_500.0, Fault::Resign { node: Who::Leader })]));
    assert_eq!(reigns.elected.len(), 2, "{:?}", reigns.elected);
}

#[test]
fn members_come_and_go_the_leader_too() {
    for seed in 0..6 {
        let mut faults = vec![
            (1_500.0, Fault::Join { node: named("n4") }),
            (3_000.0, Fault::Join { node: named("n5") }),
            (4_500.0, Fault::Leave { node: named("n1") }),
            (6_000.0, Fault::Leave { node: Who::Leader }),
        ];
        // Two of the remaining three are enough.
        faults.push((8_500.0, Fault::Kill { node: Who::Leader, restart_after_ms: Some(2_000.0) }));
        let mut plan = plan(5, seed, faults);
        plan.candidates[3].joins_later = true;
        plan.candidates[4].joins_later = true;
        let reigns = reigns(&plan);
        let changes: Vec<(&str, bool)> =
            reigns.members.iter().map(|(_, node, joined)| (node.as_str(), *joined)).collect();
        assert_eq!(changes[..3], [("n4", true), ("n5", true), ("n1", false)], "seed {seed}");
        assert_eq!(changes.len(), 4, "seed {seed}: {changes:?}");
        let (last_ms, last) = (reigns.at_ms.last(), &reigns.elected.last().expect("somebody leads").1);
        assert!(last_ms > Some(&8_500), "seed {seed}: {:?}", reigns.elected);
        assert!(!changes[2..].iter().any(|(gone, _)| gone == last), "seed {seed}: {last} leads and is no member");
    }
}

#[test]
fn slow_disks_and_lost_segments_delay_elections_only() {
    for seed in 0..6 {
        let faults = vec![
            (500.0, Fault::SlowDisk { node: Who::Candidates, extra_us: 20_000, for_ms: Some(5_000.0) }),
            (1_500.0, Fault::Kill { node: Who::Leader, restart_after_ms: Some(700.0) }),
            (4_000.0, Fault::PowerLoss { node: Who::Leader, restart_after_ms: Some(100.0) }),
        ];
        let reigns = reigns(&plan(3, seed, faults));
        assert!(reigns.elected.len() >= 3, "seed {seed}: {:?}", reigns.elected);
    }
}
