//! The seat on real servers, for some minutes: few faults of each kind, and no write lost, done twice, or accepted from a
//! former leader. `cargo run --release -- storm 1000` is the same for a quarter of an hour.
//!
//! `FENCEPOST_SERVERS=install` installs missing servers; otherwise these tests say that they are skipped.

mod ending;
mod logins;
mod objects;

use seat_on_servers::{
    Service,
    disk::{self, Whose},
    many,
    storm::Storm,
};
use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_seat-on-servers").into()
}

/// One after the other: each needs all processors.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn holds_on(service: Service) {
    let _alone = alone();
    let storm = Storm::small(program(), service);
    let Some(outcome) = storm.play().expect("the fleets go on") else { return };
    println!("{}: {}; before the first fault {}", service.name(), outcome.verdict, outcome.calm);
    assert!(outcome.calm.is_clean(), "two led before the first fault: {}", outcome.calm);
    assert!(outcome.calm.acknowledged >= storm.fleets, "{}: each first leader writes", outcome.calm);
    assert_eq!(outcome.struck.len(), storm.faults() - outcome.left_out);
    assert!(outcome.verdict.acknowledged > outcome.struck.len(), "{}: each leader writes", outcome.verdict);
    // Without tokens, nothing keeps a former leader's writes out. What it wrote is counted; the database loses nothing.
    assert_eq!(outcome.verdict.lost, 0, "{}", outcome.verdict);
    assert!(outcome.verdict.is_clean() || !service.has_tokens(), "{}", outcome.verdict);
}

#[test]
fn holds_on_consul() {
    holds_on(Service::Consul);
}

#[test]
fn holds_on_etcd() {
    holds_on(Service::Etcd);
}

#[test]
fn holds_on_kubernetes() {
    holds_on(Service::Kubernetes);
}

#[test]
fn holds_on_postgres() {
    holds_on(Service::Postgres);
}

#[test]
fn holds_on_redis() {
    holds_on(Service::Redis);
}

#[test]
fn holds_on_zookeeper() {
    holds_on(Service::Zookeeper);
}

#[test]
fn holds_among_members() {
    holds_on(Service::Raft);
}

#[test]
fn holds_in_calm_on_a_lock_of_postgres() {
    holds_on(Service::PostgresLock);
}

#[test]
fn holds_in_calm_on_redlock() {
    holds_on(Service::Redlock);
}

/// Seats whose backends are clones share a connection to each server; on Consul, as many as are for all of them.
#[test]
fn a_hundred_seats_in_a_process_share_connections() {
    let _alone = alone();
    let most = [(Service::Etcd, 1), (Service::Redis, 1), (Service::Postgres, 1), (Service::Redlock, 5)];
    for (service, most) in most.into_iter().chain([(Service::Consul, 64)]) {
        let connections = many::connections(&program(), service, 100).expect("all lead");
        assert!(connections.is_none_or(|connections| connections <= most), "{}: {connections:?}", service.name());
    }
}

/// `holds_on_…` could fail.
#[test]
fn without_the_fence_former_leaders_write() {
    let _alone = alone();
    let Some(outcome) = Storm::unfenced(program()).play().expect("the fleets go on") else { return };
    println!("{}", outcome.verdict);
    assert!(outcome.verdict.stale > 0, "{}", outcome.verdict);
    assert!(outcome.verdict.twice > 0, "{}", outcome.verdict);
    assert_eq!(outcome.verdict.lost, 0, "{}", outcome.verdict);
}

#[test]
fn a_full_disk_stops_the_writes_until_there_is_room() {
    let _alone = alone();
    let Some(filled) = disk::fill(program(), Whose::Database).expect("the fleet goes on") else { return };
    println!("{filled}");
    assert!(filled.verdict.is_clean(), "{filled}");
    let [before, full, after] = filled.written;
    assert!(before > 0 && after > 0, "{filled}");
    assert!(full < before + after, "{filled}");
}

#[test]
fn a_service_whose_disk_is_full_is_reported_until_there_is_room() {
    let _alone = alone();
    for service in [Service::Etcd, Service::Postgres] {
        let Some(filled) = disk::fill(program(), Whose::Service(service)).expect("the fleet goes on") else { return };
        println!("{filled}");
        assert!(filled.verdict.is_clean(), "{filled}");
        let [before, _, after] = filled.written;
        assert!(before > 0 && after > 0, "{filled}");
        assert!(!filled.failing.is_empty(), "no member says that the service fails: {filled}");
    }
}
