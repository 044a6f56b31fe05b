//! distributed-lock-postgres 0.2: an advisory lock of a session, and a channel that says when it is lost.

use crate::store;
use distributed_lock_core::prelude::*;
use distributed_lock_postgres::PostgresLockProvider;

#[tokio::main]
pub async fn main() {
    let provider = PostgresLockProvider::new(store::variable("POSTGRES_URL")).await.expect("PostgreSQL answers");
    let lock = provider.create_lock("leader");
    loop {
        match lock.try_acquire().await {
            Ok(Some(handle)) => {
                println!("{}: leads", store::name());
                while !*handle.lost_token().borrow() {
                    if let Err(why) = store::write(None).await {
                        println!("{}: {why}", store::name());
                    }
                    tokio::time::sleep(store::WORK).await;
                }
                println!("{}: leads no more", store::name());
            }
            Ok(None) => {}
            Err(why) => println!("{}: {why}", store::name()),
        }
        tokio::time::sleep(store::WORK).await;
    }
}
