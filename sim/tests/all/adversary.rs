//! Adversaries, full links, untrustworthy fencing devices, and the token counter that protects against most of them:
//! what holds, and what breaks.

use crate::common::run;
use protocols::election::{self, Protocol, stonith::ACCEPTED_IS_STOPPED, token_counter::FENCED};
use reports::{Judgement, Verdict};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};
use sim::{
    registry::Registry,
    sweep::{Sizes, Sweep},
};

fn params() -> Params {
    Params { rate: 100, read_lease: Some(false), ..Params::default() }
}

fn plan(scenario: &str, protocol: &str, params: &Params, seed: u64) -> Plan {
    let protocol = election::find(protocol).expect("a protocol");
    scenario::find(scenario).expect("a scenario").compile(params, protocol, seed).expect("the parameters make sense")
}

fn judged(scenario: &str, protocol: &str, params: &Params, seed: u64) -> Judgement {
    run(&plan(scenario, protocol, params, seed)).judgement
}

/// The number of messages of a kind.
fn sent(judgement: &Judgement, kind: &str) -> u64 {
    judgement.metrics.messages_by_kind.get(kind).copied().unwrap_or_default()
}

#[test]
fn a_token_counter_ends_the_time_in_which_two_take_effect() {
    for (inner, fenced) in FENCED {
        for scenario in ["isolate-leader", "gc-pause"] {
            let [without, with] = [inner, fenced].map(|protocol| judged(scenario, protocol.name, &params(), 3));
            assert_eq!(without.verdict, Verdict::Safety, "{scenario} {inner:?}");
            assert!(without.metrics.dual_effect_ms > 0.0, "{scenario} {inner:?}");
            assert_eq!(with.verdict, Verdict::Pass, "{scenario} {fenced:?}");
            assert_eq!(with.metrics.dual_effect_ms, 0.0, "{scenario} {fenced:?}");
            assert!(with.metrics.writes_fenced > 0 && sent(&with, "draw") >= with.metrics.elections);
        }
    }
}

#[test]
fn what_protocols_with_a_token_counter_promise_is_kept() {
    let protocols: Vec<&'static Protocol> = FENCED.iter().map(|(_, fenced)| *fenced).collect();
    for fencing in [true, false] {
        let params = Params { fencing: fencing.into(), read_lease: None, ..params() };
        let (scenarios, protocols) = (scenario::ALL.to_vec(), protocols.clone());
        let (registry, sizes) = (&Registry::default(), Sizes::Of(vec![3]));
        let sweep =
            Sweep { registry, scenarios, protocols, sizes, seeds: 0..1, params: &params, shard: (1, 1), jobs: 2 };
        let outcome = sweep.run(|_| {}).expect("the parameters make sense");
        let why: Vec<_> =
            outcome.failures.iter().chain(&outcome.inconclusive).map(|f| format!("{}: {}", f.repro, f.why)).collect();
        assert!(why.is_empty(), "{}", why.join("\n"));
    }
}

#[test]
fn every_group_has_a_counter_of_its_own() {
    let params = Params { groups: 3, ..params() };
    let judgement = judged("isolate-leader", "lowest-id-fenced", &params, 1);
    assert_eq!(judgement.groups.len(), 3);
    for group in &judgement.groups {
        let elections = group.invariant("elections").expect("it is judged");
        assert!(elections.holds && elections.could_fail, "{}", elections.detail);
        assert_eq!(group.metrics.dual_effect_ms, 0.0);
    }
}

#[test]
fn a_forged_claim_costs_a_silence_and_one_each_silence_costs_everything() {
    for protocol in ["bully", "ring-lelann", "ring-chang-roberts", "lowest-id"] {
        let once = plan("adversary-forged-coordinator", protocol, &params(), 5);
        let run_once = run(&once).judgement;
        assert_eq!(run_once.verdict, Verdict::Pass, "{protocol}");
        let forged = once.faults.last().expect("a claim is forged").clone();
        let Trigger::At { ms } = forged.when else { panic!("it is forged at a time") };
        let mut unforged = once.clone();
        unforged.faults.pop();
        unforged.requires.clear();
        let calm = run(&unforged).judgement.metrics;
        assert_eq!(calm.elections + 1, run_once.metrics.elections, "{protocol}: the claim deposes, once");
        assert!(run_once.metrics.dark_ms > calm.dark_ms.map(|ms| ms + 2_000.0), "{protocol}");
        let mut again = once;
        again.faults.extend((1..12).map(|time| {
            let when = Trigger::At { ms: ((ms + 2_000.0 * f64::from(time)) * 1e3).round() / 1e3 };
            PlannedFault { when, ..forged.clone() }
        }));
        again.duration_ms += 24_000;
        assert_eq!(run(&again).judgement.verdict, Verdict::Liveness, "{protocol}");
    }
}

