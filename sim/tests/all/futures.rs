//! A run that branches is the same run up to there and another one afterwards; and how many of a run's futures fail.

use crate::common::{named, run, run_with_history};
use scenarios::plan::{Branch, Plan};
use sim::{reduce::futures, registry::Registry, run::Options, world::Driver};

const PROTOCOLS: [&str; 5] = ["etcd-election", "redis-fenced", "raft-core", "raft", "zk-election"];

/// The middle of a run, microseconds.
fn middle(plan: &Plan) -> u64 {
    plan.duration_ms * 500
}

fn branched(plan: &Plan, branches: &[(u64, u64)]) -> Plan {
    let branches = branches.iter().map(|(at_us, seed)| Branch { at_us: *at_us, seed: *seed }).collect();
    Plan { branches, ..plan.clone() }
}

/// The lines of a run's history before its middle, and after it. The first line, which names the plan, is left out.
fn halves(plan: &Plan, driver: Driver) -> [Vec<String>; 2] {
    let (_, history) = run_with_history(plan, Options { driver, ..Options::default() });
    let time = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("a line")["t_us"].as_u64();
    let lines = history.lines().skip(1).map(str::to_owned);
    let (before, after) = lines.partition(|line| time(line).is_some_and(|t_us| t_us < middle(plan)));
    [before, after]
}

#[test]
fn a_branch_changes_what_comes_after_it_and_nothing_before() {
    for protocol in PROTOCOLS {
        let plan = named("clean-kill", protocol, 3, true);
        let [before, after] = halves(&plan, Driver::Inline);
        assert!(before.len() > 100 && after.len() > 100, "{protocol}");
        let one = halves(&branched(&plan, &[(middle(&plan), 1)]), Driver::Inline);
        assert_eq!(one[0], before, "{protocol}");
        assert_ne!(one[1], after, "{protocol}");
        let other = halves(&branched(&plan, &[(middle(&plan), 2)]), Driver::Inline);
        assert_eq!(other[0], before, "{protocol}");
        assert_ne!(other[1], one[1], "{protocol}: another seed is another future");
    }
}

#[test]
fn a_branched_run_replays_and_a_branch_at_the_end_is_none() {
    for protocol in PROTOCOLS {
        let plan = named("clean-kill", protocol, 3, true);
        let twice = branched(&plan, &[(middle(&plan), 1), (middle(&plan) + 500_000, 7)]);
        let hash = run(&twice).trace_hash().to_owned();
        assert_eq!(run(&twice).trace_hash(), hash, "{protocol}");
        assert_ne!(
            run(&branched(&plan, &[(middle(&plan), 1)])).trace_hash(),
            hash,
            "{protocol}: the second branch counts"
        );
        let end = branched(&plan, &[(plan.duration_ms * 1_000, 9)]);
        assert_eq!(run(&end).trace_hash(), run(&plan).trace_hash(), "{protocol}");
    }
}

#[test]
fn a_branch_outside_the_run_or_out_of_order_is_refused() {
    let plan = named("clean-kill", "etcd-election", 3, true);
    let why = |branches: &[(u64, u64)]| {
        Registry::default().plans.validate(&branched(&plan, branches)).map_err(|why| why.0).expect_err("it is refused")
    };
    let end = plan.duration_ms * 1_000;
    assert_eq!(why(&[(end + 1, 0)]), format!("branches[0].at_us is {}; it must be 0 to {end}", end + 1));
    assert_eq!(why(&[(5, 0), (5, 1)]), format!("branches[1].at_us is 5; it must be 6 to {end}"));
}

/// A leader is paused between its check and its write, and the store compares nothing: chance has no say.
#[test]
fn a_failure_that_the_plan_decides_is_inevitable_from_the_start() {
    let registry = Registry::default();
    let decided = run(&named("gc-pause", "redis-fenced", 42, false));
    let curve = futures::of_failed(&decided, 10, &registry, 2).expect("runs end").expect("it fails");
    assert!(curve.moments.iter().all(|moment| moment.failed == 10), "{curve:?}");
    assert!(curve.sentence().contains("from the start on"), "{}", curve.sentence());
    assert_eq!(
        futures::of_failed(&run(&named("gc-pause", "redis-fenced", 42, true)), 10, &registry, 2).expect("none"),
        None
    );
}
