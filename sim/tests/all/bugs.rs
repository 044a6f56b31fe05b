//! Known bugs that can be switched on: each violates what it says, and the same runs without it hold.

use protocols::{
    bug::{Bug, Shown},
    by_design, election, known_bugs,
};
use scenarios::{Params, Plan, scenario};

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
