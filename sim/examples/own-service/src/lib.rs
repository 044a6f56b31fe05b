//! A service as anybody writes it: of its processes, the one that holds a lease in Redis numbers what it stores. It knows
//! nothing of Fencepost, and `tests/` runs it unmodified.

use redis::aio::MultiplexedConnection;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(3);
const RETRY: Duration = Duration::from_millis(500);
const WORK: Duration = Duration::from_millis(250);

#[tokio::main]
pub async fn main() {
    let url = std::env::var("REDIS_URL").expect("REDIS_URL is set");
    let store = std::env::var("STORE_URL").expect("STORE_URL is set");
    let name = std::env::var("HOSTNAME").expect("HOSTNAME is set");
    loop {
        if let Err(why) = serve(&url, &store, &name).await {
            println!("{name}: {why}");
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Leads whenever it can, until something fails.
async fn serve(url: &str, store: &str, name: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut redis = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
    loop {
        if let Some(token) = acquire(&mut redis, name).await? {
            println!("{name}: leads with token {token}");
            while renew(&mut redis, name).await? {
                write(store, token).await?;
                tokio::time::sleep(WORK).await;
            }
            println!("{name}: leads no more");
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// The fencing token, if the lease was free.
async fn acquire(redis: &mut MultiplexedConnection, name: &str) -> redis::RedisResult<Option<u64>> {
    let mut set = redis::cmd("SET");
    set.arg("leader").arg(name).arg("NX").arg("PX").arg(LEASE.as_millis() as u64);
    if set.query_async::<Option<String>>(redis).await?.is_none() {
        return Ok(None);
    }
    redis::cmd("INCR").arg("token").query_async(redis).await.map(Some)
}

/// Whether the lease is still ours.
async fn renew(redis: &mut MultiplexedConnection, name: &str) -> redis::RedisResult<bool> {
    let holder: Option<String> = redis::cmd("GET").arg("leader").query_async(redis).await?;
    if holder.as_deref() != Some(name) {
        return Ok(false);
    }
    redis::cmd("PEXPIRE").arg("leader").arg(LEASE.as_millis() as u64).query_async(redis).await
}

/// Stores the next number. ureq blocks, so it has a thread of its own.
async fn write(store: &str, token: u64) -> Result<(), Box<dyn std::error::Error>> {
    let url = format!("{store}/sequence");
    let put = move || ureq::put(&url).header("fencing-token", token.to_string()).send_empty();
    tokio::task::spawn_blocking(put).await??;
    Ok(())
}
