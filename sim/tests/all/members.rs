//! A service with five members in separate processes: one that is cut off or paused, or whose clock jumps, does not
//! affect the others.

use crate::quorum::{Heard, QUORUM, heard};
use protocols::{
    election,
    history::{Kind, NodeState, json::Reader},
    point::Point,
};
use scenarios::{
    Params, Plan, Registry,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};
use sim::{
    determinism::Shared,
    run::{self, Options, Run},
};

const MEMBERS: u16 = 5;
/// When the trouble begins and ends, in milliseconds.
const TROUBLE: (f64, f64) = (10_000.0, 20_000.0);

/// Whether an answer was heard in this part of a run with trouble between two times, in milliseconds.
type During = fn(&Heard, u64, u64) -> bool;

fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.protocols.push(&QUORUM);
    registry
}

fn named(name: &str) -> Who {
    Who::from(name.to_owned())
}

fn during(what: impl Fn(f64) -> Fault) -> PlannedFault {
    PlannedFault { when: Trigger::At { ms: TROUBLE.0 }, what: what(TROUBLE.1 - TROUBLE.0), group: 0 }
}

/// Cuts these members off from the candidates.
fn cut_off(members: &[&str]) -> PlannedFault {
    let to: Vec<Who> = members.iter().map(|name| named(name)).collect();
    during(|ms| Fault::Partition { from: vec![Who::Candidates], to: to.clone(), one_way: false, for_ms: Some(ms) })
}

/// Half a minute of a fleet with five Redis servers and these faults; the first candidate is called `first`.
fn plan(first: &str, nodes: u16, faults: Vec<PlannedFault>) -> Plan {
    let params = Params { nodes, service_members: Some(MEMBERS), rate: 50, ..Params::default() };
    let steady = scenario::find("steady").expect("a scenario");
    let mut plan = steady.compile(&params, &QUORUM, 1).expect("the plan makes sense");
    first.clone_into(&mut plan.candidates[0].name);
    plan.faults = faults;
    registry().validate(&plan).expect("the plan makes sense");
    plan
}

fn run(plan: &Plan) -> (Run, Vec<(u64, Kind)>) {
    let text = Shared::default();
    let options = Options { registry: registry().into(), history: Some(Box::new(text.clone())), ..Options::default() };
    let run = run::run(plan, options).expect("the run ends");
    let text = text.text();
    let events = Reader::new(text.as_bytes()).expect("a history").map(|event| event.expect("an event"));
    let events = events.map(|event| (event.t_us / 1_000, event.kind)).collect();
    (run, events)
}

fn holds(run: &Run, invariant: &str) -> bool {
    let found = run.judgement.invariants.iter().find(|i| i.name == invariant);
    found.expect("an invariant").holds
}

fn passes(run: &Run) -> bool {
    run.judgement.verdict.name() == "pass"
}

fn elected_in_trouble(events: &[(u64, Kind)]) -> usize {
    // After one lease, a former leader is no longer renewed.
    let (from, to) = (TROUBLE.0 as u64 + 3_000, TROUBLE.1 as u64);
    let elected = events.iter().filter(|(at, kind)| matches!(kind, Kind::Elected(_)) && (from..to).contains(at));
    elected.count()
}

/// Whether a write succeeded in the second half of the trouble.
fn serves_in_trouble(events: &[(u64, Kind)]) -> bool {
    let (from, to) = ((TROUBLE.0 + TROUBLE.1) as u64 / 2, TROUBLE.1 as u64);
    events.iter().any(|(at, kind)| matches!(kind, Kind::Apply { .. }) && (from..to).contains(at))
}

