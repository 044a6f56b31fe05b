//! What simulated processes cost: a wake-up, a second of three services with a Redis client, a start, the memory.
//!
//! `cargo run --release -p fencepost-libc --example measure`

#[path = "../tests/all"]
#[allow(dead_code, reason = "tests use the rest")]
mod tests {
    pub mod world;
}

use fencepost_libc::main_of;
use std::{
    sync::mpsc,
    time::{Duration, Instant},
};
use tests::world::{SECOND, World, zygote};

fn naps() {
    loop {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Two threads that take turns.
fn turns() {
    let (send, receive) = mpsc::sync_channel::<u32>(0);
    std::thread::spawn(move || (0..TURNS).for_each(|n| send.send(n).unwrap()));
    while receive.recv().is_ok() {}
}

const TURNS: u32 = 50_000;

#[tokio::main(flavor = "current_thread")]
async fn asks() {
    asks_redis(Duration::from_millis(100)).await
}

#[tokio::main]
async fn asks_on_workers() {
    asks_redis(Duration::from_millis(100)).await
}

async fn asks_redis(every: Duration) {
    let client = redis::Client::open("redis://redis:6379/").unwrap();
    let mut redis = client.get_multiplexed_async_connection().await.unwrap();
    let mut ticks = tokio::time::interval(every);
    loop {
        ticks.tick().await;
        redis::cmd("GET").arg("leader").query_async::<String>(&mut redis).await.unwrap();
    }
}

fn redis(_: u64, inbox: &mut Vec<u8>) -> Vec<u8> {
    let questions = inbox.iter().filter(|byte| **byte == b'*').count();
    inbox.clear();
    b"+OK\r\n".repeat(questions)
}

fn timed(world: &mut World, seconds: u64) -> (f64, u64) {
    let began = Instant::now();
    world.run_until(seconds * SECOND).unwrap();
    (began.elapsed().as_secs_f64(), world.hosts.iter().map(|host| host.exchanges).sum())
}

fn services(main: fencepost_process::Main, count: usize) -> World {
    let mut world = World::new(1);
    world.answers("redis", 6379, redis);
    for n in 0..count as u64 {
        // Not all at once, as no two machines are.
        world.process_at(n * 13_700_000, &format!("n{n}"), main);
    }
    world
}

/// The memory that is this process's alone, in KiB.
fn private(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line =
        |name: &str| text.lines().find(|line| line.starts_with(name)).and_then(|line| line.split_whitespace().nth(1));
    ["Private_Dirty:", "Private_Clean:"].iter().filter_map(|name| line(name)?.parse::<u64>().ok()).sum()
}

/// The smallest of nine: what is more is other programs' work on this machine.
fn least(measure: impl Fn() -> f64) -> f64 {
    (0..9).map(|_| measure()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let wake_up = least(|| {
        let mut world = World::new(1);
        world.says_quiet = false;
        let (seconds, exchanges) = timed(world.process("p", main_of(naps)), 100);
        seconds * 1e6 / exchanges as f64
    });
    println!("a wake-up, there and back: {wake_up:.1} us");
    let alone = least(|| {
        let mut world = World::new(1);
        timed(world.process("p", main_of(naps)), 100).0 * 1e6 / 100_000.0
    });
    println!("a wake-up that concerns nobody else: {alone:.2} us");
    let turn = least(|| {
        let mut world = World::new(1);
        timed(world.process("p", main_of(turns)), 1).0 * 1e6 / f64::from(TURNS)
    });
    println!("a turn from one thread to another: {turn:.1} us");
    for (what, main) in [("current_thread", main_of(asks)), ("multi_thread", main_of(asks_on_workers))] {
        let real = least(|| timed(&mut services(main, 3), 300).0);
        let exchanges = timed(&mut services(main, 3), 60).1;
        println!(
            "three services, redis crate, 10 requests a second each, {what}: {:.0} virtual seconds a second, {:.1} wake-ups a request",
            300.0 / real,
            exchanges as f64 / 1_800.0
        );
    }
    let start = least(|| {
        let zygote = zygote();
        let began = Instant::now();
        for _ in 0..50 {
            zygote.fork("p", main_of(naps)).unwrap().kill();
        }
        began.elapsed().as_secs_f64() * 1e6 / 50.0
    });
    println!("a process, from its start to its kill: {start:.0} us");
    for (what, main) in [
        ("a sleeping thread", main_of(naps)),
        ("tokio and redis", main_of(asks)),
        ("two workers more", main_of(asks_on_workers)),
    ] {
        let mut world = services(main, 20);
        timed(&mut world, 10);
        let all: u64 = (0..20).map(|n| private(world.pid(&format!("n{n}")))).sum();
        println!("memory of a process, {what}: {} KiB", all / 20);
    }
}
