//! Several groups in one run: each has its own leader, tokens, resources and clients, and is judged separately.

use crate::common::{run, run_with_history};
use protocols::{
    election::{self, Protocol},
    service::{Service, redis},
};
use reports::Verdict;
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};
use serde_json::Value;
use sim::{
    registry::Registry,
    run::{Options, Run},
    sweep::{Sizes, Sweep},
    world::Driver,
};
use std::collections::BTreeSet;

const GROUPS: u16 = 8;

/// Eight groups on three nodes.
fn plan(name: &str, protocol: &str, seed: u64, fencing: bool) -> Plan {
    let params = Params { groups: GROUPS, rate: 20, fencing: fencing.into(), ..Params::default() };
    let scenario = scenario::find(name).expect("a scenario");
    let protocol = election::find(protocol).expect("a protocol");
    let plan = scenario.compile(&params, protocol, seed).expect("the parameters make sense");
    plan.validate().expect("a valid plan");
    plan
}

/// The same plan with all faults on another group than the first.
fn about(group: u16, plan: Plan) -> Plan {
    let faults = plan.faults.iter().map(|fault| PlannedFault { group, ..fault.clone() }).collect();
    Plan { faults, ..plan }
}

fn verdicts(run: &Run) -> Vec<Verdict> {
    run.judgement.groups.iter().map(|group| group.verdict).collect()
}

