//! Known bugs: each violates what it says, and the same runs without it hold.

use protocols::{
    bug::{Bug, Shown},
    by_design, election,
    fence::checks::Fencing,
    known_bugs,
};
use scenarios::{
    Params, Plan,
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

/// The number of runs that violate the bug's invariant.
fn violations(bug: &Bug, plans: &[Plan]) -> usize {
    let violates = |plan: &&Plan| {
        let run = crate::common::run(plan);
        run.judgement.invariants.iter().any(|i| i.name == bug.violation && !i.holds)
    };
    plans.iter().filter(violates).count()
}

#[test]
fn every_bug_says_where_it_is_and_what_it_violates() {
    let by_design = by_design::ALL.iter().map(|design| &design.bug);
    let all: Vec<&Bug> = known_bugs::ALL.into_iter().chain(by_design).collect();
    let told = |shown: &Shown| {
        let protocol = election::find(shown.protocol).expect("a protocol");
        let scenario = scenario::find(shown.scenario).expect("a scenario");
        assert!(scenario.needs.met_by(protocol) && shown.seeds > 0, "{}", shown.command());
    };
    for (place, bug) in all.iter().enumerate() {
        assert!(all[..place].iter().all(|other| other.id != bug.id), "{} twice", bug.id);
        assert!(bug.protocols.iter().all(|name| election::find(name).is_some()), "{}", bug.id);
        let is_figure = bug.violation.starts_with("metrics.");
        assert!(is_figure || reports::invariant::ALL.iter().any(|i| i.name == bug.violation), "{}", bug.id);
        assert!(bug.what.ends_with('.') && !bug.source.is_empty(), "{}", bug.id);
        assert!(bug.concerns(bug.shown.protocol), "{}", bug.id);
        told(&bug.shown);
    }
    by_design::ALL.iter().for_each(|design| told(&design.mended));
}

#[test]
fn a_server_that_forgets_gives_the_key_away_twice() {
    let bug = &election::redis_common::FORGOTTEN_ON_RESTART;
    // `redlock` has its own test: one server of the majority suffices there.
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

/// A stalled member revokes a lease that was renewed, and its holder learns of it late.
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
        let doubled = |plan: &&Plan| {
            crate::common::run(plan).judgement.invariant("leaders_acting_by_effect").is_some_and(|i| !i.holds)
        };
        of.iter().filter(doubled).count()
    });
    assert!(with > 0 && without == 0, "{with} with it, {without} without");
}
