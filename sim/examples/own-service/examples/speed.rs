//! How much faster than real time the service runs in the world: `cargo run --release --example speed`.

use protocols::election;
use scenarios::{Params, scenario};
use sim::{
    program::Program,
    registry::Registry,
    run::{self, Options},
};
use std::time::Instant;

const SECONDS: u64 = 600;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let steady = scenario::find("steady").ok_or("no steady")?;
    let protocol = election::find("redis-lease").ok_or("no redis-lease")?;
    let mut plan = steady.compile(&Params { rate: 1, ..Params::default() }, protocol, 1)?;
    plan.duration_ms = SECONDS * 1_000;
    plan.requires.clear();
    let program = Program::new(fencepost_libc::main_of(own_service::main))?
        .with_env("REDIS_URL", "redis://redis:6379")
        .with_env("STORE_URL", "http://store");
    for _ in 0..5 {
        let registry = Registry { program: Some(program.clone()), ..Registry::default() };
        let began = Instant::now();
        let run = run::run(&plan, Options { registry, ..Options::default() })?;
        let took = began.elapsed().as_secs_f64();
        let printed = program.take_printed();
        assert!(printed.iter().any(|line| line.text.contains("leads with")), "it did nothing: {printed:?}");
        println!("{SECONDS} s in {took:.2} s: {:.0} x real time; trace {}", SECONDS as f64 / took, run.trace_hash());
    }
    Ok(())
}
