//! distributed-lock-redis and distributed-lock-postgres 0.2.0. Their README promises "Handle Loss Detection: Detect when locks
//! are lost due to connection issues" (line 17), and that a lock is released "automatically on drop" (line 118).

use crate::{
    services::{distributed_lock_postgres, distributed_lock_redis},
    suite::{STRIKES_S, quiet},
    world::{Service, Told, at, cut_off, named, on_postgres, tell},
};
use ::distributed_lock_postgres::PostgresLockProvider;
use distributed_lock_core::prelude::*;
use fencepost_libc::main_of;
use protocols::types::NodeId;
use std::time::Duration;

/// The leader before it is cut off for three leases, and what comes of it.
fn leader_cut_off(service: &Service) -> (NodeId, Told) {
    let before = tell(service, &quiet(service)).leader(STRIKES_S);
    let story = quiet(service).with(at(STRIKES_S), cut_off(named(before), 3.0 * service.lease_s));
    (before, tell(service, &story))
}

/// An extension that is not answered is "inconclusive" (`handle.rs`, lines 98 to 101), however often.
#[test]
fn redis_cannot_be_reached_and_the_lock_is_not_lost() {
    let service = distributed_lock_redis::service();
    let (before, told) = leader_cut_off(&service);
    let lost = told.said("leads no more")[0];
    assert_eq!(lost.1, before);
    assert!(lost.0 > STRIKES_S + 3.0 * service.lease_s, "{}", told.log());
    assert!(told.two_lead(), "{:?}", told.violated);
}

/// Nobody watches the connection, and the sender of the channel is dropped at once (`handle.rs`, lines 33 to 38).
#[test]
fn postgres_has_given_the_lock_to_another_and_it_is_not_lost() {
    let (before, told) = leader_cut_off(&distributed_lock_postgres::service());
    assert!(told.said("leads no more").is_empty(), "{}", told.log());
    assert!(told.last_write(before) > STRIKES_S + 50.0, "{}", told.log());
    assert!(told.two_lead(), "{:?}", told.violated);
}

#[tokio::main]
async fn takes_turns() {
    let provider = PostgresLockProvider::new(ecosystem::store::variable("POSTGRES_URL")).await.expect("it answers");
    let lock = provider.create_lock("turn");
    loop {
        if let Ok(Some(handle)) = lock.try_acquire().await {
            println!("has its turn");
            drop(handle);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// A handle's connection goes back to its pool with the lock (`handle.rs`, `Drop`): nobody else ever gets it.
#[test]
fn a_dropped_handle_keeps_the_lock() {
    let service = on_postgres(main_of(takes_turns)).named("takes_turns");
    let told = tell(&service, &quiet(&service));
    let mut nodes: Vec<NodeId> = told.said("has its turn").into_iter().map(|(_, node)| node).collect();
    assert!(nodes.len() > 10, "{}", told.log());
    nodes.dedup();
    assert_eq!(nodes.len(), 1, "{}", told.log());
}
