//! redis-lock 0.5: `lock_across` runs a future with the lock, with its default options.

use crate::store;
use redis_0_27 as redis;
use redis_lock::LockAcrossOptions;
use std::sync::Arc;
use tokio::sync::Mutex;

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
    let connection = Arc::new(Mutex::new(client.get_multiplexed_async_connection().await?));
    loop {
        // Two appends with one lock.
        let work = async {
            println!("{}: leads", store::name());
            store::write(None).await?;
            tokio::time::sleep(store::WORK).await;
            store::write(None).await
        };
        redis_lock::lock_across(&[connection.clone()], "leader", work, LockAcrossOptions::default())
            .await
            .map_err(|why| why.to_string())??;
        println!("{}: leads no more", store::name());
    }
}
