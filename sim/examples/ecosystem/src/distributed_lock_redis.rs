//! distributed-lock-redis 0.2: a lock whose handle extends itself, and has a channel that says when it is lost.

use crate::store;
use distributed_lock_core::prelude::*;
use distributed_lock_redis::RedisLockProvider;
use std::time::Duration;

#[tokio::main]
pub async fn main() {
    // The defaults' proportions: an extension after a third of the lease, and nine tenths of it must be left.
    let provider = RedisLockProvider::builder().url(store::variable("REDIS_URL"));
    let provider = provider.expiry(Duration::from_millis(3_000)).extension_cadence(Duration::from_millis(1_000));
    let provider = provider.min_validity(Duration::from_millis(2_700)).build().await.expect("Redis answers");
    let lock = provider.create_lock("leader");
    loop {
        if let Ok(Some(handle)) = lock.try_acquire().await {
            println!("{}: leads", store::name());
            let mut lost = handle.lost_token().clone();
            while !*lost.borrow() {
                if let Err(why) = store::write(None).await {
                    println!("{}: {why}", store::name());
                }
                tokio::select! {
                    _ = lost.changed() => {}
                    () = tokio::time::sleep(store::WORK) => {}
                }
            }
            println!("{}: leads no more", store::name());
        }
        tokio::time::sleep(store::WORK).await;
    }
}
