//! How many runs of gc-pause with three genuine etcd clients a second: `cargo run --release --example etcd_speed`.

use protocols::{election::program, service::etcd};
use scenarios::{Params, scenario};
use sim::{
    program::Program,
    registry::Registry,
    run::{self, Options},
};
use std::time::Instant;

const RUNS: u64 = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gc_pause = scenario::find("gc-pause").ok_or("no gc-pause")?;
    let params = Params { read_lease: Some(false), reads_per_s: Some(0), ..Params::default() };
    let main = fencepost_libc::main_of(ecosystem::etcd_election::main);
    let program = Program::new(main)?.with_env("ETCD_URL", "http://etcd:2379").with_env("STORE_URL", "http://store");
    let registry = Registry::default().with_program(program, &[&etcd::SERVICE], true)?;
    let (began, mut virtual_ms, mut events) = (Instant::now(), 0, 0);
    for seed in 0..RUNS {
        let plan = gc_pause.compile(&params, program::of(&[&etcd::SERVICE], true), seed)?;
        let run = run::run(&plan, Options { registry: registry.clone(), ..Options::default() })?;
        virtual_ms += run.facts.simulated_ms.unwrap_or(0);
        events += run.facts.events.unwrap_or(0);
    }
    let took = began.elapsed().as_secs_f64();
    let [runs, events, virtual_s] = [RUNS as f64, events as f64, virtual_ms as f64 / 1e3].map(|count| count / took);
    println!("{runs:.1} runs, {events:.0} events and {virtual_s:.0} virtual seconds a second");
    Ok(())
}
