//! Known bugs that can be switched on: each violates what it says, and the same runs without it hold.

use protocols::{bug::Bug, election, fence::checks::Fencing, known_bugs, point::Point};
use scenarios::{
    Params, Plan, belief,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};

/// The plans of a scenario at the first seeds, with and without a bug.
fn plans(scenario: &str, protocol: &str, bug: &'static Bug, seeds: u64) -> [Vec<Plan>; 2] {
    let (scenario, protocol) = (scenario::find(scenario).expect("a scenario"), election::find(protocol).expect("one"));
    let of = |bugs: Vec<&'static Bug>| {
        let params = Params { rate: 50, bugs, ..Params::default() };
        (0..seeds).map(|seed| scenario.compile(&params, protocol, seed).expect("a plan")).collect()
    };
    [of(vec![bug]), of(Vec::new())]
}

/// How many runs violate what the bug says that it violates.
fn violations(bug: &Bug, plans: &[Plan]) -> usize {
    let violates = |plan: &&Plan| {
        let run = crate::common::run(plan);
        run.judgement.invariants.iter().any(|i| i.name == bug.violation && !i.holds)
    };
    plans.iter().filter(violates).count()
}

#[test]
fn every_bug_says_where_it_is_and_what_it_violates() {
    for (place, bug) in known_bugs::ALL.iter().enumerate() {
        assert!(known_bugs::ALL[..place].iter().all(|other| other.id != bug.id), "{} twice", bug.id);
        assert!(bug.protocols.iter().all(|name| election::find(name).is_some()), "{}", bug.id);
        assert!(reports::invariant::ALL.iter().any(|i| i.name == bug.violation), "{}", bug.id);
        assert!(bug.what.ends_with('.') && !bug.source.is_empty(), "{}", bug.id);
    }
}

#[test]
fn a_lease_that_is_counted_from_the_answer_outlasts_the_key() {
    let bug = &election::redis_lease::BELIEF_FROM_ANSWER;
    let slow_and_then_silent = |mut plan: Plan| {
        let slow = Fault::Latency {
            from: vec![Who::Service],
            to: vec![Who::Leader],
            extra_us: 900_000,
            for_ms: Some(9_000.0),
        };
        let cut = Fault::Partition {
            from: vec![Who::Trigger],
            to: vec![Who::Service],
            one_way: false,
            for_ms: Some(8_000.0),
        };
        let (point, node) = (Point::Renewed.name().to_owned(), Who::Leader);
        let after = Some(Box::new(Trigger::At { ms: 5_000.0 }));
        let renewed = Trigger::Passage { point, node, nth: 2, after, delay_ms: 0.0 };
        plan.faults = vec![
            PlannedFault { when: Trigger::At { ms: 5_000.0 }, what: slow, group: 0 },
            PlannedFault { when: renewed, what: cut, group: 0 },
        ];
        plan.dual_belief_bound_ms = belief::bound_ms(&plan, &election::redis_lease::PROTOCOL);
        plan.validate().expect("the plan makes sense");
        plan
    };
    let plans =
        plans("steady", "redis-lease", bug, 3).map(|of| of.into_iter().map(slow_and_then_silent).collect::<Vec<_>>());
    assert_eq!(plans.each_ref().map(|plans| violations(bug, plans)), [3, 0]);
}

#[test]
fn a_server_that_forgets_gives_the_key_away_twice() {
    let bug = &election::redis_common::FORGOTTEN_ON_RESTART;
    // `redlock` has a test of its own: one server of the majority is enough there.
    for protocol in bug.protocols.iter().filter(|name| **name != "redlock") {
        let [with, without] = plans("service-restart", protocol, bug, 8).map(|plans| violations(bug, &plans));
        assert!(with > 0 && without == 0, "{protocol}: {with} with it, {without} without");
    }
}

#[test]
fn a_store_that_forgets_gives_numbers_twice() {
    let bug = &protocols::fence::store::FORGOTTEN_ON_RESTART;
    for protocol in ["redis-fenced", "etcd-election"] {
        let [with, without] = plans("store-restart", protocol, bug, 4).map(|plans| violations(bug, &plans));
        assert!(with > 0 && without == 0, "{protocol}: {with} with it, {without} without");
    }
}

/// The lease that a stalled member revokes is its holder's no more, and the holder is told late.
#[test]
fn a_member_that_stalled_revokes_leases_that_were_renewed() {
    let bug = &protocols::service::etcd::STALE_REVOCATION;
    let told_late = |mut plan: Plan| {
        let stall = plan.faults.first().expect("the service's leader stalls").clone();
        let (Trigger::At { ms }, Fault::SyncHang { for_ms: Some(for_ms), .. }) = (&stall.when, &stall.what) else {
            return None;
        };
        let (from, to) = (vec![Who::Service], vec![Who::Leader]);
        let cut = Fault::Partition { from, to, one_way: true, for_ms: Some(3_000.0) };
        let when = Trigger::At { ms: ((ms + for_ms - 100.0) * 1e3).round() / 1e3 };
        plan.faults.push(PlannedFault { when, what: cut, group: 0 });
        plan.fencing = Fencing::Off;
        plan.validate().expect("the plan makes sense");
        Some(plan)
    };
    let plans = plans("service-leader-stall", "etcd-election", bug, 8);
    let [with, without] = plans.map(|of| {
        let of: Vec<Plan> = of.into_iter().filter_map(told_late).collect();
        violations(bug, &of)
    });
    assert!(with > 0 && without == 0, "{with} with it, {without} without");
}
