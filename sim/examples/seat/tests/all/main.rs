//! The seat as it is, in a service around it, whatever happens to them.

mod again;
mod dropping;
mod encrypted;
mod fencing;
mod handing_over;
mod interrupted;
mod letting_go;
mod losing;
mod numbering;
mod preferring;
mod sessions;
mod slow;
mod stuck;
mod unfenced;
mod watching;
mod world;

use fencepost::{
    Database, Survey, World, consul, database, etcd, kubernetes, postgres, quorum, redis, redlock, scenarios, zookeeper,
};
use std::{env, time::Duration};

/// A belief ends before its lease.
const NONE: Duration = Duration::ZERO;
/// Except on a server whose leases are timed by its wall clock: when that is set forward, they end at once.
const LEASE: Duration = Duration::from_secs(3);

/// The example's service and its database; nothing happens.
fn stage() -> World {
    let charges = database("charges").token("token").schema(fencepost_seat::fence::postgres::MIGRATION);
    on(charges).leads_when("leads with token {token}")
}

fn on(charges: Database) -> World {
    let [tables, invoices] =
        [include_str!("../../migrations/1_tables.sql"), include_str!("../../migrations/2_invoices.sql")];
    let world = World::new()
        .store(charges.schema(tables).schema(invoices))
        .env("DATABASE_URL", "postgres://invoices@store/invoices")
        .stops_when("leads no more");
    world::defect().into_iter().fold(world, |world, (name, value)| world.env(name, &value))
}

/// `SEEDS=150 cargo test --release swept` makes about 20,000 runs.
fn world() -> World {
    swept(stage())
}

fn swept(stage: World) -> World {
    let seeds = env::var("SEEDS").map_or(1, |seeds| seeds.parse().expect("SEEDS is a number"));
    stage.seeds(0..seeds).swarm(0..10 * seeds).pause_before_every_send()
}

#[test]
fn swept_on_etcd() {
    println!("{:?}", world().every_scenario().belief_overlap(NONE).service(etcd()).fleet(3, seat::on_etcd).check());
}

#[test]
fn swept_on_consul() {
    // A takeover takes half a minute, and a run as much longer: the invoices must last.
    let world = world().every_scenario().env("PACE_MS", "1000");
    println!("{:?}", world.belief_overlap(NONE).service(consul()).fleet(3, seat::on_consul).check());
}

#[test]
fn swept_on_redis() {
    println!("{:?}", world().every_scenario().belief_overlap(LEASE).service(redis()).fleet(3, seat::on_redis).check());
}

#[test]
fn swept_on_postgres() {
    println!(
        "{:?}",
        world().every_scenario().belief_overlap(LEASE).service(postgres()).fleet(3, seat::on_postgres).check()
    );
}

#[test]
fn swept_on_kubernetes() {
    println!(
        "{:?}",
        world().every_scenario().belief_overlap(NONE).service(kubernetes()).fleet(3, seat::on_kubernetes).check()
    );
}

#[test]
fn swept_on_zookeeper() {
    println!(
        "{:?}",
        world().every_scenario().belief_overlap(NONE).service(zookeeper()).fleet(3, seat::on_zookeeper).check()
    );
}

#[test]
fn swept_among_themselves() {
    println!(
        "{:?}",
        world().every_scenario().belief_overlap(NONE).service(quorum()).fleet(3, seat::among_themselves).check()
    );
}

/// Without tokens: whatever a former leader sends, the database accepts.
fn unfenced() -> World {
    on(database("charges")).leads_when("leads by a lock")
}

/// What happens to a leader without pausing it, setting clocks or losing what the service knows.
const CALM: [&str; 6] = ["clean-kill", "partition", "flapping", "clique", "slow-service", "starvation"];

/// Scenarios in which the database accepted a former leader's write, or two believed for longer than a lease.
fn broken(survey: &Survey) -> Vec<&str> {
    println!("{survey}");
    assert!(survey.scenarios.iter().all(|row| row.nobody_led == 0), "somebody leads again");
    let broken = survey.scenarios.iter().filter(|row| row.two_led > 0);
    broken.map(|row| row.scenario.as_str()).collect()
}

