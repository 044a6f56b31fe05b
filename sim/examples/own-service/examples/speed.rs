//! How much faster than real time the service runs in the world: `cargo run --release --example speed`.

use protocols::{election::program, service::redis};
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
    let params = Params { read_lease: Some(false), reads_per_s: Some(0), ..Params::default() };
    let mut plan = steady.compile(&params, program::of(&[&redis::SERVICE], true), 1)?;
    plan.duration_ms = SECONDS * 1_000;
    let program = Program::new(fencepost_libc::main_of(own_service::main))?
        .with_env("REDIS_URL", "redis://redis:6379")
        .with_env("STORE_URL", "http://store");
    let registry = Registry::default().with_program(program, &[&redis::SERVICE], true)?;
    for _ in 0..5 {
        let began = Instant::now();
        let run = run::run(&plan, Options { registry: registry.clone(), ..Options::default() })?;
        let took = began.elapsed().as_secs_f64();
        let printed = &run.printed;
        assert!(printed.iter().any(|line| line.text.contains("leads with")), "it did nothing: {printed:?}");
        println!("{SECONDS} s in {took:.2} s: {:.0} x real time; trace {}", SECONDS as f64 / took, run.trace_hash());
    }
    Ok(())
}
