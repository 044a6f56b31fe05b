//! Crates that lock by a key in Redis.

use crate::{
    services::{armature_lock, redlock},
    suite::{STRIKES_S, quiet},
    world::{at, cut_off, named, on_redis, tell},
};
use fencepost_libc::main_of;
use rslock::LockManager;
use scenarios::fault::{Fault, Who};
use std::time::Duration;

// armature-distributed 0.4.0, `lock.rs`. `LockGuard::is_held` is documented as "`true` while the lease can still be proven
// held": but the watchdog tolerates two failed renewals (`MAX_RENEW_ERRORS`, line 20), a third of the lease apart and each
// with a timeout, and no deadline ends the guard when the lease does.

#[test]
fn a_guard_is_held_beyond_its_lease_while_redis_cannot_be_reached() {
    let before = tell(&armature_lock::service(), &quiet(&armature_lock::service())).leader(STRIKES_S);
    let told = tell(
        &armature_lock::service(),
        &quiet(&armature_lock::service()).with(at(STRIKES_S), cut_off(named(before), 9.0)),
    );
    let lost = told.said("leads no more")[0].0;
    // Its last renewal was before the partition.
    assert!(lost > STRIKES_S + armature_lock::service().lease_s + 0.4, "{}", told.log());
    let next = told.successor(before, STRIKES_S).expect("somebody leads");
    assert!(told.last_write(before) > next + 1.0, "{}", told.log());
    assert!(told.two_lead(), "{:?}", told.violated);
}

#[test]
fn a_guard_is_held_beyond_its_lease_while_redis_is_down() {
    let down = Fault::Kill { node: Who::Service, restart_after_ms: Some(6_000.0) };
    let told = tell(&armature_lock::service(), &quiet(&armature_lock::service()).with(at(STRIKES_S), down));
    let lost = told.said("leads no more")[0].0;
    assert!(lost > STRIKES_S + 2.0 * armature_lock::service().lease_s, "{}", told.log());
    assert!(told.two_lead(), "{:?}: {}", told.violated, told.log());
}

// redis-lock 0.5.1, `single.rs`: `lock_across` is documented as executing "a function while locking on a single resource",
// but by default the key lives for 10 ms (`DEFAULT_TTL`, line 15), nothing extends it, and the function is not ended.

#[test]
fn all_three_lead_at_once_in_a_steady_world() {
    let service = on_redis(main_of(ecosystem::redis_lock::main)).named("redis_lock");
    let told = tell(&service, &quiet(&service).lasting(3.0));
    assert!(told.unusual().is_empty(), "{}", told.log());
    assert!(told.two_lead(), "{:?}: {}", told.violated, told.log());
}

// redlock 2.0.0, `redlock.rs` line 152: `ttl - drift - elapsed` is of `usize`. An answer that takes longer than the lease
// makes it wrap, in a release build and wherever overflow is not checked, and so `lock` returns a lock that has expired,
// valid for 584 million years ("Time the lock is still valid. Should only be slightly smaller than the requested TTL").
// With overflow checks, it panics.

#[test]
fn a_slow_answer_makes_a_lock_that_never_ends() {
    // A connection and an answer take longer than the lease; a second is what a busy network may need.
    let slow =
        |from: Who, to: Who| Fault::Latency { from: vec![from], to: vec![to], extra_us: 1_000_000, for_ms: None };
    let story = quiet(&redlock::service()).lasting(60.0);
    let story = story.with(at(STRIKES_S), slow(Who::Candidates, Who::Service));
    let told = tell(&redlock::service(), &story.with(at(STRIKES_S), slow(Who::Service, Who::Candidates)));
    let for_ever: Vec<_> = told.said("leads for 18446744").into_iter().map(|(_, node)| node).collect();
    assert!(for_ever.len() > 1, "{}", told.log());
    assert!(told.two_lead(), "{:?}", told.violated);
}

// rslock 0.10.0, `lock.rs` lines 642 to 654: `is_freed` is documented as "`Ok(true)` if the lock is considered freed (either because
// the key does not exist or the value does not match)", and as an error only if Redis cannot be asked. It never returns
// `Ok(true)`: a lock that is free is an error.

#[tokio::main]
async fn is_it_free() {
    let manager = LockManager::new(vec![ecosystem::store::variable("REDIS_URL")]);
    let lock = manager.lock(ecosystem::store::name().as_bytes(), Duration::from_secs(1)).await.expect("nobody has it");
    println!("held: {:?}", manager.is_freed(&lock).await);
    tokio::time::sleep(Duration::from_secs(2)).await;
    println!("expired: {:?}", manager.is_freed(&lock).await);
}

#[test]
fn a_lock_that_has_expired_is_an_error_rather_than_free() {
    let service = on_redis(main_of(is_it_free)).named("is_it_free");
    let told = tell(&service, &quiet(&service).lasting(5.0));
    assert_eq!(told.said("held: Ok(false)").len(), 3, "{}", told.log());
    assert_eq!(told.said("expired: Err(RedisKeyNotFound)").len(), 3, "{}", told.log());
}
