#[path = "../tests/all/world/mod.rs"]
#[allow(dead_code)]
mod world;
use fencepost_libc::main_of;
use std::time::{Duration, Instant};
use world::{SECOND, World};
#[tokio::main(flavor = "current_thread")]
async fn asks() {
    a().await
}
#[tokio::main]
async fn asksm() {
    a().await
}
async fn a() {
    let client = redis::Client::open("redis://redis:6379/").unwrap();
    let mut redis = client.get_multiplexed_async_connection().await.unwrap();
    let mut ticks = tokio::time::interval(Duration::from_millis(100));
    loop {
        ticks.tick().await;
        redis::cmd("GET").arg("leader").query_async::<String>(&mut redis).await.unwrap();
    }
}
fn redis(_: u64, inbox: &mut Vec<u8>) -> Vec<u8> {
    let q = inbox.iter().filter(|b| **b == b'*').count();
    inbox.clear();
    b"+OK\r\n".repeat(q)
}
fn main() {
    let m = std::env::args().nth(1).is_some();
    let mut world = World::new(1);
    world.answers("redis", 6379, redis);
    for n in ["a", "b", "c"] {
        world.process(n, if m { main_of(asksm) } else { main_of(asks) });
    }
    let t = Instant::now();
    world.run_until(3000 * SECOND).unwrap();
    println!("{}", 3000.0 / t.elapsed().as_secs_f64());
}
