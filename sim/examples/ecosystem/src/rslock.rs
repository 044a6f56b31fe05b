//! rslock 0.10: `LockManager::using` holds the lock while a future runs, and extends it.

use crate::store;
use rslock::LockManager;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(3);

#[tokio::main]
pub async fn main() {
    let manager = LockManager::new(vec![store::variable("REDIS_URL")]);
    loop {
        let lead = async || {
            println!("{}: leads", store::name());
            loop {
                store::write(None).await?;
                tokio::time::sleep(store::WORK).await;
            }
        };
        let ended: Result<Result<(), store::Failure>, _> = manager.using(b"leader", TTL, lead).await;
        println!("{}: leads no more: {ended:?}", store::name());
    }
}
