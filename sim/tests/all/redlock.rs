//! What Redlock relies on in addition to clocks: that a server which has forgotten its grants stays down for a ttl, and
//! that nobody sets the wall clock while a lock is held.

use protocols::{election::redlock::PROTOCOL, point::Point};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};
use sim::run::{self, Options, Run};

const SEEDS: u64 = 20;

fn steady(seed: u64, bugs: &[&'static str], faults: Vec<PlannedFault>) -> Plan {
    let params = Params { rate: 50, ..Params::default() };
    let mut plan = scenario::find("steady").expect("a scenario").compile(&params, &PROTOCOL, seed).expect("a plan");
    plan.bugs = bugs.iter().map(|id| (*id).to_owned()).collect();
    plan.faults = faults;
    plan
}

fn runs(plan: impl Fn(u64) -> Plan) -> Vec<Run> {
    (0..SEEDS).map(|seed| run::run(&plan(seed), Options::default()).expect("the run ends")).collect()
}

fn believing_at_once(runs: &[Run]) -> usize {
    runs.iter().filter(|run| run.judgement.metrics.leaders_believing_max > 1).count()
}

fn named(name: &str) -> Who {
    Who::from(name.to_owned())
}

fn at(ms: f64, what: Fault) -> PlannedFault {
    PlannedFault { when: Trigger::At { ms }, what, group: 0 }
}

/// The `nth` passage of a point by the leader, after another trigger.
fn passed(point: Point, nth: u64, after: Option<Trigger>) -> Trigger {
    let point = point.name().to_owned();
    Trigger::Passage { point, node: Who::Leader, nth, after: after.map(Box::new), delay_ms: 0.0, matching: None }
}

/// The leader's keys are on three of the five servers. One of these dies just after a renewal, and is back empty after
/// `back_after_ms`.
fn forgets(seed: u64, back_after_ms: f64) -> Plan {
    let cut = |for_ms| {
        let to = ["redis-4", "redis-5"].map(named).to_vec();
        Fault::Partition { from: vec![Who::Leader], to, one_way: false, for_ms }
    };
    let dies = Fault::Kill { node: named("redis-3"), restart_after_ms: Some(back_after_ms) };
    let renewed = passed(Point::Renewed, 10, None);
    let faults = vec![at(4_000.0, cut(Some(20_000.0))), PlannedFault { when: renewed, what: dies, group: 0 }];
    steady(seed, &["redis-forgotten-on-restart"], faults)
}

#[test]
fn a_server_that_comes_back_empty_votes_twice_unless_it_stays_away_for_a_ttl() {
    let soon = runs(|seed| forgets(seed, 20.0));
    assert!(believing_at_once(&soon) > SEEDS as usize / 2, "{} of {SEEDS}", believing_at_once(&soon));
    assert!(soon.iter().any(|run| run.judgement.verdict.name() == "safety"));
    // The remedy: "delayed restarts". Until the server is back, the leader has two of five keys, and gives up its lock.
    let late = runs(|seed| forgets(seed, 3_100.0));
    assert_eq!(late.iter().filter(|run| run.judgement.metrics.elections > 1).count(), SEEDS as usize);
    // A server that persists its grants never grants twice.
    let kept = runs(|seed| Plan { bugs: Vec::new(), ..forgets(seed, 20.0) });
    assert_eq!(believing_at_once(&kept), 0);
}

/// The leader's wall clock is set back while it extends its lock, and then it is cut off from every server.
fn set_back(seed: u64, by_ms: i64) -> Plan {
    let during = passed(Point::BeforeAsk, 3, Some(passed(Point::BeforeRenew, 5, None)));
    let renewed = passed(Point::Renewed, 1, Some(during.clone()));
    let cut =
        Fault::Partition { from: vec![Who::Leader], to: vec![Who::Service], one_way: false, for_ms: Some(12_000.0) };
    let step = Fault::ClockStep { node: Who::Leader, by_ms };
    let fault = |when: Trigger, what| PlannedFault { when, what, group: 0 };
    steady(seed, &[], vec![fault(during, step), fault(renewed, cut)])
}

#[test]
fn a_wall_clock_that_is_set_back_during_a_lock_makes_it_worth_more_than_the_keys_live() {
    // More than a candidate takes at most to find the keys gone.
    let back = runs(|seed| set_back(seed, -4_000));
    assert_eq!(believing_at_once(&back), SEEDS as usize);
    assert!(back.iter().all(|run| run.judgement.metrics.elections > 1));
    let ahead = runs(|seed| set_back(seed, 1_000));
    assert_eq!(believing_at_once(&ahead), 0);
}
