//! A world with Redis, a store and three nodes that run the service as it is.

use fencepost_process::Main;
use protocols::{election::program, service::redis, types::NodeId};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};
use sim::{
    program::{Line, Program},
    registry::Registry,
    run::{self, Options, Run},
};

pub const DURATION_S: f64 = 20.0;
pub const STRIKES_S: f64 = 8.0;
/// The service's lease, its retries, and some time for messages.
pub const TAKEOVER_S: f64 = 3.0 + 0.5 + 0.2;

/// Faults that strike before a message do so before one of so many, from this second on.
pub const SENDS: u64 = 12;
pub const SENDS_FROM_S: f64 = 5.0;

/// Before a node's message of this number from [`SENDS_FROM_S`] on.
pub fn before_send(node: &Who, nth: u64) -> Trigger {
    let after = Some(Box::new(Trigger::At { ms: SENDS_FROM_S * 1_000.0 }));
    Trigger::Passage { point: "before_send".to_owned(), node: node.clone(), nth, after, delay_ms: 0.0, matching: None }
}

pub fn plan(seed: u64, fault: Option<Fault>) -> Plan {
    plan_at(seed, Trigger::At { ms: STRIKES_S * 1_000.0 }, fault)
}

pub fn plan_at(seed: u64, when: Trigger, fault: Option<Fault>) -> Plan {
    let steady = scenario::find("steady").unwrap();
    let params = Params { read_lease: Some(false), reads_per_s: Some(0), ..Params::default() };
    let mut plan = steady.compile(&params, program::of(&[&redis::SERVICE], true), seed).unwrap();
    plan.duration_ms = (DURATION_S * 1_000.0) as u64;
    plan.faults = fault.into_iter().map(|what| PlannedFault { when: when.clone(), what, group: 0 }).collect();
    plan
}

pub fn run_main(plan: &Plan, main: Main) -> Run {
    let program =
        Program::new(main).unwrap().with_env("REDIS_URL", "redis://redis:6379").with_env("STORE_URL", "http://store");
    let registry = Registry::default().with_program(program, &[&redis::SERVICE], true).unwrap();
    run::run(plan, Options { registry, ..Options::default() }).unwrap()
}

pub fn run(plan: &Plan) -> Run {
    run_main(plan, fencepost_libc::main_of(own_service::main))
}

/// What processes that run `main` print.
pub fn lines_of(plan: &Plan, main: Main) -> Vec<Line> {
    run_main(plan, main).printed
}

pub fn seconds(line: &Line) -> f64 {
    line.now as f64 / 1e9
}

/// When each node said that it leads.
pub fn leaders(lines: &[Line]) -> Vec<(f64, NodeId)> {
    lines.iter().filter(|line| line.text.contains(": leads with")).map(|line| (seconds(line), line.node)).collect()
}

/// The only leader of a world without faults.
pub fn leader(seed: u64) -> (NodeId, Who) {
    let lines = run(&plan(seed, None)).printed;
    let [(_, leader)] = leaders(&lines)[..] else { panic!("{lines:?}") };
    (leader, Who::Named(format!("n{}", leader.0 + 1)))
}
