//! What each protocol promises under each scenario is kept, with fencing and without, and no run is vacuous.

#![cfg(madsim)]

mod common;

use common::{named, run};
use protocols::election::{self, Protocol};
use reports::Verdict;
use scenarios::{Params, params::Profile, scenario};
use sim::sweep::{Sizes, Sweep};

fn sweep(fencing: bool) {
    let params = Params { rate: 200, fencing: fencing.into(), ..Params::default() };
    let (scenarios, protocols) = (scenario::ALL.to_vec(), election::ALL.to_vec());
    let sweep =
        Sweep { scenarios, protocols, sizes: Sizes::Of(vec![3]), seeds: 0..4, params: &params, shard: (1, 1), jobs: 2 };
    let outcome = sweep.run(|_| {}).expect("the parameters make sense");
    let why: Vec<_> =
        outcome.failures.iter().chain(&outcome.inconclusive).map(|f| format!("{}: {}", f.repro, f.why)).collect();
    assert!(why.is_empty(), "{}", why.join("\n"));
    assert_eq!(outcome.cells.iter().map(|c| c.runs).sum::<u64>(), sweep.runs());
}

#[test]
fn promises_are_kept_with_fencing() {
    sweep(true);
}

#[test]
fn promises_are_kept_without_fencing() {
    sweep(false);
}

/// Runs these scenarios on a network, and asserts that what these protocols promise is kept.
fn on_network(net: &str, scenarios: &[&str], protocols: Vec<&'static Protocol>) {
    let params = Params { rate: 100, net: Profile::find(net).expect("a network"), ..Params::default() };
    let scenarios = scenarios.iter().map(|name| scenario::find(name).expect("a scenario")).collect();
    let sizes = Sizes::Of(vec![3]);
    let sweep = Sweep { scenarios, protocols, sizes, seeds: 0..4, params: &params, shard: (1, 1), jobs: 2 };
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
    on_network("hostile", &["steady", "clean-kill", "gc-pause", "partition", "isolate-leader"], tokened);
    // And what has none is not: the network shows what it is there for.
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
