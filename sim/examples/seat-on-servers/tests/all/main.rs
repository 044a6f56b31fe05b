//! The seat on real servers, for a minute: few faults of each kind, and no write lost, done twice, or accepted from a
//! former leader. `cargo run --release -- storm 1000` is the same for a quarter of an hour.
//!
//! `FENCEPOST_SERVERS=install` installs missing servers; otherwise these tests say that they are skipped.

mod logins;

use seat_on_servers::{Service, disk, many, storm::Storm};
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
    println!("{}: {}", service.name(), outcome.verdict);
    assert!(outcome.verdict.is_clean(), "{}", outcome.verdict);
    assert_eq!(outcome.struck.len(), storm.kills + storm.pauses + 3 * storm.others);
    assert!(outcome.verdict.acknowledged > outcome.struck.len(), "{}: each leader writes", outcome.verdict);
}

#[test]
fn holds_on_etcd() {
    holds_on(Service::Etcd);
}

#[test]
fn holds_on_redis() {
    holds_on(Service::Redis);
}

#[test]
fn holds_on_postgres() {
    holds_on(Service::Postgres);
}

/// Seats whose backends are clones share a connection.
#[test]
fn a_hundred_seats_in_a_process_have_one_connection() {
    let _alone = alone();
    for service in Service::ALL {
        let connections = many::connections(&program(), service, 100).expect("all lead");
        assert!(connections.is_none_or(|connections| connections == 1), "{}: {connections:?}", service.name());
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
    let Some(filled) = disk::fill(program()).expect("the fleet goes on") else { return };
    println!("{filled}");
    assert!(filled.verdict.is_clean(), "{filled}");
    let [before, full, after] = filled.written;
    assert!(before > 0 && after > 0, "{filled}");
    assert!(full < before + after, "{filled}");
}
