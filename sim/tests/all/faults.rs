//! Each kind of fault has an effect: a fault without effect would prove everything.

use crate::common::{run, run_with_history};
use protocols::{election, history::FaultKind};
use reports::Verdict;
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    generate, scenario,
};
use sim::run::Options;
use std::collections::BTreeSet;

/// A steady run with `faults`, each at its time in milliseconds.
fn plan(protocol: &str, seed: u64, faults: Vec<(f64, Fault)>) -> Plan {
    let params = Params { rate: 100, duration_ms: Some(20_000), read_lease: Some(false), ..Params::default() };
    let steady = scenario::find("steady").expect("a scenario");
    let protocol = election::find(protocol).expect("a protocol");
    let mut plan = steady.compile(&params, protocol, seed).expect("the parameters make sense");
    plan.requires = Vec::new();
    plan.faults =
        faults.into_iter().map(|(ms, what)| PlannedFault { when: Trigger::At { ms }, what, group: 0 }).collect();
    plan.validate().expect("the plan makes sense");
    plan
}

/// A run's events, without the faults and the number of events.
fn story(plan: &Plan) -> Vec<String> {
    let (_, history) = run_with_history(plan, Options::default());
    let is_effect =
        |line: &&str| !["\"fault\"", "\"clock\"", "\"end\""].iter().any(|e| line.contains(&format!("\"event\":{e}")));
    history.lines().skip(1).filter(is_effect).map(str::to_owned).collect()
}

/// The elections, with times in milliseconds.
fn elections(plan: &Plan) -> Vec<(u64, String)> {
    let events = story(plan).into_iter().map(|line| serde_json::from_str::<serde_json::Value>(&line).expect("JSON"));
    let elected = events.filter(|event| event["event"] == "elected");
    elected
        .map(|event| {
            (event["t_us"].as_u64().expect("a time") / 1_000, event["node"].as_str().unwrap_or_default().to_owned())
        })
        .collect()
}

fn leader() -> Who {
    Who::Leader
}

#[test]
fn every_kind_of_fault_changes_what_happens() {
    let for_ms = Some(2_000.0);
    let others = || (vec![Who::Leader], vec![Who::Followers]);
    let two = |make: fn(Vec<Who>, Vec<Who>) -> Fault| make(others().0, others().1);
    let kill = || Fault::Kill { node: leader(), restart_after_ms: None };
    let asleep = || Fault::Pause { node: leader(), for_ms: 10_000.0 };
    let cloud = || Fault::CloudDevice { node: Who::Service, stopping_ms: 3_000.0, throttle_ms: 500.0, for_ms: None };
    let back = Some(20.0);
    let restored = || Fault::RestoreCopy { node: Who::Service, copied_at_ms: 1_000.0, restart_after_ms: back };
    let cases: Vec<(&str, Vec<Fault>)> = vec![
        ("raft", vec![Fault::Pause { node: leader(), for_ms: 2_000.0 }]),
        ("raft", vec![kill()]),
        ("redis-lease", vec![Fault::PowerLoss { node: leader(), restart_after_ms: for_ms }]),
        ("raft", vec![kill(), Fault::Restart { node: Who::Candidates }]),
        ("raft", vec![two(|from, to| Fault::Partition { from, to, one_way: false, for_ms: Some(2_000.0) })]),
        ("raft", vec![two(|from, to| Fault::Latency { from, to, extra_us: 400_000, for_ms: Some(2_000.0) })]),
        ("bully", vec![two(|from, to| Fault::Loss { from, to, probability: 1.0, for_ms: Some(6_000.0) })]),
        ("kraft", vec![Fault::SlowDisk { node: Who::Candidates, extra_us: 500_000, for_ms: None }, kill()]),
        ("kraft", vec![Fault::SyncHang { node: Who::Candidates, for_ms: None }, kill()]),
        ("kraft", vec![Fault::SyncFail { node: Who::Candidates, silent: false, for_ms: None }, kill()]),
        ("redis-lease", vec![Fault::ClockStep { node: Who::Service, by_ms: 10_000 }]),
        ("redis-lease", vec![Fault::ClockRate { node: leader(), ppm: -500_000, for_ms: None }]),
        ("raft", vec![Fault::Resign { node: leader() }]),
        ("raft", vec![Fault::Transfer { node: leader(), to: Who::Followers }]),
        ("raft", vec![kill(), Fault::Join { node: Who::Candidates }]),
        ("raft", vec![Fault::Leave { node: leader() }]),
        ("etcd-election", vec![Fault::DropLease { node: leader() }]),
        ("redis-fenced", vec![Fault::DropKey { node: leader() }]),
        ("redis-fenced", vec![Fault::ForgeToken { node: leader() }]),
        ("bully", vec![Fault::ForgeClaim { node: Who::Named("n1".to_owned()), to: vec![leader()] }]),
        ("stonith", vec![Fault::RogueFence { node: leader(), by: Who::Followers }]),
        ("stonith", vec![Fault::LyingDevice { node: Who::Service, for_ms: None }, asleep()]),
        ("stonith", vec![cloud(), asleep()]),
        ("lowest-id", vec![Fault::Bandwidth { node: leader(), kbps: 1, for_ms: None }]),
        ("redis-fenced", vec![Fault::LoseData { node: Who::Service, restart_after_ms: back }]),
        ("redis-fenced", vec![restored(), kill()]),
        ("k8s-lease", vec![Fault::Hang { from: vec![Who::Followers], to: vec![Who::Service], for_ms: None }, kill()]),
    ];
    let mut seen = BTreeSet::new();
    for (protocol, faults) in cases {
        let struck = |left: usize| {
            let times = (0..).map(|place| 8_000.0 + f64::from(place));
            plan(protocol, 7, times.zip(faults.iter().take(left).cloned()).collect())
        };
        // The fault that the case is about: its only one, or the only one that is not a plain kill.
        let about = faults.iter().find(|what| faults.len() == 1 || what.kind() != FaultKind::Kill).expect("a fault");
        seen.insert(about.kind());
        let mut without = struck(faults.len());
        without.faults.retain(|planned| planned.what.kind() != about.kind());
        assert_ne!(story(&struck(faults.len())), story(&without), "{} does nothing", about.kind());
    }
    let known: BTreeSet<FaultKind> = generate::kinds().map(|(kind, _)| kind.into()).collect();
    assert_eq!(seen, known);
}

