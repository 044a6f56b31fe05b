//! armature-distributed 0.4: `RedisLock`, whose guard renews itself and says whether it is still held.

use crate::store;
use armature_distributed::{DistributedLock, RedisLock};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(3);

#[tokio::main]
pub async fn main() {
    loop {
        if let Err(why) = lead().await {
            println!("{}: {why}", store::name());
        }
        tokio::time::sleep(store::WORK).await;
    }
}

async fn lead() -> Result<(), store::Failure> {
    let client = redis::Client::open(store::variable("REDIS_URL"))?;
    let lock = RedisLock::new("leader", TTL, client.get_connection_manager().await?);
    loop {
        let guard = lock.acquire().await?;
        println!("{}: leads", store::name());
        while guard.is_held() {
            store::write(None).await?;
            tokio::select! {
                () = guard.lost() => {}
                () = tokio::time::sleep(store::WORK) => {}
            }
        }
        println!("{}: leads no more", store::name());
    }
}
