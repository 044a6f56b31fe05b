//! A service as anybody writes it: of its processes, the one that holds a lease in Redis does the work. It knows nothing of
//! Fencepost, and `tests/failover.rs` runs it unmodified.

use redis::aio::MultiplexedConnection;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(3);
const RETRY: Duration = Duration::from_millis(500);

#[tokio::main]
pub async fn main() {
    let url = std::env::var("REDIS_URL").expect("REDIS_URL is set");
    let name = std::env::var("HOSTNAME").unwrap_or_else(|_| std::process::id().to_string());
    loop {
        if let Err(why) = serve(&url, &name).await {
            println!("{name}: {why}");
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Leads whenever it can, until the connection fails.
async fn serve(url: &str, name: &str) -> redis::RedisResult<()> {
    let mut redis = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
    loop {
        if acquire(&mut redis, name).await? {
            println!("{name}: leads");
            while renew(&mut redis, name).await? {
                tokio::time::sleep(LEASE / 3).await;
            }
            println!("{name}: leads no more");
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn acquire(redis: &mut MultiplexedConnection, name: &str) -> redis::RedisResult<bool> {
    let mut set = redis::cmd("SET");
    set.arg("leader").arg(name).arg("NX").arg("PX").arg(LEASE.as_millis() as u64);
    Ok(set.query_async::<Option<String>>(redis).await?.is_some())
}

async fn renew(redis: &mut MultiplexedConnection, name: &str) -> redis::RedisResult<bool> {
    let holder: Option<String> = redis::cmd("GET").arg("leader").query_async(redis).await?;
    if holder.as_deref() != Some(name) {
        return Ok(false);
    }
    redis::cmd("PEXPIRE").arg("leader").arg(LEASE.as_millis() as u64).query_async(redis).await
}
