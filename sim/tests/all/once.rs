//! Irreversible effects: how often invoices are charged twice under each check, and what happens to jobs longer than
//! the lease.

use crate::common::run;
use protocols::{
    election::{self, cron},
    fence::checks::ChargeCheck,
    node::RENEWS_BETWEEN_JOBS,
    types::MILLISECOND,
    work::{cache_invalidator::NOT_CAUGHT_UP, nightly_job::JOB_TIME},
};
use reports::{Judgement, Verdict};
use scenarios::{Params, Plan, scenario};

/// A run of a scenario at a low rate.
fn judged(told: &str, protocol: &str, params: &Params, seed: u64) -> Judgement {
    let (scenario, protocol) =
        (scenario::find(told).expect("a scenario"), election::find(protocol).expect("a protocol"));
    let params = Params { rate: 50, ..params.clone() };
    let judgement = run(&scenario.compile(&params, protocol, seed).expect("it makes sense")).judgement;
    let vacuity = judgement.invariant("vacuity").expect("it is judged");
    assert!(vacuity.holds, "{told} {seed}: {}", vacuity.detail);
    judgement
}

/// The number of invoices charged twice under this check, and the violated invariants.
fn charged_twice(protocol: &str, check: ChargeCheck, seed: u64) -> (u64, Vec<&'static str>) {
    let params = Params { charge_check: Some(check), ..Params::default() };
    let judgement = judged("incident-invoice", protocol, &params, seed);
    let seen = judgement.invariant("done_once").expect("it is judged");
    assert!(seen.could_fail, "{check:?} {seed}: {}", seen.detail);
    let twice = judgement.metrics.effects_repeated.expect("invoices are charged");
    assert_eq!(seen.holds, twice == 0, "{check:?} {seed}: {}", seen.detail);
    assert_eq!(judgement.metrics.effects_left_out, Some(0), "{check:?} {seed}");
    (twice, judgement.violated().collect())
}

#[test]
fn only_a_token_and_the_invoices_id_give_order_and_once() {
    for protocol in ["redis-fenced", "etcd-election", "k8s-lease"] {
        for seed in 0..6 {
            // The charge that the paused leader had in flight, and the one that the dead leader had not marked.
            for check in [ChargeCheck::None, ChargeCheck::Row] {
                let (twice, violated) = charged_twice(protocol, check, seed);
                assert_eq!(twice, 2, "{protocol} {check:?} {seed}");
                assert!(violated.contains(&"no_stale_write"), "{protocol} {check:?} {seed}: {violated:?}");
            }
            assert_eq!(charged_twice(protocol, ChargeCheck::Sealed, seed), (1, vec!["done_once"]), "{protocol} {seed}");
            // The id makes each charge count once, but the paused leader's charge comes in between its successor's.
            let (twice, violated) = charged_twice(protocol, ChargeCheck::Id, seed);
            assert!(twice == 0 && violated.contains(&"read_version"), "{protocol} {seed}: {twice} {violated:?}");
            assert_eq!(charged_twice(protocol, ChargeCheck::SealedId, seed), (0, vec![]), "{protocol} {seed}");
        }
    }
}

#[test]
fn without_a_token_nothing_is_sealed_and_the_id_is_all_there_is() {
    for protocol in ["redis-naive", "redis-lease"] {
        for check in [ChargeCheck::None, ChargeCheck::Row, ChargeCheck::Sealed] {
            assert!(charged_twice(protocol, check, 1).0 >= 2, "{protocol} {check:?}");
        }
        for check in [ChargeCheck::Id, ChargeCheck::SealedId] {
            assert_eq!(charged_twice(protocol, check, 1).0, 0, "{protocol} {check:?}");
        }
    }
}

