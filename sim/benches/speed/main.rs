//! Compares the engine's speed with other simulators on one message pattern: clients ask a leader, which asks a store
//! and then answers. All contestants take turns in one process on one core, so that the ratios hold on a noisy machine.
//!
//! `cargo bench --features peers` prints the table that `docs/speed.md` quotes; `-- --quick` takes a tenth of the time.
//! Without the feature, turmoil is left out.

mod heap;
mod madsim_tcp;
#[cfg(feature = "peers")]
mod turmoil_tcp;

use scenarios::{Params, scenario};
use sim::run::{self, Options};
use std::{process::Command, time::Instant};

/// The first argument of the child process that [`one_run`] starts.
const ONE_RUN: &str = "--one-run";

/// The number of messages delivered, and the seconds taken.
type Measured = (u64, f64);

type Contestant<'a> = (&'static str, Box<dyn Fn() -> Measured + 'a>);

fn timed(work: impl FnOnce() -> u64) -> Measured {
    let started = Instant::now();
    let messages = work();
    (messages, started.elapsed().as_secs_f64())
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, rest @ ..] = &arguments[..]
        && first == ONE_RUN
    {
        return measure_one_run(rest);
    }
    // `cargo test --benches` runs this too, only to show that it works.
    let asked = |option: &str| arguments.iter().any(|a| a == option);
    let test = asked("--test") || !asked("--bench");
    let quick = test || asked("--quick");
    let scale = if test {
        100
    } else if quick {
        10
    } else {
        1
    };
    messages(scale, if quick { 1 } else { 5 });
    runs(scale);
}

/// Prints each contestant's delivered messages per second.
fn messages(scale: u64, rounds: usize) {
    let contestants: Vec<Contestant> = vec![
        ("binary heap alone", Box::new(move || timed(|| heap::run(20_000_000 / scale)))),
        ("fencepost, history and judge on", Box::new(move || engine(40_000 / scale))),
        ("madsim TCP", Box::new(move || timed(|| madsim_tcp::run(400_000 / scale)))),
        #[cfg(feature = "peers")]
        ("turmoil TCP", Box::new(move || timed(|| turmoil_tcp::run(60_000 / scale)))),
    ];
    let mut rates = vec![Vec::new(); contestants.len()];
    for _ in 0..rounds {
        for (place, (_, contestant)) in contestants.iter().enumerate() {
            let (messages, seconds) = contestant();
            rates[place].push(messages as f64 / seconds);
        }
    }
    let medians: Vec<f64> = rates
        .iter_mut()
        .map(|rates| {
            rates.sort_by(f64::total_cmp);
            rates[rates.len() / 2]
        })
        .collect();
    println!("| engine | messages/s, median of {rounds} | fencepost is |");
    println!("|---|---:|---:|");
    for (place, (name, _)) in contestants.iter().enumerate() {
        println!("| {name} | {:.2} M | {:.1} × |", medians[place] / 1e6, medians[1] / medians[place]);
    }
}

/// The engine at a high request rate with every feature on. Counts delivered datagrams and segments.
fn engine(duration_ms: u64) -> Measured {
    let params = Params { rate: 50_000, duration_ms: Some(duration_ms.max(3_000)), ..Params::default() };
    let plan = plan(&params, "steady", "redis-fenced");
    timed(|| run::run(&plan, Options::default()).expect("the plan runs").judgement.metrics.messages)
}

fn plan(params: &Params, scenario: &str, protocol: &str) -> scenarios::Plan {
    let protocol = protocols::election::find(protocol).expect("a known protocol");
    let scenario = scenario::find(scenario).expect("a known scenario");
    scenario.compile(params, protocol, 42).expect("the parameters make sense")
}

/// Prints virtual time per real time, and memory, of whole runs. Each run has its own process, so that peak memory is
/// its own.
fn runs(scale: u64) {
    println!("\n| run | virtual s | real s | × real time | peak memory |");
    println!("|---|---:|---:|---:|---:|");
    for rate in ["5000", "50000"] {
        for seconds in [60_000, 600_000] {
            one_run("steady", "etcd-election", "9", rate, (seconds / scale).max(3_000));
        }
    }
    for protocol in ["redis-fenced", "etcd-election"] {
        one_run("gc-pause", protocol, "3", "1000", 21_000);
    }
}

/// Starts this program again for one run; the child prints a line of the table.
fn one_run(scenario: &str, protocol: &str, nodes: &str, rate: &str, duration_ms: u64) {
    let program = std::env::current_exe().expect("this program is a file");
    let status =
        Command::new(program).args([ONE_RUN, scenario, protocol, nodes, rate, &duration_ms.to_string()]).status();
    assert!(status.is_ok_and(|s| s.success()), "{scenario} {protocol} did not run");
}

/// The child's side of [`one_run`].
fn measure_one_run(arguments: &[String]) {
    let [name, protocol, nodes, rate, duration_ms] = arguments else { panic!("five arguments, not {arguments:?}") };
    let number = |text: &String| text.parse::<u64>().expect("a number");
    let params = Params {
        nodes: number(nodes) as u16,
        rate: number(rate),
        duration_ms: Some(number(duration_ms)),
        ..Params::default()
    };
    let plan = plan(&params, name, protocol);
    let (_, real) = timed(|| run::run(&plan, Options::default()).expect("the plan runs").facts.events.unwrap_or(0));
    let virtual_s = plan.duration_ms as f64 / 1e3;
    let (ratio, memory) = (virtual_s / real, peak_memory());
    println!(
        "| {name}, {protocol}, {nodes} nodes, {rate} requests/s | {virtual_s:.0} | {real:.3} | {ratio:.0} | {memory} |"
    );
}

/// Peak resident memory, where the system reports it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib: Option<f64> = line.and_then(|l| l.trim().trim_end_matches(" kB").trim().parse().ok());
    kib.map_or("?".to_owned(), |kib| format!("{:.1} MiB", kib / 1024.0))
}
