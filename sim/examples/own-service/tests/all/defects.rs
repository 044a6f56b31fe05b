//! Defects that services have, put one at a time into a small one: a test of fifteen lines finds each, and the service
//! without any passes it.

mod service;

use fencepost::{Checked, Failure, World, failure::Kind, redis, scenarios, store};
use service::{Defect, run};
use std::{process::Termination, time::Duration};

/// With a store that compares tokens, wherever the leader is stopped.
fn fenced<F, T>(main: F) -> Result<Checked, Failure>
where
    F: Fn() -> T + Copy + 'static,
    T: Termination,
{
    let all = [
        scenarios::gc_pause(),
        scenarios::partition(),
        scenarios::clean_kill(),
        scenarios::takeovers(),
        scenarios::scenario("clock-skew"),
        scenarios::clock_set_back(),
    ];
    world(main).store(store()).scenarios(all).seeds(0..8).pause_before_every_send().try_check()
}

/// With a store that compares nothing. A service with a lease is safe there as long as nothing stops it.
fn unfenced<F, T>(main: F) -> Result<Checked, Failure>
where
    F: Fn() -> T + Copy + 'static,
    T: Termination,
{
    let all = ["partition", "clean-kill", "rolling-restart", "flapping"];
    world(main).store(store().unfenced()).scenarios(all.map(scenarios::scenario)).seeds(0..8).try_check()
}

/// Whatever is drawn.
fn drawn<F, T>(main: F) -> Result<Checked, Failure>
where
    F: Fn() -> T + Copy + 'static,
    T: Termination,
{
    world(main).store(store()).swarm(0..SWARM).try_check()
}

/// Wherever any process is stopped, for as long as matters.
fn exhaustive<F, T>(main: F) -> Result<Checked, Failure>
where
    F: Fn() -> T + Copy + 'static,
    T: Termination,
{
    world(main).store(store()).exhaustive(200).try_check()
}

fn world<F, T>(main: F) -> World
where
    F: Fn() -> T + Copy + 'static,
    T: Termination,
{
    let world = World::new().service(redis()).fleet(3, main).shrink_runs(0).belief_overlap(Duration::from_millis(150));
    world.leads_when("leads with token {token}").stops_when("leads no more")
}

/// How many drawn plans.
const SWARM: u64 = 60;

/// What finds each defect: the scenario, its seed, and how many runs it takes.
const FOUND: &str = include_str!("defects/found.txt");

/// The same test makes the same runs, so it finds a defect in the same one.
fn is_recorded(defect: Defect, failure: &Failure) {
    let found = match &failure.broken {
        Some(broken) => {
            let violated = broken.violated.join(", ");
            format!("{}, seed {}, in run {}: {violated}", broken.scenario, broken.seed, broken.runs)
        }
        None => format!("before any scenario: {:?}", failure.kind),
    };
    let line = format!("{defect:?}: {found}");
    assert!(FOUND.lines().any(|known| known == line), "tests/all/defects/found.txt has another line than\n{line}");
}

macro_rules! found {
    ($($name:ident: $defect:ident $world:ident $kind:ident;)*) => {
        $(
            #[test]
            fn $name() {
                let failure = $world(|| run(Defect::$defect)).expect_err("the defect is found");
                assert_eq!(failure.kind, Kind::$kind, "{failure}");
                is_recorded(Defect::$defect, &failure);
            }
        )*
    };
}

found! {
    no_deadline: NoDeadline unfenced Safety;
    wall_clock: WallClock fenced Safety;
    no_timeout: NoTimeout unfenced Safety;
    error_ignored: ErrorIgnored unfenced Safety;
    answer_ignored: AnswerIgnored fenced Safety;
    belief_from_answer: BeliefFromAnswer fenced Safety;
    not_joined: NotJoined unfenced Safety;
    checked_once_per_batch: CheckedOncePerBatch unfenced Safety;
    blocks_the_runtime: BlocksTheRuntime unfenced Safety;
    fails_open: FailsOpen unfenced Safety;
    overwrites: Overwrites unfenced Safety;
    takes_old_lease: TakesOldLease drawn Safety;
    no_expiry: NoExpiry unfenced NobodyTakesOver;
    wrong_unit: WrongUnit unfenced Safety;
    one_name_for_all: OneNameForAll unfenced Safety;
    token_cached: TokenCached fenced Safety;
    token_cached_by_a_second_pause: TokenCached exhaustive Safety;
    token_at_write: TokenAtWrite fenced Safety;
    token_of_wall_clock: TokenOfWallClock fenced Safety;
    followers_write: FollowersWrite unfenced Safety;
    leads_once: LeadsOnce fenced Liveness;
    old_work_goes_on: OldWorkGoesOn fenced Safety;
}

/// Without tokens and without a word from the service, no write can be told from another, and nothing passes.
#[test]
fn what_cannot_be_told_does_not_pass() {
    let silent = || {
        let world = World::new().service(redis()).fleet(3, || run(Defect::ShowsNoToken)).store(store().unfenced());
        world.scenarios([scenarios::clean_kill()]).seeds(0..2)
    };
    let failure = silent().try_check().expect_err("nothing tells its leaderships apart");
    assert_eq!(failure.kind, Kind::Inconclusive, "{failure}");
    assert!(failure.to_string().contains("no line says when a leadership begins"), "{failure}");
    silent().leads_when("leads with token").stops_when("leads no more").check();
}

/// Several faults at once are no defect either.
#[test]
fn without_a_defect_drawn_plans_pass() {
    let checked = drawn(|| run(Defect::None)).expect("it has no defect");
    assert!(checked.inconclusive < SWARM / 2, "{checked}");
}

#[test]
fn without_a_defect_all_pass() {
    println!("{}", fenced(|| run(Defect::None)).expect("it has no defect"));
    println!("{}", exhaustive(|| run(Defect::None)).expect("it has no defect"));
    println!("{}", unfenced(|| run(Defect::None)).expect("it has no defect"));
}