#[test]
fn a_job_longer_than_the_lease_is_done_twice_by_who_renews_between_jobs_and_never_behind_a_fence() {
    for protocol in ["redis-lease", "redis-fenced", "etcd-election"] {
        for seed in 0..3 {
            let of = |bug: bool, fencing: bool| {
                let bugs = bug.then_some(&RENEWS_BETWEEN_JOBS).into_iter().collect();
                judged("long-job", protocol, &Params { bugs, fencing: fencing.into(), ..Params::default() }, seed)
            };
            for fencing in [true, false] {
                let right = of(false, fencing);
                assert_eq!(right.verdict, Verdict::Pass, "{protocol} {seed}: {:?}", right.invariants);
                assert_eq!(right.metrics.elections, 1, "{protocol} {seed}");
                let (done, again) = (right.metrics.effects_done, right.metrics.effects_repeated);
                assert!(done >= Some(8) && again == Some(0), "{protocol} {seed}: {done:?} {again:?}");
            }
            let twice = of(true, false);
            assert!(twice.violated().any(|name| name == "done_once"), "{protocol} {seed}: {:?}", twice.invariants);
            let behind = of(true, true).metrics;
            if election::find(protocol).is_some_and(|protocol| protocol.tokened) {
                // A leader that finishes has lost its lease, and another leads.
                assert_eq!((behind.effects_done, behind.elections >= 3), (Some(0), true), "{protocol} {seed}");
            }
        }
    }
}

#[test]
fn a_former_leader_sets_caches_back_and_a_careless_successor_leaves_them_out() {
    for seed in 0..4 {
        let of = |params: &Params| judged("stale-cache", "redis-fenced", params, seed);
        let right = of(&Params::default());
        assert_eq!(right.verdict, Verdict::Pass, "{seed}: {:?}", right.invariants);
        assert_eq!(right.metrics.cache_stale_ms, Some(0.0), "{seed}");
        let detail = |judgement: &Judgement| {
            let seen = judgement.invariant("no_stale_cache_entry").expect("it is judged");
            assert!(!seen.holds, "{seed}");
            seen.detail.clone()
        };
        let unfenced = of(&Params { fencing: false.into(), ..Params::default() });
        assert!(detail(&unfenced).contains(" set edge-1 back to version "), "{seed}: {}", detail(&unfenced));
        assert!(unfenced.metrics.cache_stale_ms > Some(0.0), "{seed}");
        let careless = of(&Params { bugs: vec![&NOT_CAUGHT_UP], ..Params::default() });
        assert!(detail(&careless).contains(", and edge-1 never had version "), "{seed}: {}", detail(&careless));
    }
}

/// The plan of a nightly job.
fn nights(protocol: &str, seed: u64) -> Plan {
    let (scenario, protocol) =
        (scenario::find("weak-crons").expect("a scenario"), election::find(protocol).expect("one"));
    scenario.compile(&Params::default(), protocol, seed).expect("it makes sense")
}

/// How many jobs ran in all, ran again, and did not run; and the violated invariants.
fn ran(plan: &Plan) -> ([Option<u64>; 3], Vec<&'static str>) {
    let judgement = run(plan).judgement;
    let vacuity = judgement.invariant("vacuity").expect("it is judged");
    assert!(vacuity.holds, "{} {}: {}", plan.protocol, plan.seed, vacuity.detail);
    let figures =
        [judgement.metrics.effects_done, judgement.metrics.effects_repeated, judgement.metrics.effects_left_out];
    (figures, judgement.violated().collect())
}

#[test]
fn a_lock_runs_a_job_twice_a_hash_misses_it_and_a_key_for_each_night_runs_it_once() {
    for seed in 0..6 {
        let of = |protocol| ran(&nights(protocol, seed));
        // Seven nights, and the late host runs each again.
        assert_eq!(of("cron-lock"), ([Some(7), Some(7), Some(0)], vec!["done_once"]), "{seed}");
        assert_eq!(of("cron-hash"), ([Some(5), Some(0), Some(2)], vec!["nothing_skipped"]), "{seed}");
        assert_eq!(of("cron-key"), ([Some(7), Some(0), Some(0)], vec![]), "{seed}");
    }
}

#[test]
fn a_lock_is_enough_where_clocks_are_closer_than_the_job_is_long() {
    for (late_ms, again) in [(JOB_TIME / MILLISECOND / 2, 0), (2 * JOB_TIME / MILLISECOND, 7)] {
        let mut plan = nights("cron-lock", 1);
        let late = (usize::from(cron::host(3).0) + 1) % 3;
        plan.candidates[late].wall_offset_ms = -(late_ms as i64);
        assert_eq!(ran(&plan).0[1], Some(again), "late by {late_ms} ms");
    }
}