#[test]
fn four_answer_and_the_fifth_that_was_cut_off_comes_back_with_what_it_knows() {
    // A single candidate with a correct clock, which is asked to resign whenever it renews.
    let mut faults = vec![cut_off(&["redis-3"])];
    let renewed = |nth| Trigger::Passage {
        point: Point::Renewed.name().to_owned(),
        node: Who::Leader,
        nth,
        after: None,
        delay_ms: 0.0,
        matching: None,
    };
    faults.extend((1..15).map(|nth| PlannedFault {
        when: renewed(nth),
        what: Fault::Resign { node: Who::Leader },
        group: 0,
    }));
    let mut plan = plan("cut-off-1", 1, faults);
    plan.timings.lease_ttl_ms = 1_000;
    plan.timings.renew_interval_ms = 400;
    plan.candidates[0].rate_ppm = 0;
    let (ran, _) = run(&plan);
    assert_eq!(ran.header.nodes[1..6], ["redis-1", "redis-2", "redis-3", "redis-4", "redis-5"]);
    assert_eq!((ran.header.services.len(), ran.header.services_needed), (5, 3));
    let heard = heard("cut-off-1");
    // Leaves out requests that were in flight and time out. The clock starts with the process.
    let (from, to) = (TROUBLE.0 as u64, TROUBLE.1 as u64);
    let of = |member: usize, is_in: During| {
        heard.iter().filter(move |h| h.member == member && is_in(h, from, to)).map(|h| h.answer).collect::<Vec<_>>()
    };
    let before: During = |h, from, _| h.at_ms < from - 500;
    let within: During = |h, from, to| (from + 500..to - 500).contains(&h.at_ms);
    let after: During = |h, _, to| h.at_ms > to + 2_500;
    let most = |answers: &[Option<Option<u64>>]| answers.iter().flatten().flatten().max().copied();
    for member in [0, 1, 3, 4] {
        let answers = of(member, within);
        assert!(answers.len() >= 2 && answers.iter().all(Option::is_some), "{member}: {answers:?}");
    }
    let silent = of(2, within);
    assert!(!silent.is_empty() && silent.iter().all(Option::is_none), "{silent:?}");
    // It continues from its own count, and is behind the others: nobody told it what they granted meanwhile.
    let (stood, now) = (most(&of(2, before)).expect("it answered"), most(&of(2, after)).expect("it answers again"));
    let others = most(&of(0, after)).expect("it answers");
    assert!(stood < now && now < others, "{stood}, then {now}; the others {others}");
}

#[test]
fn a_majority_of_the_members_is_enough_and_less_is_not() {
    let (ran, events) = run(&plan("majority-1", 3, vec![cut_off(&["redis-2", "redis-5"])]));
    assert!(passes(&ran), "{:#?}", ran.judgement.invariants);
    assert!(serves_in_trouble(&events));
    // Only a majority makes a leader, and the judge does not expect one meanwhile.
    let (ran, events) = run(&plan("minority-1", 3, vec![cut_off(&["redis-1", "redis-2", "redis-5"])]));
    assert!(passes(&ran), "{:#?}", ran.judgement.invariants);
    assert_eq!(elected_in_trouble(&events), 0);
    assert!(!serves_in_trouble(&events));
    // A paused or dead member has the same effect as one that is cut off.
    let dies = during(|ms| Fault::Kill { node: named("redis-4"), restart_after_ms: Some(ms) });
    let stops = during(|ms| Fault::Pause { node: named("redis-1"), for_ms: ms });
    let (ran, events) = run(&plan("stopped-1", 3, vec![dies.clone(), stops.clone()]));
    assert!(passes(&ran) && serves_in_trouble(&events), "{:#?}", ran.judgement.invariants);
    let (ran, events) = run(&plan("stopped-2", 3, vec![dies, stops, cut_off(&["redis-2"])]));
    assert!(passes(&ran) && !serves_in_trouble(&events), "{:#?}", ran.judgement.invariants);
    // All members, by the service's name or by the word for it.
    for (first, who) in [("all-1", Who::Service), ("all-2", named("redis"))] {
        let stops = during(|ms| Fault::Pause { node: who.clone(), for_ms: ms });
        let (ran, events) = run(&plan(first, 3, vec![stops]));
        let paused = events.iter().filter(|(_, kind)| matches!(kind, Kind::Node { state: NodeState::Paused, .. }));
        assert_eq!((paused.count(), serves_in_trouble(&events)), (5, false), "{first}");
        assert!(passes(&ran), "{:#?}", ran.judgement.invariants);
    }
}

