//! Each protocol keeps its promises under each scenario, with fencing and without, and no run is vacuous.

use crate::common::{self, named, run};
use protocols::{
    election::{self, Promise, Protocol},
    work,
};
use reports::{Verdict, invariant, known};
use scenarios::{Params, params::Profile, scenario};
use sim::{
    promise::{self, Chance},
    registry::Registry,
    sweep::{Sizes, Sweep},
};
use std::collections::BTreeSet;

#[test]
fn promises_are_kept_with_fencing() {
    let params = Params { rate: 200, ..Params::default() };
    let (scenarios, protocols) = (scenario::ALL.to_vec(), election::ALL.to_vec());
    let sweep = Sweep {
        registry: &Registry::default(),
        scenarios,
        protocols,
        sizes: Sizes::Of(vec![3]),
        // CI sweeps more seeds, and also without fencing.
        seeds: 0..1,
        params: &params,
        shard: (1, 1),
        jobs: 2,
    };
    let outcome = sweep.run(|_| {}).expect("the parameters make sense");
    let why: Vec<_> =
        outcome.failures.iter().chain(&outcome.inconclusive).map(|f| format!("{}: {}", f.repro, f.why)).collect();
    assert!(why.is_empty(), "{}", why.join("\n"));
    // This is a fresh process, and most of the baseline was recorded by another build.
    assert!(
        outcome.moved.is_empty(),
        "{}",
        outcome.moved.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    );
    assert_eq!(outcome.cells.iter().map(|c| c.runs).sum::<u64>(), sweep.runs());
}

/// Runs these scenarios on a network, and asserts that these protocols keep their promises.
fn on_network(net: &str, scenarios: &[&str], protocols: Vec<&'static Protocol>) {
    let params = Params { rate: 100, net: Profile::find(net).expect("a network"), ..Params::default() };
    let scenarios = scenarios.iter().map(|name| scenario::find(name).expect("a scenario")).collect();
    let sizes = Sizes::Of(vec![3]);
    let sweep = Sweep {
        registry: &Registry::default(),
        scenarios,
        protocols,
        sizes,
        seeds: 0..4,
        params: &params,
        shard: (1, 1),
        jobs: 2,
    };
    let outcome = sweep.run(|_| {}).expect("the parameters make sense");
    let why: Vec<_> = outcome.failures.iter().map(|f| format!("{}: {}", f.repro, f.why)).collect();
    assert!(why.is_empty(), "{net}: {}", why.join("\n"));
}

#[test]
fn nobody_is_blamed_for_a_network_that_is_slow_or_loses_packets() {
    for net in ["wan", "lossy"] {
        on_network(net, &["steady"], election::ALL.to_vec());
    }
}

#[test]
fn a_token_is_safe_on_datagrams_that_get_lost_doubled_and_reordered() {
    let tokened: Vec<_> = election::ALL.into_iter().filter(|p| p.tokened).collect();
    on_network("hostile", &["steady", "clean-kill", "gc-pause", "partition", "isolate-leader"], tokened.clone());
    for protocol in tokened {
        let params = Params { rate: 2_000, net: Profile::find("hostile").expect("a network"), ..Params::default() };
        let plan = scenario::find("steady").expect("a scenario").compile(&params, protocol, 0);
        let marks = run(&plan.expect("the parameters make sense")).marks;
        for mark in [
            "outbox: a write before this one was lost, so all are sent again",
            "ledger: a write out of turn is refused",
            "ledger: a request comes again",
        ] {
            assert!(marks.contains(mark), "{}: {mark}", protocol.name);
        }
    }
    // A protocol without a token breaks it there: the network has its effect.
    let params = Params { net: Profile::find("hostile").expect("a network"), ..Params::default() };
    let (scenario, protocol) = (scenario::find("steady"), election::find("redis-lease"));
    let plan = scenario.zip(protocol).map(|(scenario, protocol)| scenario.compile(&params, protocol, 1));
    let plan = plan.expect("both are known").expect("the parameters make sense");
    assert_eq!(run(&plan).judgement.verdict, Verdict::Safety);
}

#[test]
fn a_paused_leaders_writes_are_refused_and_without_fencing_accepted() {
    for protocol in ["redis-fenced", "etcd-election"] {
        let on = run(&named("gc-pause", protocol, 42, true)).judgement;
        assert_eq!(on.verdict, Verdict::Pass);
        assert!(on.metrics.leaders_believing_max >= 2);
        assert_eq!(on.metrics.leaders_acting_by_effect_max, 1);
        assert!(on.metrics.writes_fenced > 0);
        let off = run(&named("gc-pause", protocol, 42, false)).judgement;
        assert_eq!(off.verdict, Verdict::Safety);
        assert!(off.metrics.leaders_acting_by_effect_max >= 2);
        assert_eq!(off.metrics.writes_fenced, 0);
    }
}

#[test]
fn without_a_token_no_ledger_helps() {
    for protocol in ["redis-naive", "redis-lease"] {
        for fencing in [true, false] {
            assert_eq!(run(&named("gc-pause", protocol, 42, fencing)).judgement.verdict, Verdict::Safety);
        }
    }
}

