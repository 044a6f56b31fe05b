//! rslock 0.10.0, `lock.rs` lines 642 to 654: `is_freed` is documented as "`Ok(true)` if the lock is considered freed (either because
//! the key does not exist or the value does not match)", and as an error only if Redis cannot be asked. It never returns
//! `Ok(true)`: a lock that is free is an error.

use crate::{
    suite::quiet,
    world::{on_redis, tell},
};
use fencepost_libc::main_of;
use rslock::LockManager;
use std::time::Duration;

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
