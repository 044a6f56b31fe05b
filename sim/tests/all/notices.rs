//! Runs confirm which failures protocols promise to notice by themselves, and a false promise is detected.

use crate::common::run;
use protocols::election::{self, Bounds, Notice, Notices, Promise, Protocol, pg_advisory, redis_fenced, zab_fle};
use reports::{Judgement, Verdict};
use scenarios::{
    Params,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario::{self, Live, Promised},
};
use sim::promise;

fn light() -> Params {
    Params { rate: 50, read_lease: Some(false), ..Params::default() }
}

fn judged(scenario: &str, protocol: &Protocol, seed: u64) -> Judgement {
    let scenario = scenario::find(scenario).expect("a scenario of that name");
    run(&scenario.compile(&light(), protocol, seed).expect("the parameters make sense")).judgement
}

/// How a run in that scenario breaks the protocol's promise.
fn broken(scenario: &str, protocol: &Protocol, judgement: &Judgement) -> Option<String> {
    let scenario = scenario::find(scenario).expect("a scenario of that name");
    promise::broken(scenario::promised(scenario, protocol, &light()), &Bounds::default(), judgement)
}

fn acts_in_time(judgement: &Judgement) -> bool {
    judgement.invariant("liveness").expect("it is always judged").holds
}

#[test]
fn a_leader_that_cannot_work_is_replaced_where_that_is_promised_and_nowhere_else() {
    for scenario in ["leader-cannot-work", "leader-without-clients"] {
        for protocol in election::ALL {
            let judgement = judged(scenario, protocol, 1);
            let notices = protocol.notices.cannot_work != Notice::Never;
            assert_eq!(acts_in_time(&judgement), notices, "{scenario}, {}", protocol.name);
            assert_eq!(broken(scenario, protocol, &judgement), None, "{scenario}, {}", protocol.name);
        }
    }
}

#[test]
fn who_promises_to_notice_and_does_not_is_found_out_and_so_is_who_says_never_and_does() {
    const BOASTS: Protocol =
        Protocol { notices: Notices { cannot_work: Notice::AsDead, ..Notices::SILENCE }, ..redis_fenced::PROTOCOL };
    const MODEST: Protocol = Protocol { notices: Notices::SILENCE, ..pg_advisory::POOLED };
    for scenario in ["leader-cannot-work", "leader-without-clients"] {
        let judgement = judged(scenario, &redis_fenced::PROTOCOL, 1);
        let why = broken(scenario, &BOASTS, &judgement).expect("nobody acts");
        assert!(why.starts_with("no leader acted in time"), "{why}");
        let judgement = judged(scenario, &pg_advisory::POOLED, 1);
        let why = broken(scenario, &MODEST, &judgement).expect("somebody acts");
        assert!(why.starts_with("expected violations of liveness"), "{why}");
    }
}

/// The leader hears neither the service nor the others, but they hear it, for three times as long as any protocol may
/// take.
fn deaf(protocol: &Protocol, seed: u64) -> Judgement {
    let steady = scenario::find("steady").expect("a scenario of that name");
    let mut plan = steady.compile(&light(), protocol, seed).expect("the parameters make sense");
    let bound_ms = plan.liveness_bound_ms;
    let ms = (2 * bound_ms) as f64;
    let from = if protocol.elects_among_peers() { Who::Followers } else { Who::Service };
    let what = Fault::Partition {
        from: vec![from],
        to: vec![Who::Leader],
        one_way: true,
        for_ms: Some(3.0 * bound_ms as f64),
    };
    plan.faults = vec![PlannedFault { when: Trigger::At { ms }, what, group: 0 }];
    plan.duration_ms = 7 * bound_ms + 2_000;
    plan.requires.clear();
    run(&plan).judgement
}

#[test]
fn a_leader_that_hears_nobody_is_got_over_where_that_is_promised_and_nowhere_else() {
    for protocol in election::ALL {
        let in_time = (1..3).all(|seed| acts_in_time(&deaf(protocol, seed)));
        assert_eq!(in_time, protocol.notices.half_heard != Notice::Never, "{}", protocol.name);
    }
}

#[test]
fn a_run_in_which_nobody_gets_over_a_deaf_leader_is_no_pass_and_only_that_promise_excuses_it() {
    const BOASTS: Protocol = Protocol { notices: Notices::SILENCE, ..zab_fle::PROTOCOL };
    // Depending on the seed, the leader is deaf, or mute and replaced.
    let scenario = "asymmetric-partition";
    let dark: Vec<_> = (0..8).map(|seed| judged(scenario, &zab_fle::PROTOCOL, seed)).collect();
    let dark: Vec<_> = dark.iter().filter(|judgement| !acts_in_time(judgement)).collect();
    assert!(!dark.is_empty() && dark.len() < 8, "{}", dark.len());
    for judgement in dark {
        assert_eq!(judgement.verdict, Verdict::Liveness);
        let seen = judgement.invariant("liveness").expect("it is always judged");
        assert!(seen.while_half_heard && seen.detail.contains("did not hear them in time"), "{}", seen.detail);
        assert_eq!(broken(scenario, &zab_fle::PROTOCOL, judgement), None);
        assert!(broken(scenario, &BOASTS, judgement).is_some());
    }
    // The excuse covers only that case.
    let stuck = judged("leader-cannot-work", &zab_fle::PROTOCOL, 1);
    assert!(!stuck.invariant("liveness").expect("it is always judged").while_half_heard);
    assert!(broken(scenario, &zab_fle::PROTOCOL, &stuck).is_some());
}

#[test]
fn a_promise_that_nobody_acts_excuses_nothing_that_violates_safety() {
    let both = |seed| {
        let judgement = judged("leader-cannot-work", &election::redis_naive::PROTOCOL, seed);
        (!acts_in_time(&judgement) && judgement.verdict == Verdict::Safety).then_some(judgement)
    };
    let judgement = (0..40).find_map(both).expect("a run in which nobody acts, and writes come twice");
    let dark = |safety| Promised { safety, liveness: Live::Breaks };
    let broken = |promised| promise::broken(promised, &Bounds::default(), &judgement);
    let why = broken(dark(Promise::Holds)).expect("it is not safe");
    assert!(why.starts_with("promised to hold, but violates"), "{why}");
    assert_eq!(broken(dark(Promise::May)), None);
}
