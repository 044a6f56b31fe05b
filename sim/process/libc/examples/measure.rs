//! What a simulated process costs: a wake-up, a start, its memory.

#[path = "../tests/all/world/mod.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod world;

use fencepost_libc::main_of;
use std::time::{Duration, Instant};
use world::{SECOND, World};

fn naps() {
    loop {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn main() {
    for _ in 0..3 {
        let mut world = World::new(1);
        world.process("p", main_of(naps));
        let began = Instant::now();
        world.run_until(100 * SECOND).unwrap();
        let host = world.find("p");
        println!("{:.2} us a wake-up", began.elapsed().as_secs_f64() * 1e6 / host.exchanges as f64);
    }
}