#[test]
fn nobody_votes_while_no_sync_ends() {
    for protocol in ["kraft", "raft", "zab-fle"] {
        let hang = Fault::SyncHang { node: Who::Followers, for_ms: Some(8_000.0) };
        let kill = Fault::Kill { node: leader(), restart_after_ms: None };
        let healthy = elections(&plan(protocol, 3, vec![(8_010.0, kill.clone())]));
        let hung = elections(&plan(protocol, 3, vec![(8_000.0, hang), (8_010.0, kill)]));
        let first_after = |elected: &[(u64, String)]| elected.iter().map(|(ms, _)| *ms).find(|ms| *ms > 8_010);
        assert!(first_after(&healthy).is_some_and(|ms| ms < 16_000), "{protocol}: {healthy:?}");
        assert!(first_after(&hung).is_some_and(|ms| ms >= 16_000), "{protocol}: {hung:?}");
    }
}

#[test]
fn a_process_whose_state_cannot_be_saved_ends_and_begins_anew() {
    for protocol in ["kraft", "zab-fle"] {
        let fail = Fault::SyncFail { node: Who::Followers, silent: false, for_ms: Some(8_000.0) };
        let kill = Fault::Kill { node: leader(), restart_after_ms: None };
        let plan = plan(protocol, 3, vec![(5_000.0, fail), (5_010.0, kill)]);
        let down = story(&plan).iter().filter(|line| line.contains("\"state\":\"down\"")).count();
        assert!(down > 1, "{protocol}: {down} processes went down");
        assert_eq!(run(&plan).judgement.verdict, Verdict::Pass, "{protocol}");
    }
}

#[test]
fn raft_goes_on_from_its_disk_after_syncs_that_failed_and_a_loss_of_power() {
    for seed in 0..6 {
        let fail = Fault::SyncFail { node: Who::Candidates, silent: false, for_ms: Some(3_000.0) };
        let resign = |ms| (ms, Fault::Resign { node: leader() });
        let dark = Fault::PowerLoss { node: Who::Candidates, restart_after_ms: Some(200.0) };
        let faults = vec![resign(4_000.0), (5_000.0, fail), resign(5_001.0), resign(9_000.0), (11_000.0, dark)];
        let plan = plan("raft", seed, faults);
        let terms: Vec<u64> = story(&plan)
            .iter()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
            .filter(|event| event["event"] == "elected")
            .map(|event| event["token"].as_u64().expect("a term"))
            .collect();
        assert!(terms.len() >= 4 && terms.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}: {terms:?}");
    }
}

#[test]
fn who_loses_its_lease_or_key_is_replaced_and_believes_for_a_while() {
    let node = leader;
    for (protocol, what) in [
        ("etcd-election", Fault::DropLease { node: node() }),
        ("etcd-election", Fault::DropKey { node: node() }),
        ("redis-naive", Fault::DropKey { node: node() }),
        ("redis-lease", Fault::DropKey { node: node() }),
        ("redis-fenced", Fault::DropKey { node: node() }),
    ] {
        let mut most = 0;
        for seed in 0..8 {
            let plan = plan(protocol, seed, vec![(8_000.0, what.clone())]);
            let elected = elections(&plan);
            assert!(elected.len() >= 2 && elected[1].0 >= 8_000, "{protocol}, {what}: {elected:?}");
            most = most.max(run(&plan).judgement.metrics.leaders_believing_max);
        }
        // Depending on the phase of its renewal, a leader may learn of it first. etcd's candidates watch their keys.
        assert!(most >= if protocol == "etcd-election" { 1 } else { 2 }, "{protocol}, {what}: {most}");
    }
}

#[test]
fn a_service_that_is_down_drops_nothing() {
    let down = Fault::Kill { node: Who::Service, restart_after_ms: Some(500.0) };
    let drop = Fault::DropKey { node: Who::Named("n1".to_owned()) };
    let both = plan("redis-fenced", 1, vec![(8_000.0, down.clone()), (8_100.0, drop)]);
    assert_eq!(story(&both), story(&plan("redis-fenced", 1, vec![(8_000.0, down)])));
}
