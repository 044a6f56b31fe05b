//! Reads from a leader's memory: as correct as the clocks allow, and never better than the store.

use crate::common::run;
use protocols::election::{self, Promise, Protocol};
use reports::Verdict;
use scenarios::{
    Params, Plan, generate,
    read_lease::{self, Bound},
    scenario,
};
use sim::{
    bisect::{Bisect, Found},
    registry::Registry,
    sweep::Sweep,
};

fn plan(protocol: &str, params: &Params, seed: u64) -> Plan {
    let scenario = scenario::find("read-lease").expect("a scenario");
    let plan = scenario.compile(params, election::find(protocol).expect("a protocol"), seed);
    plan.expect("the parameters make sense")
}

fn drifting(clock_drift_ppm: u64) -> Params {
    Params { clock_drift_ppm, rate: 200, ..Params::default() }
}

/// The bound of a protocol at the default parameters.
fn bound(protocol: &Protocol) -> Option<Bound> {
    let params = Params::default();
    read_lease::bound(protocol, &params.resolved(protocol), &params.network())
}

#[test]
fn no_read_is_stale_while_clocks_drift_no_more_than_the_bound_says() {
    let scenario = scenario::find("read-lease").expect("a scenario");
    let mut bounded = 0;
    for protocol in election::ALL {
        let Some(ppm) = bound(protocol).and_then(|b| b.holds_up_to_ppm) else { continue };
        bounded += 1;
        let params = drifting(ppm);
        for seed in 0..8 {
            let judgement = run(&plan(protocol.name, &params, seed)).judgement;
            let reads = judgement.invariant("no_stale_read").expect("reads are judged");
            assert!(reads.holds, "{} at ±{ppm} ppm, seed {seed}: {reads:?}", protocol.name);
        }
        // Without a token, writes sent before the cut take effect after it: only reads are promised.
        let expected = if protocol.tokened { Promise::Holds } else { Promise::May };
        assert_eq!(scenario::promise(scenario, protocol, &params), expected, "{}", protocol.name);
        let (scenarios, protocols) = (vec![scenario], vec![protocol]);
        let sweep = Sweep {
            registry: &Registry::default(),
            scenarios,
            protocols,
            sizes: sim::sweep::Sizes::Of(vec![3]),
            seeds: 0..3,
            params: &params,
            shard: (1, 1),
            jobs: 2,
        };
        let outcome = sweep.run(|_| {}).expect("the parameters make sense");
        let why: Vec<_> = outcome.failures.iter().map(|f| format!("{}: {}", f.repro, f.why)).collect();
        assert!(why.is_empty(), "at ±{ppm} ppm {}", why.join("\n"));
    }
    assert!(bounded >= 3, "only {bounded} protocols have a bound");
}

#[test]
fn wide_enough_a_drift_shows_in_reads_and_behind_a_token_nowhere_else() {
    let scenario = scenario::find("read-lease").expect("a scenario");
    for protocol in ["redis-lease", "redis-fenced"] {
        let params = drifting(150_000);
        let protocol = election::find(protocol).expect("a protocol");
        assert_eq!(scenario::promise(scenario, protocol, &params), Promise::May);
        let judgement = run(&plan(protocol.name, &params, 3)).judgement;
        assert_eq!(judgement.verdict, Verdict::Safety);
        let violated: Vec<_> = judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.name).collect();
        assert!(
            violated == ["no_stale_read"] || (!protocol.tokened && violated.contains(&"no_stale_read")),
            "{violated:?}"
        );
        assert!(judgement.metrics.reads_stale > 10, "{} stale reads", judgement.metrics.reads_stale);
    }
}

#[test]
fn the_store_gives_no_stale_answer_whatever_the_clocks() {
    for protocol in ["redis-fenced", "etcd-election"] {
        for ppm in [0, 150_000] {
            let judgement = run(&plan(protocol, &Params { read_lease: Some(false), ..drifting(ppm) }, 3)).judgement;
            assert_eq!(judgement.verdict, Verdict::Pass, "{protocol} at {ppm} ppm: {:#?}", judgement.invariants);
            assert!(judgement.metrics.reads_answered > 1_000 && judgement.metrics.reads_stale == 0);
        }
    }
}

#[test]
fn a_belief_that_outlives_the_lease_is_no_lease_for_reads() {
    let etcd = election::find("etcd-election").expect("a protocol");
    assert_eq!(bound(etcd).map(|b| b.holds_up_to_ppm), Some(None));
    assert_eq!(run(&plan("etcd-election", &drifting(0), 1)).judgement.verdict, Verdict::Safety);
}

#[test]
fn bisection_ends_where_one_part_in_a_million_decides() {
    let params = Params { clock_drift_ppm: 0, ..drifting(0) };
    let protocol = election::find("redis-fenced").expect("a protocol");
    let scenario = scenario::find("read-lease").expect("a scenario");
    let bisect = Bisect { registry: &Registry::default(), scenario, protocol, seeds: 0..2, params: &params, jobs: 2 };
    let Found { breaks: Some(found), holds_ppm: Some(holds_ppm), interrupted_after: None } =
        bisect.search(|_, _| {}).expect("the runs end")
    else {
        panic!("it breaks somewhere, and not without any drift")
    };
    assert_eq!((found.ppm, found.violated.as_slice()), (holds_ppm + 1, &["no_stale_read"][..]));
    let verdict = |ppm| run(&plan("redis-fenced", &drifting(ppm), found.seed)).judgement.verdict;
    assert_eq!((verdict(holds_ppm), verdict(found.ppm)), (Verdict::Pass, Verdict::Safety));
    assert!(bound(protocol).is_some_and(|b| b.holds_at(100) && !b.holds_at(found.ppm)), "{found:?}");
}

#[test]
fn plans_are_generated_with_reads_and_without() {
    let reads: Vec<_> = (0..40).map(|seed| generate::plan(seed).load.reads_per_s).collect();
    assert!(reads.contains(&0) && reads.iter().any(|r| *r > 0), "{reads:?}");
}
