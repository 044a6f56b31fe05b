//! A copy of the data per node: what is lost if copies acknowledge alone, and that nothing is lost if a majority must
//! acknowledge.

use crate::common::{run, run_with_history};
use protocols::{copies::Copies, election};
use scenarios::{Params, Plan, scenario};
use sim::run::Options;

fn plan(scenario: &str, protocol: &str, copies: Copies, nodes: u16, seed: u64) -> Plan {
    let params = Params { rate: 100, nodes, copies: Some(copies), ..Params::default() };
    let (scenario, protocol) = (scenario::find(scenario).unwrap(), election::find(protocol).unwrap());
    scenario.compile(&params, protocol, seed).unwrap()
}

#[test]
fn two_sides_that_acknowledge_differ_from_the_first_number_after_the_cut() {
    for seed in 0..4 {
        let judgement = run(&plan("diverging-copies", "bully", Copies::Async, 3, seed)).judgement;
        let copies = judgement.metrics.copies.clone().expect("there are copies");
        assert_eq!(copies.writes_acknowledged, judgement.metrics.writes_accepted);
        // Both clients are served for about 11 s, minus the 3 s until the failure is detected; one of the two sides is
        // lost.
        assert!(copies.writes_lost > 100, "seed {seed}: {copies:?}");
        let first = copies.first_divergence.as_ref().expect("they differ");
        assert_eq!(first.resource, "sequence");
        let kept = first.kept.as_ref().expect("both sides took the number");
        assert_ne!(first.lost, *kept);
        assert!(!copies.still_diverged, "seed {seed}: the cut is healed, and the loser rewound: {copies:?}");
        assert!(copies.diverged_ms >= judgement.metrics.dual_effect_ms - 1_000.0, "seed {seed}: {copies:?}");
        // The copies count independently: no numbers are skipped from one copy to the other, and nothing is handed
        // over.
        let metrics = &judgement.metrics;
        assert!(metrics.seq_gaps < 10, "seed {seed}: {} numbers skipped", metrics.seq_gaps);
        let gaps = metrics.handoff_effect_gap_ms.iter().chain(&metrics.handoff_intent_gap_ms);
        assert!(gaps.copied().all(|gap_ms| gap_ms >= 0.0), "seed {seed}: {metrics:?}");
    }
}

#[test]
fn neither_a_quorum_nor_a_fencing_device_saves_what_only_one_copy_has() {
    for protocol in ["raft-core", "zab-fle", "stonith"] {
        let run = run(&plan("diverging-copies", protocol, Copies::Async, 3, 1));
        assert!(run.judgement.metrics.copies.as_ref().is_some_and(|copies| copies.writes_lost > 0), "{protocol}");
        assert_eq!(run.judgement.metrics.dual_effect_ms, 0.0, "{protocol}: two never led");
    }
}

#[test]
fn nothing_is_lost_that_a_majority_has_whatever_strikes() {
    let scenarios =
        ["isolate-leader", "gc-pause", "clean-kill", "power-outage", "rolling-restart", "flapping", "majority-copies"];
    for scenario in scenarios {
        for (protocol, nodes) in [("raft-core", 3), ("raft-core", 5), ("kraft", 3)] {
            for seed in 0..3 {
                let run = run(&plan(scenario, protocol, Copies::Majority, nodes, seed));
                let name = format!("{scenario}, {protocol}, {nodes} nodes, seed {seed}");
                let broken: Vec<_> = run.judgement.violated().collect();
                assert!(broken.is_empty(), "{name}: {broken:?}");
                assert!(run.judgement.metrics.copies.is_some_and(|copies| copies.writes_lost == 0), "{name}");
            }
        }
    }
}

#[test]
fn nothing_is_lost_while_nothing_goes_wrong() {
    for protocol in ["bully", "swim", "etcd-election", "redis-fenced"] {
        let run = run(&plan("steady", protocol, Copies::Async, 3, 5));
        let broken: Vec<_> = run.judgement.violated().collect();
        assert!(broken.is_empty(), "{protocol}: {broken:?}");
    }
}

#[test]
fn a_copy_survives_its_process_and_follows_when_that_is_back() {
    // All machines lose power at once: the copies still have their data afterwards.
    let (run, history) =
        run_with_history(&plan("power-outage", "raft-core", Copies::Majority, 3, 2), Options::default());
    let copies = run.judgement.metrics.copies.expect("there are copies");
    assert_eq!((copies.writes_lost, copies.still_diverged), (0, false));
    let promoted: Vec<&str> = history.lines().filter(|line| line.contains("\"event\":\"promoted\"")).collect();
    assert!(promoted.len() >= 2, "somebody leads before, and somebody after: {promoted:?}");
    assert!(promoted[1..].iter().all(|line| line.contains("\"after\"")), "nobody begins with nothing: {promoted:?}");
}
