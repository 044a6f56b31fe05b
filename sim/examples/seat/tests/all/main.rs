//! The seat as it is, in a service around it, whatever happens to them.

mod again;
mod dropping;
mod encrypted;
mod fencing;
mod handing_over;
mod interrupted;
mod letting_go;
mod losing;
mod sessions;
mod watching;
mod world;

use fencepost::{World, consul, database, etcd, kubernetes, postgres, quorum, redis, scenarios, zookeeper};
use std::{env, time::Duration};

/// A belief ends before its lease.
const NONE: Duration = Duration::ZERO;
/// Except on a server whose leases are timed by its wall clock: when that is set forward, they end at once.
const LEASE: Duration = Duration::from_secs(3);

/// The example's service and its database; nothing happens.
fn stage() -> World {
    let invoices = "INSERT INTO invoices (amount) VALUES ".to_owned() + &vec!["(5)"; 1_000].join(", ");
    let schema = include_str!("../../schema.sql").to_owned() + fencepost_seat::fence::postgres::MIGRATION + &invoices;
    let world = World::new()
        .store(database("charges").token("token").schema(&schema))
        .env("DATABASE_URL", "postgres://invoices@store/invoices")
        .leads_when("leads with token {token}")
        .stops_when("leads no more");
    world::defect().into_iter().fold(world, |world, (name, value)| world.env(name, &value))
}

/// `SEEDS=150 cargo test --release swept` makes about 20,000 runs.
fn world() -> World {
    let seeds = env::var("SEEDS").map_or(1, |seeds| seeds.parse().expect("SEEDS is a number"));
    stage().seeds(0..seeds).swarm(0..10 * seeds).pause_before_every_send()
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
