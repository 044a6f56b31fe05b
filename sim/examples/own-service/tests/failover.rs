//! The service, as it is, in a simulated world.

use protocols::election;
use scenarios::{Params, Plan, fault::{Fault, PlannedFault, Trigger, Who}, scenario};
use sim::{
    program::{Line, Program},
    registry::Registry,
    run::{self, Options},
};

/// A world with Redis and three nodes.
fn plan(seed: u64, faults: Vec<Fault>) -> Plan {
    let story = scenario::find("steady").unwrap();
    let mut plan = story.compile(&Params::default(), election::find("redis-lease").unwrap(), seed).unwrap();
    plan.duration_ms = 20_000;
    plan.requires.clear();
    let planned = |what| PlannedFault { when: Trigger::At { ms: 8_000.0 }, what, group: 0 };
    plan.faults = faults.into_iter().map(planned).collect();
    plan
}

fn lines(plan: &Plan) -> (String, Vec<Line>) {
    let main = fencepost_libc::main_of(own_service::main);
    let program = Program::new(main).unwrap().with_env("REDIS_URL", "redis://redis:6379");
    let registry = Registry { program: Some(program.clone()), ..Registry::default() };
    let run = run::run(plan, Options { registry, ..Options::default() }).unwrap();
    (run.trace_hash().to_owned(), program.take_printed())
}

#[test]
fn a_run_is_the_same_twice() {
    let plan = plan(1, Vec::new());
    let started = std::time::Instant::now();
    let (first, second) = (lines(&plan), lines(&plan));
    eprintln!("{:?} for two runs", started.elapsed());
    for line in &first.1 {
        eprintln!("{:>9.3} {:?} {:?} {}", line.now as f64 / 1e9, line.node, line.from, line.text);
    }
    assert_eq!(first, second);
}

#[test]
fn another_leads_after_a_kill() {
    for what in [Fault::Kill { node: Who::Named("n1".to_owned()), restart_after_ms: None }, Fault::Pause { node: Who::Named("n1".to_owned()), for_ms: 6_000.0 }] {
        let (_, lines) = lines(&plan(1, vec![what]));
        for line in &lines {
            eprintln!("{:>9.3} {:?} {:?} {}", line.now as f64 / 1e9, line.node, line.from, line.text);
        }
    }
}
