//! LeaseGuard in whole runs: reads from leases of the log, as correct as the wall clocks are declared to be.

use crate::common::run;
use protocols::{
    copies::Copies,
    election::{self, Promise, Protocol},
    history::{Kind, Outcome},
    parameter::Parameter,
};
use scenarios::{
    Params, Plan, generate,
    scenario::{self, Live, Scenario},
    set::{Setting, Settings},
};
use sim::{registry::Registry, run::Options};

const CLOCK_BOUND_MS: u64 = 10;

fn raft() -> &'static Protocol {
    election::find("raft-core").expect("a protocol")
}

fn settings(values: &[(&str, u64)]) -> Settings {
    let setting = |(name, value): &(&str, u64)| {
        let parameter: &Parameter = raft().parameters.iter().find(|p| p.name == *name).expect("a parameter");
        Setting { owner: raft().name, parameter: *parameter, value: *value }
    };
    values.iter().map(setting).collect()
}

/// Elections take 150 to 300 ms, a lease `lease_ms`. Nothing else ends a belief: no lease of heartbeats, no lost majority.
fn guarded(lease_ms: u64, clock_skew_ms: u64) -> Params {
    let own = [("lease-guard", lease_ms), ("clock-bound", CLOCK_BOUND_MS), ("leader-lease", 0), ("check-quorum", 0)];
    Params {
        rate: 50,
        reads_per_s: Some(200),
        clock_skew_ms,
        lease_ttl_ms: Some(150),
        election_timeout_ms: Some((150, 300)),
        copies: Some(Copies::Majority),
        read_lease: Some(true),
        set: settings(&own),
        ..Params::default()
    }
}

fn plan(scenario: &Scenario, params: &Params, seed: u64) -> Plan {
    scenario.compile(params, raft(), seed).unwrap_or_else(|why| panic!("{}: {why}", scenario.name))
}

#[test]
fn no_read_is_stale_while_clocks_are_as_declared() {
    let (mut runs, mut reads) = (0, 0);
    for scenario in scenario::of(raft()) {
        let params = guarded(700, 1);
        let Ok(_) = scenario.compile(&params, raft(), 0) else { continue };
        for seed in 0..2 {
            let judgement = run(&plan(scenario, &params, seed)).judgement;
            // Without `check-quorum` a leader that has lost its majority leads on, and a run that is about that shows nothing.
            let promised = scenario::promised(scenario, raft(), &params);
            let expected =
                |name: &&str| *name == "vacuity" || (*name == "liveness" && promised.liveness == Live::Breaks);
            let broken: Vec<_> = judgement.violated().filter(|name| !expected(name)).collect();
            let may = promised.safety != Promise::Holds;
            assert!(broken.is_empty() || may, "{}, seed {seed}: {broken:?}", scenario.name);
            (runs, reads) = (runs + 1, reads + judgement.metrics.reads_answered);
        }
    }
    assert!(runs > 40 && reads > 10_000, "{runs} runs with {reads} reads");
}

#[test]
fn clocks_worse_than_declared_are_found_and_nothing_is_promised_then() {
    let scenario = scenario::find("majority-copies").expect("a scenario");
    let (good, bad) = (guarded(500, 1), guarded(500, 1_000));
    assert_eq!(scenario::promise(scenario, raft(), &good), Promise::Holds);
    assert_eq!(scenario::promise(scenario, raft(), &bad), Promise::May);
    let steps = scenario::find("clock-step").expect("a scenario");
    assert_eq!(scenario::promise(steps, raft(), &good), Promise::May);
    let stale = |params: &Params| {
        let verdicts = (0..8).map(|seed| run(&plan(scenario, params, seed)).judgement);
        verdicts.filter(|judgement| judgement.violated().any(|name| name == "no_stale_read")).count()
    };
    assert_eq!(stale(&good), 0);
    assert!(stale(&bad) > 0);
}

#[test]
fn a_new_leader_answers_reads_long_before_it_acknowledges_writes() {
    let scenario = scenario::find("clean-kill").expect("a scenario");
    let (lease_ms, seeds) = (2_000, 8);
    let mut sooner = 0;
    for seed in 0..seeds {
        let run = sim::run::run(
            &plan(scenario, &guarded(lease_ms, 1), seed),
            Options { keep: usize::MAX, ..Options::default() },
        );
        let events = run.expect("it ends").kept.expect("events are kept");
        let killed_us = events.iter().find(|event| matches!(event.kind, Kind::Fault(_))).expect("a kill").t_us;
        // Answers to what the dead leader had been asked may still be under way.
        let later = events.iter().filter(|event| event.t_us > killed_us + 20_000);
        let first_ms = |is_it: fn(&Kind) -> bool| {
            let event = later.clone().find(|event| is_it(&event.kind)).expect("an answer");
            (event.t_us - killed_us) as f64 / 1e3
        };
        let read_ms = first_ms(|kind| matches!(kind, Kind::ReadReply { outcome: Outcome::Ok { .. }, .. }));
        let write_ms = first_ms(|kind| matches!(kind, Kind::Reply { outcome: Outcome::Ok { .. }, .. }));
        // The newest entry was at most a third of the lease old.
        let wait_ms = (lease_ms * 2 / 3) as f64..(lease_ms + 4 * CLOCK_BOUND_MS) as f64 + 100.0;
        assert!(wait_ms.contains(&write_ms), "seed {seed}: {write_ms} ms");
        sooner += u64::from(read_ms < 800.0);
    }
    assert!(sooner >= seeds - 2, "{sooner} of {seeds} runs: the limbo region is rarely met at 50 writes a second");
}

#[test]
fn random_plans_are_as_safe_under_it() {
    let mut compared = 0;
    for seed in 0..400 {
        let drawn = generate::plan(seed);
        if drawn.protocol != "raft-core" || drawn.groups > 1 || drawn.candidates.len() < 3 {
            continue;
        }
        let own = plan(scenario::find("steady").expect("a scenario"), &guarded(700, 1), seed);
        let mut guarded = Plan { copies: own.copies, set: own.set, read_lease: true, ..drawn };
        // The clocks of a swarm are as wrong as they like; here they are as wrong as declared.
        guarded
            .candidates
            .iter_mut()
            .for_each(|candidate| candidate.wall_offset_ms = candidate.wall_offset_ms.signum());
        let sets = |plan: &Plan| plan.faults.iter().any(|fault| fault.what.kind().is_of_clocks());
        if sets(&guarded) || Registry::default().plans.validate(&guarded).is_err() {
            continue;
        }
        guarded.candidates.iter_mut().for_each(|candidate| candidate.rate_ppm = candidate.rate_ppm.clamp(-20, 20));
        let judgement = run(&guarded).judgement;
        let reads = judgement.invariant("no_stale_read").expect("reads are judged");
        assert!(reads.holds, "swarm seed {seed}: {reads:?}");
        compared += u64::from(judgement.metrics.reads_answered > 0);
    }
    assert!(compared >= 3, "only {compared} plans have reads");
}