#[test]
fn heartbeats_that_share_a_full_link_cost_the_leader_its_office_and_others_do_not() {
    for protocol in ["redis-fenced", "etcd-election", "raft", "zab-fle", "kraft", "bully", "lowest-id", "swim"] {
        let elections = |params: &Params, narrow: bool| {
            let mut plan = plan("heartbeat-starved", protocol, params, 2);
            plan.requires.clear();
            if !narrow {
                plan.faults.clear();
            }
            run(&plan).judgement.metrics.elections
        };
        let apart = Params { control_apart: true, ..params() };
        let calm = elections(&params(), false);
        assert!(elections(&params(), true) > calm, "{protocol}: they share a link that is full");
        assert_eq!(elections(&apart, true), calm, "{protocol}: they have a link of their own");
    }
    let etcd = election::find("etcd-election").expect("a protocol");
    let steady = scenario::find("steady").expect("a scenario");
    let apart = Params { control_apart: true, ..params() };
    assert!(steady.compile(&apart, etcd, 1).is_err_and(|why| why.0.contains("--control-link means nothing")));
    let both = Params { bandwidth_mbps: Some(1), ..apart };
    assert!(steady.compile(&both, etcd, 1).is_ok());
}

#[test]
fn renewals_that_come_late_cost_the_leader_its_office_and_nothing_else() {
    for protocol in ["redis-fenced", "redis-lease", "db-row", "raft", "zab-fle"] {
        let judgement = judged("adversary-delayed-renewals", protocol, &params(), 4);
        assert_eq!((judgement.verdict, judgement.metrics.elections), (Verdict::Pass, 2), "{protocol}");
        assert_eq!(judgement.metrics.dual_effect_ms, 0.0, "{protocol}");
    }
}

#[test]
fn a_device_that_lies_lets_two_take_effect_and_an_honest_one_none() {
    for seed in 0..4 {
        let mut plan = plan("adversary-lying-device", "stonith", &params(), seed);
        assert!(run(&plan).judgement.metrics.dual_effect_ms > 0.0);
        plan.faults.retain(|planned| !matches!(planned.what, Fault::LyingDevice { .. }));
        plan.requires.clear();
        let honest = run(&plan).judgement;
        assert_eq!((honest.verdict, honest.metrics.dual_effect_ms), (Verdict::Pass, 0.0));
    }
}

#[test]
fn nobody_takes_over_before_a_cloud_provider_has_stopped_the_machine() {
    let mut throttled = 0;
    for seed in 0..4 {
        let judgement = judged("slow-fencing-device", "stonith", &params(), seed);
        assert_eq!(judgement.verdict, Verdict::Pass);
        assert!(sent(&judgement, "accepted") > 0, "the device is a cloud provider's");
        throttled += sent(&judgement, "throttled");
        let bugs = vec![&ACCEPTED_IS_STOPPED];
        let broken = judged("slow-fencing-device", "stonith", &Params { bugs, ..params() }, seed);
        assert_eq!(broken.verdict, Verdict::Safety);
        assert!(broken.metrics.dual_effect_ms > 0.0);
    }
    assert!(throttled > 0, "requests come too fast at times");
}

#[test]
fn devices_and_claims_are_only_of_protocols_that_have_them() {
    let refused = |protocol: &str, what: Fault| {
        let mut plan = plan("steady", protocol, &params(), 1);
        plan.faults.push(PlannedFault { when: Trigger::At { ms: 5_000.0 }, what, group: 0 });
        plan.validate().expect_err("it makes no sense").0
    };
    let claim = Fault::ForgeClaim { node: Who::Leader, to: vec![Who::Followers] };
    assert!(refused("raft", claim).contains("`raft` has no such message"));
    let lies = |node| Fault::LyingDevice { node, for_ms: None };
    assert!(refused("raft", lies(Who::Store)).contains("`raft` has none"));
    assert!(refused("stonith", lies(Who::Store)).contains("names `store`, which is not the device"));
    let rogue = Fault::RogueFence { node: Who::Store, by: Who::Followers };
    assert!(refused("stonith", rogue).contains("names `store`, which is not a candidate"));
    let none = Fault::Bandwidth { node: Who::Leader, kbps: 0, for_ms: None };
    assert!(refused("raft", none).contains("has kbps that is 0"));
}