/// Kleppmann, "How to do distributed locking": a clock that jumps gives a key away early. On one of five members that
/// changes nothing.
#[test]
fn every_member_has_a_clock_of_its_own() {
    let jump = |name: &str| {
        let what = Fault::ClockStep { node: named(name), by_ms: 10_000 };
        PlannedFault { when: Trigger::At { ms: TROUBLE.0 }, what, group: 0 }
    };
    let jumps = |first: &str, names: &[&str]| {
        let mut plan = plan(first, 3, names.iter().map(|name| jump(name)).collect());
        plan.dual_belief_bound_ms = Some(50.0);
        run(&plan).0
    };
    assert!(holds(&jumps("clocks-1", &["redis-1", "redis-4"]), "dual_belief"));
    assert!(!holds(&jumps("clocks-3", &["redis-1", "redis-3", "redis-4"]), "dual_belief"));
}

#[test]
fn runs_with_members_replay() {
    let plan = plan("replay-1", 3, vec![cut_off(&["redis-2", "redis-5"])]);
    let (one, again) = (run(&plan).0, run(&plan).0);
    assert_eq!(one.trace_hash(), again.trace_hash());
    let read = registry().read(&plan.to_json_pretty()).expect("a plan");
    assert_eq!((read.digest(), read), (plan.digest(), plan));
}

#[test]
fn what_no_service_has_is_refused() {
    let steady = scenario::find("steady").expect("a scenario");
    let with = |protocol: &str, members| {
        let protocol = registry().protocol(protocol).expect("a protocol");
        steady.compile(&Params { service_members: Some(members), ..Params::default() }, protocol, 1)
    };
    let refused = [
        ("redis-fenced", 5, "service_members.redis is 5, but the service of `redis-fenced` has one member"),
        ("redis-quorum", 0, "service_members.redis is 0; the service of `redis-quorum` has 1 to 9 members"),
        ("redis-quorum", 10, "service_members.redis is 10; the service of `redis-quorum` has 1 to 9 members"),
        ("raft", 3, "`raft` has no service whose members could be counted"),
    ];
    for (protocol, members, expected) in refused {
        assert_eq!(with(protocol, members).expect_err(expected).0, expected);
    }
    // A single member keeps the plain name, and its plan does not mention members.
    let one = with("redis-quorum", 1).expect("a plan");
    assert!(!one.to_json_pretty().contains("members"), "{}", one.to_json_pretty());
    assert_eq!(one.topology_of(&QUORUM).names()[3], "redis");
    // Independent servers have no leader; etcd's only member leads.
    let mut plan = with("redis-quorum", 3).expect("a plan");
    plan.faults = vec![during(|for_ms| Fault::Pause { node: Who::ServiceLeader, for_ms })];
    let expected = "faults[0] (pause) strikes the leader of the service, but that of `redis-quorum` has none; there is \
                    redis-1, redis-2, redis-3";
    assert_eq!(registry().validate(&plan).expect_err(expected).0, expected);
}

#[test]
fn the_member_that_leads_is_struck_when_there_is_one() {
    let etcd = &election::etcd::PROTOCOL;
    let steady = scenario::find("steady").expect("a scenario");
    let mut plan = steady.compile(&Params { rate: 50, ..Params::default() }, etcd, 1).expect("a plan");
    let at = |ms: f64, what| PlannedFault { when: Trigger::At { ms }, what, group: 0 };
    // While it is down, nobody leads: the pause waits until it is back.
    plan.faults = vec![
        at(10_000.0, Fault::Kill { node: Who::Service, restart_after_ms: Some(2_000.0) }),
        at(11_000.0, Fault::Pause { node: Who::ServiceLeader, for_ms: 500.0 }),
    ];
    let (_, events) = run(&plan);
    let node = plan.topology_of(etcd).only_member().expect("one etcd");
    let paused: Vec<u64> = events
        .iter()
        .filter(|(_, kind)| *kind == Kind::Node { node, state: NodeState::Paused })
        .map(|(at, _)| *at)
        .collect();
    assert_eq!(paused, [12_000]);
}