#[test]
fn a_pause_shorter_than_the_lease_is_vacuous() {
    let params = Params { pause_ms: Some(500), ..Params::default() };
    let scenario = scenario::find("gc-pause").expect("a scenario");
    let protocol = election::find("etcd-election").expect("a protocol");
    let plan = scenario.compile(&params, protocol, 42).expect("the parameters make sense");
    assert_eq!(run(&plan).judgement.verdict, Verdict::Vacuous);
}

/// All safety invariants except vacuity.
fn safety() -> impl Iterator<Item = &'static str> {
    invariant::ALL.iter().map(|entry| entry.name).filter(|name| *name != "vacuity" && *name != "liveness")
}

/// The invariants that must be violated according to the tables, at the default parameters.
fn must_break() -> BTreeSet<&'static str> {
    let promises = [true, false].into_iter().flat_map(|fencing| {
        let params = Params { fencing: fencing.into(), ..Params::default() };
        common::pairs().map(move |(scenario, protocol)| scenario::promise(scenario, protocol, &params))
    });
    let tables = promises.filter_map(|p| if let Promise::Breaks(names) = p { Some(names) } else { None });
    tables.flatten().copied().collect()
}

/// Whether a known history violates the invariant.
fn is_known(name: &str) -> bool {
    let begins = format!("{name}-bad");
    let mut bad = known::ALL.iter().filter(|known| known.name.starts_with(&begins));
    bad.any(|known| known.judge().is_ok_and(|judgement| judgement.violated().any(|violated| violated == name)))
}

#[test]
fn every_invariant_has_something_that_must_break_it() {
    let canaries = promise::canaries();
    let broken: BTreeSet<_> = canaries.iter().flat_map(|canary| canary.breaks).copied().chain(must_break()).collect();
    for name in safety().chain(["liveness", "vacuity"]) {
        assert!(is_known(name), "no known history violates {name}: it could go blind");
    }
    let only_defects = |name: &str| invariant::ALL.iter().any(|entry| entry.name == name && entry.only_defects);
    // The known histories, with which every sweep begins, must violate the others.
    for name in safety().chain(["liveness"]).filter(|name| !only_defects(name)) {
        assert!(broken.contains(name), "nothing must break {name}: it could go blind");
    }
    for name in &broken {
        assert!(invariant::ALL.iter().any(|entry| entry.name == *name), "there is no invariant {name}");
    }
}

#[test]
fn every_work_is_done_somewhere_in_a_sweep() {
    let told = common::pairs().map(|(story, protocol)| Ok(story.compile(&Params::default(), protocol, 0)?));
    let canaries = promise::canaries().into_iter().map(|canary| (canary.plan)(0, true));
    let done: BTreeSet<String> = told.chain(canaries).flat_map(|plan| plan.expect("it makes sense").works).collect();
    let not_done =
        |kind: &&&work::Kind| !work::USUAL.iter().any(|usual| usual.name == kind.name) && !done.contains(kind.name);
    let left_out: Vec<&str> = work::ALL.iter().filter(not_done).map(|kind| kind.name).collect();
    assert!(left_out.is_empty(), "in no scenario and no canary: {left_out:?}");
}

#[test]
fn what_is_left_to_chance_is_as_it_was() {
    let file = common::root().join("seeds/baseline/scenarios.json");
    let baseline = std::fs::read_to_string(file).expect("the baseline can be read");
    let baseline: serde_json::Value = serde_json::from_str(&baseline).expect("the baseline is JSON");
    let mut wrong = Vec::new();
    for fencing in [true, false] {
        let params = Params { rate: 100, fencing: fencing.into(), ..Params::default() };
        let by_chance = |s, p| scenario::promise(s, p, &params) == Promise::May;
        for (scenario, protocol) in common::pairs().filter(|(s, p)| by_chance(s, p)) {
            let Some(chance) = Chance::find(scenario.name, protocol.name, fencing) else {
                // The committed baseline records the others.
                let cell = format!("{} {} 3", scenario.name, protocol.name);
                assert!(baseline["cells"].get(&cell).is_some(), "{cell} is left to chance, and has no baseline");
                continue;
            };
            if chance.fencing != fencing {
                // The same runs as with fencing.
                continue;
            }
            let runs = 24;
            let safety = |seed: &u64| {
                let plan = scenario.compile(&params, protocol, *seed).expect("the parameters make sense");
                run(&plan).judgement.verdict == Verdict::Safety
            };
            let violated = (0..runs).filter(safety).count() as u64;
            wrong.extend(chance.far_off(violated, runs));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn far_off_is_more_than_chance() {
    let half = Chance::find("asymmetric-partition", "bully", true).expect("a baseline");
    assert_eq!(half.far_off(50, 100), None);
    assert_eq!(half.far_off(35, 100), None);
    assert!(half.far_off(20, 100).is_some() && half.far_off(100, 100).is_some());
    let never = Chance::find("clean-kill", "swim", false).expect("the same as with fencing");
    assert!(never.far_off(0, 1_000).is_none() && never.far_off(40, 1_000).is_some());
}
