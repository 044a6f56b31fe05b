//! The store's own records say the same as its lines, and the same plan gives the same again.

use fencepost_libc::main_of;
use fencepost_process::Main;
use own_node::{node, store};
use protocols::{election::program, service::redis};
use protocols_real::store::{Keep, export};
use reports::Verdict;
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};
use serde_json::{Value, json};
use sim::{
    program::{Accepted, Accepts, From, Own, Program},
    registry::Registry,
    run::{self, Options, Run},
};
use std::{collections::BTreeSet, fs};

/// When the store's machine loses power, in milliseconds.
const POWER_LOSS: f64 = 39_000.0;

/// A leader is stopped before a write for longer than its lease; later the store is killed, and then its machine loses power.
fn plan() -> Plan {
    let steady = scenario::find("steady").unwrap();
    let params = Params { read_lease: Some(false), reads_per_s: Some(0), ..Params::default() };
    let mut plan = steady.compile(&params, program::of(&[&redis::SERVICE], true), 3).unwrap();
    (plan.duration_ms, plan.liveness_bound_ms) = (40_000, 20_000);
    let write = Trigger::Passage {
        point: "before_send".to_owned(),
        node: Who::Leader,
        nth: 1,
        after: Some(Box::new(Trigger::At { ms: 8_000.0 })),
        delay_ms: 0.0,
        matching: Some("{\"write\"".to_owned()),
    };
    let pause = Fault::Pause { node: Who::Trigger, for_ms: 15_000.0 };
    let kill = Fault::Kill { node: Who::Named("store".to_owned()), restart_after_ms: Some(1_000.0) };
    let power_loss = Fault::PowerLoss { node: Who::Named("store".to_owned()), restart_after_ms: Some(500.0) };
    plan.faults = [(write, pause), (Trigger::At { ms: 30_000.0 }, kill), (Trigger::At { ms: POWER_LOSS }, power_loss)]
        .map(|(when, what)| PlannedFault { when, what, group: 0 })
        .into();
    plan
}

fn run(store: Main) -> Run {
    let own = Own::new(store, vec![Accepts::new(store::ACCEPTED).unwrap()]);
    let program = Program::new(main_of(node::main)).unwrap().served_by(own).restarted();
    let program = program.with_env("PROTOCOL", "redis-fenced");
    let registry = Registry::default().with_program(program, &[&redis::SERVICE], true).unwrap();
    run::run(&plan(), Options { registry, ..Options::default() }).unwrap()
}

/// What the store's lines about its file begin with.
const AUDIT: &str = "audit ";

/// Prints what the store's file says it has done. It runs in the store's process, whose disk has the file.
fn audit() {
    if !store::file().exists() {
        return;
    }
    let (keep, lines) = (Keep::Embedded(store::file()), "/tmp/audit");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(export(&keep, fs::File::create(lines).unwrap())).unwrap();
    fs::read_to_string(lines).unwrap().lines().for_each(|line| println!("{AUDIT}{line}"));
}

fn audited_store() {
    audit();
    store::main();
}

fn audited_unfenced() {
    audit();
    store::unfenced();
}

/// Writer, token and number of each write that the file says was accepted, in order, as it was after the power loss.
fn audited(run: &Run) -> Vec<(String, u64, u64)> {
    let of_last = run.printed.iter().filter(|line| line.starts == 2);
    let lines = of_last.filter_map(|line| serde_json::from_str::<Value>(line.text.strip_prefix(AUDIT)?).ok());
    let accepted = lines.filter(|line| {
        (&line["event"], &line["resource"], &line["verdict"]) == (&json!("apply"), &json!("schedule"), &json!("ok"))
    });
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} is no number"));
    let write = |line: Value| (line["node"].as_str().unwrap().to_owned(), number(&line["token"]), number(&line["seq"]));
    accepted.map(write).collect()
}

/// The same of the lines that the store printed before it.
fn printed(run: &Run) -> Vec<(String, u64, u64)> {
    let pattern = Accepts::new(store::ACCEPTED).unwrap();
    let before = run.printed.iter().filter(|line| line.now < (POWER_LOSS * 1e6) as u64);
    let writes = before.filter_map(|line| pattern.find(&line.text));
    writes.map(|Accepted { node, token, seq }| (node, token, seq)).collect()
}

fn tokens_never_fall(writes: &[(String, u64, u64)]) -> bool {
    writes.windows(2).all(|pair| pair[0].1 <= pair[1].1)
}

#[test]
fn the_file_has_what_was_printed_across_a_kill_and_a_power_loss_and_its_tokens_never_fall() {
    let run = run(main_of(audited_store));
    let audited = audited(&run);
    assert_eq!(audited, printed(&run));
    assert!(audited.len() > 50, "{} writes", audited.len());
    assert!(tokens_never_fall(&audited), "{audited:?}");
    assert!(audited.windows(2).all(|pair| pair[0].2 < pair[1].2), "{audited:?}");
    let writers: BTreeSet<_> = audited.iter().map(|(node, _, _)| node).collect();
    assert!(writers.len() > 1, "nobody took over: {writers:?}");
    let restarted = run.printed.iter().filter(|line| line.starts == 1).any(|line| line.text.contains("accepted"));
    assert!(restarted, "the store accepted nothing after its restart");
    assert_eq!(run.judgement.verdict, Verdict::Pass, "{:?}", run.judgement.violated().collect::<Vec<_>>());
}

/// So the check above could fail.
#[test]
fn without_fencing_the_file_shows_that_tokens_fall() {
    let run = run(main_of(audited_unfenced));
    let audited = audited(&run);
    assert_eq!(audited, printed(&run));
    assert!(!tokens_never_fall(&audited), "{audited:?}");
    assert!(run.judgement.violated().any(|invariant| invariant == "tokens_monotone"));
}

#[test]
fn the_same_plan_gives_the_same_trace_and_lines() {
    let [first, second] = [(); 2].map(|()| run(main_of(store::main)));
    assert_eq!(first.printed, second.printed);
    assert_eq!(first.trace_hash(), second.trace_hash());
    assert!(first.printed.iter().all(|line| line.from != From::Refused), "{:?}", first.printed);
}