#[test]
fn swept_on_postgres_lock() {
    let world = || unfenced().service(postgres()).fleet(3, seat::on_postgres_lock);
    let survey = swept(world()).every_scenario().belief_overlap(LEASE).survey().unwrap_or_else(|why| panic!("{why}"));
    let broken = broken(&survey);
    // The lock is gone with its server, which is back before this leader knows.
    assert!(broken.contains(&"service-restart"), "{broken:?}");
    let restarted = ["service-restart", "rolling-restart", "power-outage", "swarm"];
    assert!(broken.iter().all(|scenario| restarted.contains(scenario)), "a pause keeps the lock: {broken:?}");
    let calm = world().scenarios(CALM.map(scenarios::scenario)).seeds(0..6).belief_overlap(NONE);
    println!("{:?}", calm.check());
}

#[test]
fn swept_on_redlock() {
    let world = || unfenced().service(redlock()).fleet(3, seat::on_redlock);
    let survey = swept(world()).every_scenario().belief_overlap(LEASE).survey().unwrap_or_else(|why| panic!("{why}"));
    let broken = broken(&survey);
    // It was about to write when it was paused, and writes when it goes on.
    assert!(broken.contains(&"every-send"), "{broken:?}");
    let paused_or_set = ["every-send", "gc-pause", "takeovers", "clock-step", "clock-jump", "clock-skew", "swarm"];
    assert!(broken.iter().all(|scenario| paused_or_set.contains(scenario)), "{broken:?}");
    let calm = world().scenarios(CALM.map(scenarios::scenario)).seeds(0..6).belief_overlap(NONE);
    println!("{:?}", calm.check());
}

/// The leader hands over every few seconds.
fn handing_over() -> World {
    world().scenarios([scenarios::gc_pause(), scenarios::partition(), scenarios::clean_kill()])
}

#[test]
fn swept_on_etcd_handing_over() {
    println!("{:?}", handing_over().belief_overlap(NONE).service(etcd()).fleet(3, handing_over::on_etcd).check());
}

#[test]
fn swept_on_redis_handing_over() {
    println!("{:?}", handing_over().belief_overlap(LEASE).service(redis()).fleet(3, handing_over::on_redis).check());
}

/// Some members are preferred, among them the one that the scenario strikes.
fn preferring() -> World {
    world().scenarios([scenarios::gc_pause(), scenarios::partition(), scenarios::clean_kill()])
}

#[test]
fn swept_on_etcd_preferring() {
    println!("{:?}", preferring().belief_overlap(NONE).service(etcd()).fleet(3, preferring::on_etcd).check());
}

#[test]
fn swept_on_redis_preferring() {
    println!("{:?}", preferring().belief_overlap(LEASE).service(redis()).fleet(3, preferring::on_redis).check());
}

#[test]
fn swept_on_postgres_preferring() {
    println!("{:?}", preferring().belief_overlap(LEASE).service(postgres()).fleet(3, preferring::on_postgres).check());
}

#[test]
fn swept_among_themselves_preferring() {
    // Members that elect among themselves send so much that a pause before each send would take minutes.
    let world =
        stage().scenarios([scenarios::gc_pause(), scenarios::scenario("isolate-leader")]).seeds(0..5).swarm(0..20);
    println!("{:?}", world.belief_overlap(NONE).service(quorum()).fleet(3, preferring::among_themselves).check());
}

/// The one name of a cluster stands for all of its members, and the member that is cut off from the others still talks to
/// everybody.
#[test]
fn another_member_of_etcd_is_asked_when_one_does_not_answer() {
    let world = stage().scenarios([scenarios::scenario("service-leader-isolated")]).seeds(0..8);
    println!("{:?}", world.belief_overlap(NONE).service(etcd()).fleet(3, seat::on_etcd).check());
}

/// A renewal whose answer is lost is made again with the same time in it, and others count from the first.
#[test]
fn a_renewal_that_others_cannot_tell_from_the_one_before_prolongs_no_belief() {
    let world = stage().scenarios([scenarios::scenario("flapping")]).seeds(10..20);
    println!("{:?}", world.belief_overlap(NONE).service(kubernetes()).fleet(3, seat::on_kubernetes).check());
}
