//! Generated plans: under any protocol, faults and clocks, every promise is kept, and rare events do occur. Shrinking
//! works on the plan; a failure prints the smallest one, ready for `fencepost replay`.

use crate::{
    common::{self, run},
    house_rules,
};
use proptest::prelude::*;
use protocols::{election, fence::checks::Fencing};
use scenarios::{
    fault::{Fault, PlannedFault, Trigger, Who},
    generate::{self, Choice},
};
use sim::{
    baseline::marks::rare,
    registry::Registry,
    run::Options,
    swarm::{self, Swarm, Swept},
};

/// Cases per run of the tests; the environment can set more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(512)
}

/// The seeds swept here; the command can sweep more.
const SEEDS: u64 = 2_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_promise_of_safety_is_broken(plan in generate::plans()) {
        prop_assert_eq!(plan.validate(), Ok(()));
        let run = run(&plan);
        let broken = swarm::broken_promise(&run).filter(|(verdict, _)| *verdict == "safety");
        prop_assert!(broken.is_none(), "{broken:#?}\n{}", plan.to_json_pretty());
    }
}

fn sweep(choice: Choice, seeds: u64, jobs: usize) -> Swept {
    Swarm { registry: Registry::default(), choice, seeds: 0..seeds, shard: (1, 1), jobs, until_stable: false }
        .run(|_| {})
        .expect("the baseline is readable")
}

#[test]
#[ignore = "long: .ci/run runs it"]
fn a_swarm_keeps_every_promise_generates_every_fault_and_reaches_every_mark() {
    let swept = sweep(Choice::default(), SEEDS, 2);
    let why: Vec<_> = swept.outcome.failures.iter().map(|f| format!("{}: {}", f.repro, f.why)).collect();
    assert!(why.is_empty(), "{}", why.join("\n"));
    assert_eq!(swept.runs, SEEDS);
    // The other kinds have their own scenarios.
    for kind in generate::drawn_kinds() {
        assert!(swept.kinds.contains_key(kind), "no {kind} in {SEEDS} plans");
    }
    for cell in &swept.outcome.cells {
        let judged = swept.live.get(&cell.protocol).copied().unwrap_or(0);
        assert!(judged * 2 > cell.runs, "liveness could fail in {judged} of {} runs of {}", cell.runs, cell.protocol);
    }
    let marks = house_rules::marks::in_sources();
    let silent = swept.coverage.silent(&marks).into_iter().filter(|mark| rare(mark).is_none());
    let silent: Vec<&str> = silent.collect();
    assert!(silent.is_empty(), "never reached in {SEEDS} plans, and not listed as rare: {silent:#?}");
}

/// Each once broke a promise that no such plan can keep: clients that give up before an answer can come (three), voters
/// that restart because their disk failed, a member that leaves a fleet whose others cannot hear each other, a clock too
/// fast for the timeout of a server far away, a fleet of one that rests, leases that end by readers' clocks (two), members
/// that have all resigned (three), and leaders of ZooKeeper's that wait for a quorum which has gone (three).
#[test]
fn no_plan_is_held_to_what_it_rules_out() {
    let alone = [
        5_004_862, 5_015_291, 5_048_743, 5_114_799, 5_171_028, 5_271_090, 5_297_142, 7_121_773, 7_159_638, 7_392_188,
        7_508_636, 7_833_294, 7_879_631,
    ]
    .map(|seed| (seed, 1));
    let of_all = |groups| Choice { groups, ..Choice::default() };
    let of_zab = || Choice { protocols: vec![&election::zab_fle::PROTOCOL], ..Choice::default() };
    let zab = [(2_815, of_zab()), (84_615, of_zab())];
    let all = alone.into_iter().chain([(5_080_220, 3), (5_086_598, 3)]).map(|(seed, groups)| (seed, of_all(groups)));
    for (seed, choice) in all.chain(zab) {
        let broken = swarm::broken_promise(&run(&generate::swarm(seed, &choice)));
        assert!(broken.is_none(), "seed {seed}: {broken:#?}");
    }
}

#[test]
fn a_seed_gives_the_same_run_alone_and_in_a_sweep_on_any_number_of_threads() {
    let [one, two] = [1, 2].map(|jobs| sweep(Choice::default(), 60, jobs));
    assert_eq!(one.outcome.cells, two.outcome.cells);
    assert_eq!((one.coverage.marks, one.kinds), (two.coverage.marks, two.kinds));
    for seed in 0..60 {
        let plan = generate::plan(seed);
        let [once, again] = [run(&plan), run(&plan)];
        assert_eq!(once.trace_hash(), again.trace_hash(), "seed {seed}");
        assert_eq!(once.marks, again.marks, "seed {seed}");
    }
}

#[test]
fn a_swarm_finds_a_store_that_checks_nothing() {
    for name in ["redis-fenced", "etcd-election", "kraft"] {
        let protocols = vec![election::find(name).expect("a protocol")];
        let is_unsafe = |fencing: Fencing, plans: u64| {
            let choice = Choice { protocols: protocols.clone(), fencing, ..Choice::default() };
            (0..plans).any(|seed| {
                let run = run(&generate::swarm(seed, &choice));
                run.judgement.invariant("leaders_acting_by_effect").is_some_and(|i| !i.holds)
            })
        };
        assert!(!is_unsafe(Fencing::On, 150), "{name}");
        assert!(is_unsafe(Fencing::Off, 1_000), "{name}: 1,000 plans do not show that nothing is checked");
    }
}

/// Found by a swarm: the pause was counted but not its end, and the next pause never ended.
#[test]
fn a_pause_of_a_process_that_has_not_started_stops_nobody_later() {
    let mut plan = common::named("steady", "raft", 1, true);
    plan.candidates[1].starts_at_ms = 200;
    let pause = |ms: f64, for_ms: f64| PlannedFault {
        when: Trigger::At { ms },
        what: Fault::Pause { node: Who::Named("n2".to_owned()), for_ms },
        group: 0,
    };
    plan.faults = vec![pause(0.0, 300.0), pause(2_000.0, 500.0)];
    assert_eq!(plan.validate(), Ok(()));
    let (_, history) = common::run_with_history(&plan, Options::default());
    let states = ["paused", "resumed"].map(|state| history.matches(&format!("\"state\":\"{state}\"")).count());
    assert_eq!(states, [1, 1], "{history}");
}
