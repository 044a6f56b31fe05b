//! Shards: one leadership each, placed, handed over, and safe while nodes see different members.

use crate::common::{run, run_with_history};
use protocols::{election, sharding::Placement};
use reports::{Change, Verdict};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};
use serde_json::Value;
use sim::{
    run::{Options, Run},
    world::Driver,
};

const PROTOCOLS: [&str; 5] = ["etcd-election", "redis-fenced", "redis-sentinel", "raft", "raft-core"];
const SHARDS: u16 = 12;

fn params() -> Params {
    Params { nodes: 5, rate: 200, ..Params::default() }
}

fn plan(protocol: &str, seed: u64, params: &Params) -> Plan {
    let (scenario, protocol) = (scenario::find("shard-rebalance").unwrap(), election::find(protocol).unwrap());
    scenario.compile(params, protocol, seed).expect("the parameters make sense")
}

fn changes(run: &Run) -> &[Change] {
    &run.judgement.metrics.shards.as_ref().expect("shards are placed").changes
}

fn passes(run: &Run, name: &str) {
    let broken: Vec<_> = run.judgement.invariants.iter().filter(|seen| !seen.holds).collect();
    assert_eq!(run.judgement.verdict, Verdict::Pass, "{name}: {broken:#?}");
    let placed = run.judgement.invariant("placed").expect("shards are placed");
    assert!(placed.could_fail, "{name}: {placed:?}");
}

#[test]
fn what_a_member_had_moves_and_comes_back_and_nothing_else() {
    for protocol in PROTOCOLS {
        let run = run(&plan(protocol, 3, &params()));
        passes(&run, protocol);
        let [left, came] = changes(&run) else { panic!("{protocol}: one member leaves and comes") };
        assert!(!left.joins && came.joins && left.moved > 0, "{protocol}: {left:?}, {came:?}");
        for change in [left, came] {
            assert_eq!(change.moved, change.moved_by_ring, "{protocol}: {change:?}");
            assert!(change.moved < change.moved_by_modulo, "{protocol}: {change:?}");
            assert_eq!(change.leaders.values().sum::<u64>(), u64::from(SHARDS), "{protocol}: {change:?}");
        }
        let (after_death, after_order) = (left.dark_ms_p50_max().unwrap().0, came.dark_ms_p50_max().unwrap().1);
        // On Redis, the named successor learns of it when it polls, once per second.
        let most = if protocol.starts_with("redis") { 1_300.0 } else { 100.0 };
        assert!(after_order < most && after_order < after_death, "{protocol}: {after_death} and {after_order} ms");
    }
}

#[test]
fn a_modulo_moves_what_it_says() {
    let params = Params { placement: Some(Placement::Modulo), ..params() };
    let run = run(&plan("raft-core", 3, &params));
    passes(&run, "modulo");
    for change in changes(&run) {
        assert!(change.moved == change.moved_by_modulo && change.moved > change.moved_by_ring, "{change:?}");
    }
}

/// Two nodes cannot see each other, but both see the service and the third: they disagree on who should lead which
/// shard.
#[test]
fn views_that_differ_harm_nothing_and_pass_nothing_around() {
    for protocol in ["etcd-election", "redis-fenced"] {
        let mut plan = plan(protocol, 5, &Params { nodes: 3, rate: 100, ..Params::default() });
        let named = |name: &str| vec![Who::Named(name.to_owned())];
        let (from, to) = (named("n1"), named("n2"));
        let what = Fault::Partition { from, to, one_way: false, for_ms: Some(15_000.0) };
        plan.faults = vec![PlannedFault { when: Trigger::At { ms: 12_000.0 }, what, group: 0 }];
        plan.requires.clear();
        plan.validate().expect("a valid plan");
        let run = run(&plan);
        passes(&run, protocol);
        // The first node to start wins each shard and hands most over; then shards move once because of the cut, and
        // back.
        let elections = run.judgement.metrics.elections;
        assert!(elections <= 4 * u64::from(SHARDS), "{protocol}: {elections} elections");
    }
}

#[test]
fn both_drivers_place_alike_and_a_plan_is_one_run() {
    let plan = plan("redis-fenced", 1, &Params { rate: 50, ..Params::default() });
    let again = Plan::from_json(&plan.to_json_pretty()).expect("what was written can be read");
    assert_eq!(again, plan);
    let (inline, history) = run_with_history(&plan, Options::default());
    assert_eq!(history, run_with_history(&again, Options::default()).1);
    // The driver decides which of two groups' clients is faster, but not where shards settle.
    let (task, _) = run_with_history(&plan, Options { driver: Driver::Task, ..Options::default() });
    assert_eq!(inline.judgement.verdict, task.judgement.verdict);
    let settled = |run: &Run| changes(run).iter().map(|c| (c.moved, c.leaders.clone())).collect::<Vec<_>>();
    assert_eq!(settled(&inline), settled(&task));
    let shards = serde_json::to_value(&inline.judgement.metrics).unwrap()["shards"].clone();
    assert_eq!((&shards["placement"], &shards["shards"]), (&Value::from("ring"), &Value::from(SHARDS)));
}

#[test]
fn leaders_that_checks_take_for_sick_resign_and_a_hold_down_keeps_them() {
    let elections = |hold_down_ms, warm_up_ms| {
        let mut params = Params { rate: 20, duration_ms: Some(120_000), ..Params::default() };
        params.tenure.check_errors_ppm = 200_000;
        (params.tenure.hold_down_ms, params.tenure.warm_up_ms) = (hold_down_ms, warm_up_ms);
        let steady = scenario::find("steady").unwrap();
        let plan = steady.compile(&params, election::find("raft-core").unwrap(), 2).expect("it makes sense");
        let run = run(&plan);
        assert_ne!(run.judgement.verdict, Verdict::Safety);
        (run.judgement.metrics.elections, run.judgement.metrics.dark_ms.unwrap())
    };
    let ((often, _), (seldom, short), (warming, long)) = (elections(0, 0), elections(20_000, 0), elections(0, 5_000));
    assert!(often > 12 && seldom < 9 && warming > 12, "{often}, {seldom} and {warming} elections");
    assert!(long > 20_000.0 && short < 2_000.0, "dark for {long} and {short} ms");
}