fn events(history: &str) -> Vec<Value> {
    history.lines().skip(1).map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn group(event: &Value) -> u64 {
    event["group"].as_u64().unwrap_or(0)
}

/// All eight groups pass, and each has written.
fn passes(run: &Run, name: &str) {
    assert_eq!(verdicts(run), vec![Verdict::Pass; GROUPS.into()], "{name}: {:#?}", run.judgement.invariants);
    for (group, judged) in run.judgement.groups.iter().enumerate() {
        let (writes, elections) = (judged.metrics.writes_accepted, judged.metrics.elections);
        assert!(writes > 100 && elections > 0, "{name}, group {group}: {elections} elections, {writes} writes");
    }
}

#[test]
fn eight_groups_have_their_own_leaders_tokens_and_resources() {
    for protocol in ["redis-fenced", "etcd-election", "raft", "kraft", "stonith"] {
        let (run, history) = run_with_history(&plan("clean-kill", protocol, 7, true), Options::default());
        passes(&run, protocol);
        let events = events(&history);
        let elected: Vec<&Value> = events.iter().filter(|event| event["event"] == "elected").collect();
        let again = |of: &u64| elected.iter().filter(|event| group(event) == *of).count() > 1;
        assert!((0..u64::from(GROUPS)).any(|of| again(&of)), "{protocol}: somebody was killed");
        for event in events.iter().filter(|event| event["event"] == "apply") {
            let name = event["resource"].as_str().expect("a resource");
            let of = name.split_once('@').map_or(0, |(_, group)| group.parse().expect("a number"));
            assert_eq!(of, group(event), "{protocol}: {event}");
            // A client asks its own group's leader.
            let client = event["request"].as_str().and_then(|request| request.split(':').next()).expect("a request");
            if client.starts_with('c') {
                assert_eq!(client.split_once('@').map_or("0", |(_, group)| group), of.to_string(), "{event}");
            }
        }
    }
}

#[test]
fn leaders_of_several_groups_need_not_be_one_node() {
    let leaders = |protocol: &str| {
        let (run, history) = run_with_history(&plan("clean-kill", protocol, 7, true), Options::default());
        passes(&run, protocol);
        let events = events(&history);
        // The last leader of each group.
        let last = |of: u64| {
            let mut elected = events.iter().filter(|event| event["event"] == "elected" && group(event) == of);
            elected.next_back().map(|event| event["node"].to_string())
        };
        (0..u64::from(GROUPS)).filter_map(last).collect::<BTreeSet<_>>()
    };
    // Where chance decides, it does so per group; where there is a queue or a preference, it is the same in every
    // group.
    for (protocol, several) in [("redis-fenced", true), ("raft", true), ("etcd-election", false), ("bully", false)] {
        let leaders = leaders(protocol);
        assert_eq!(leaders.len() > 1, several, "{protocol}: {leaders:?}");
    }
}

#[test]
fn one_plan_of_many_groups_is_one_run() {
    for protocol in ["redis-fenced", "raft", "bully"] {
        let plan = plan("gc-pause", protocol, 3, true);
        let again = Plan::from_json(&plan.to_json_pretty()).expect("what was written can be read");
        assert_eq!(again, plan);
        assert_eq!(run(&plan).trace_hash(), run(&again).trace_hash(), "{protocol}");
        let fewer = run(&Plan { groups: GROUPS - 1, ..plan });
        assert_eq!(fewer.judgement.groups.len(), usize::from(GROUPS) - 1);
    }
}

#[test]
fn both_drivers_step_groups_alike() {
    let plan = plan("gc-pause", "redis-fenced", 1, true);
    let (inline_run, inline) = run_with_history(&plan, Options::default());
    let task = Options { driver: Driver::Task, ..Options::default() };
    let (task_run, task) = run_with_history(&plan, task);
    assert_eq!(verdicts(&inline_run), verdicts(&task_run));
    let told = |history: &str| {
        let of =
            |event: &Value| ["elected", "deposed", "grant", "fault"].contains(&event["event"].as_str().unwrap_or(""));
        let mut all: Vec<Value> = events(history).into_iter().filter(of).collect();
        // Jitter and the executor decide which of two groups' clients is faster.
        all.sort_by_key(group);
        let line =
            |event: Value| format!("{} {} {} {}\n", group(&event), event["event"], event["node"], event["token"]);
        all.into_iter().map(line).collect::<String>()
    };
    let (inline, task) = (told(&inline), told(&task));
    assert!(inline == task, "{}", sim::determinism::first_difference(&inline, &task));
}

/// A leader of group 3 pauses with a write in flight; other groups' leaders on its node have none.
#[test]
fn a_violation_is_that_of_its_own_group() {
    for protocol in ["redis-fenced", "redis-lease", "etcd-election", "raft", "bully"] {
        let tokened = election::find(protocol).is_some_and(|protocol| protocol.tokened);
        let unfenced = about(3, plan("gc-pause", protocol, 42, false));
        let broken = run(&unfenced);
        let mut expected = vec![Verdict::Pass; GROUPS.into()];
        expected[3] = Verdict::Safety;
        assert_eq!(broken.judgement.verdict, Verdict::Safety, "{protocol}");
        // A leader that believes until it is told does so in every group on its node.
        match protocol {
            "bully" => assert_eq!(verdicts(&broken)[3], Verdict::Safety, "{protocol}"),
            _ => assert_eq!(verdicts(&broken), expected, "{protocol}: {:#?}", broken.judgement.invariants),
        }
        if tokened {
            passes(&run(&about(3, plan("gc-pause", protocol, 42, true))), protocol);
        }
    }
}

#[test]
fn what_befalls_one_leadership_befalls_one_group() {
    let at = |ms: f64, what: Fault| PlannedFault { when: Trigger::At { ms }, what, group: 5 };
    let cases = [
        ("redis-fenced", Fault::Resign { node: Who::Leader }),
        ("redis-fenced", Fault::DropKey { node: Who::Leader }),
        ("etcd-election", Fault::DropLease { node: Who::Leader }),
        ("raft", Fault::Transfer { node: Who::Leader, to: Who::Followers }),
    ];
    for (protocol, what) in cases {
        let name = format!("{protocol}, {}", what.kind());
        let mut plan = plan("steady", protocol, 9, true);
        let before: Vec<u64> = elections(&run(&plan));
        plan.faults = vec![at(6_000.0, what)];
        let after = run(&plan);
        passes(&after, &name);
        for (group, (before, after)) in before.into_iter().zip(elections(&after)).enumerate() {
            assert_eq!(after > before, group == 5, "{name}: group {group} had {before} elections, and {after} with it");
        }
    }
}

#[test]
fn a_service_that_keeps_one_leadership_has_one_group() {
    static KEEPS_ONE: Service = Service { name: "keeps-one", has_groups: false, ..redis::SERVICE };
    static ALONE: Protocol = Protocol { name: "alone", service: &KEEPS_ONE, ..election::redis_fenced::PROTOCOL };
    let registry = scenarios::Registry::default().with_protocol(&ALONE).expect("a new name");
    let of = |groups| Plan { protocol: "alone".to_owned(), groups, ..plan("steady", "redis-fenced", 1, true) };
    let why = "groups is 2, but the service of `alone`, `keeps-one`, keeps one leadership";
    assert_eq!(registry.validate(&of(2)).map_err(|e| e.0), Err(why.to_owned()));
    assert_eq!(registry.validate(&of(1)), Ok(()));
}

fn elections(run: &Run) -> Vec<u64> {
    run.judgement.groups.iter().map(|group| group.metrics.elections).collect()
}

#[test]
fn counters_of_tokens_are_lost_one_by_one() {
    let mut plan = plan("steady", "redis-fenced", 9, true);
    let at = |ms: f64, what: Fault| PlannedFault { when: Trigger::At { ms }, what, group: 2 };
    plan.faults = vec![
        at(5_000.0, Fault::Resign { node: Who::Leader }),
        at(6_000.0, Fault::DropKey { node: Who::Service }),
        at(6_500.0, Fault::DropKey { node: Who::Leader }),
    ];
    let run = run(&plan);
    let regressed = |group: &reports::Judgement| group.invariant("elections").is_some_and(|seen| !seen.holds);
    let regressed: Vec<usize> =
        (0..).zip(&run.judgement.groups).filter(|(_, group)| regressed(group)).map(|(group, _)| group).collect();
    assert_eq!(regressed, [2], "{:#?}", run.judgement.invariants);
}

#[test]
fn every_protocol_keeps_its_promises_in_every_group() {
    let names = ["gc-pause", "clean-kill", "isolate-leader", "power-outage", "service-restart", "disk-stall"];
    let params = Params { groups: 3, rate: 40, ..Params::default() };
    let sweep = Sweep {
        registry: &Registry::default(),
        scenarios: names.iter().map(|name| scenario::find(name).expect("a scenario")).collect(),
        protocols: election::ALL.to_vec(),
        sizes: Sizes::Of(vec![3]),
        seeds: 0..1,
        params: &params,
        shard: (1, 1),
        jobs: 2,
    };
    let outcome = sweep.run(|_| {}).expect("the parameters make sense");
    let why: Vec<_> =
        outcome.failures.iter().chain(&outcome.inconclusive).map(|f| format!("{}: {}", f.repro, f.why)).collect();
    assert!(why.is_empty(), "{}", why.join("\n"));
}
