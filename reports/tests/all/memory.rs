//! The judge's memory does not grow with the number of writes, whatever else happens; also measures its speed (`cargo
//! test -p reports-tests memory -- --nocapture`).
//!
//! All tests of a process share its memory, so the measurement runs in its own process: this binary, started again for
//! nothing else.

use protocols::{
    history::{Event, FaultEvent, Header, Kind, NodeState, Outcome, Phase, Sink},
    message::{Write, WriteVerdict},
    types::{Incarnation, NodeId, Operation, RequestId, Resource},
};
use reports::{Judge, Verdict};
use std::{env, fs, process::Command, time::Instant};

const LEADER: Incarnation = Incarnation { token: 5, node: NodeId(0), generation: 1 };
/// Set if this binary was started to measure.
const ALONE: &str = "FENCEPOST_TEST_MEMORY";
/// Far more than a stray page explains, and far less than a million remembered writes.
const GROWTH_MAX: u64 = 4 << 20;

fn header() -> Header {
    Header {
        schema: 1,
        scenario: "story".into(),
        protocol: "etcd-election".into(),
        seed: 1,
        fencing: true.into(),
        tokened: true,
        plan_digest: String::new(),
        nodes: ["n1", "n2", "n3", "etcd", "store", "c1"].map(String::from).into(),
        candidates: 3,
        lease_ttl_ms: 3000,
        rate: 10_000,
        liveness_bound_ms: 5000,
        tick_ms: 0,
        dark_after_ms: 1000,
        requires: Vec::new(),
        services: vec![NodeId(3)],
        services_needed: 0,
        clusters: Vec::new(),
        store: Some(NodeId(4)),
        majority: false,
        ring: false,
        dual_belief_bound_us: Some(0),
        resources: protocols::history::usual_resources(),
        groups: 1,
        copies: None,
        deferred_commit: false,
        address: None,
        placement: None,
        group: 0,
    }
}

/// The events of one request; now and then a link between followers fails and recovers.
fn request(judge: &mut Judge, number: u64) {
    let t_us = 1000 + number * 100;
    let request = RequestId { client: NodeId(5), number };
    let write = Write {
        resource: Resource::SEQUENCE,
        operation: Operation::Record,
        generation: 1,
        token: 5,
        seq: number,
        read_version: number - 1,
        client: request.client,
        number: request.number,
        payload: None,
    };
    let node = LEADER.node;
    let mut at = |t_us, kind| judge.record(&Event { t_us, group: 0, kind });
    at(t_us, Kind::Invoke { request });
    at(t_us + 10, Kind::Issue { node, write });
    at(t_us + 20, Kind::Apply { node, write, verdict: WriteVerdict::Ok, version: number });
    if number % 7 == 0 {
        at(t_us + 25, Kind::Apply { node, write, verdict: WriteVerdict::Duplicate { seq: number }, version: number });
    }
    at(t_us + 30, Kind::Reply { request, outcome: Outcome::Ok { token: 5, seq: number } });
    if number % 1000 == 0 {
        let phase = if number % 2000 == 0 { Phase::Begin } else { Phase::End };
        let sides = [vec![NodeId(1)], vec![NodeId(2)]];
        let fault = FaultEvent {
            index: 0,
            kind: "partition".into(),
            phase,
            on: sides.concat(),
            to: Vec::new(),
            sides,
            one_way: false,
            strength: 0,
            point: None,
            detail: String::new(),
        };
        at(t_us + 40, Kind::Fault(Box::new(fault)));
    }
}

/// The memory of this process, bytes; `None` if the system does not report it.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[test]
fn memory_does_not_grow_with_writes() {
    if env::var_os(ALONE).is_none() {
        let name = module_path!().split_once("::").expect("a module of this binary").1;
        let mut alone = Command::new(env::current_exe().expect("this binary has a path"));
        alone.args(["--exact", &format!("{name}::memory_does_not_grow_with_writes"), "--nocapture"]).env(ALONE, "1");
        let output = alone.output().expect("this binary runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("requests/s"), "{said}");
        print!("{said}");
        return;
    }
    let mut judge = Judge::new(Some(&header()));
    let started = |node| Kind::Node { node: NodeId(node), state: NodeState::Up };
    (0..3).for_each(|node| judge.record(&Event { t_us: 0, group: 0, kind: started(node) }));
    judge.record(&Event { t_us: 500, group: 0, kind: Kind::Grant { node: NodeId(0), token: Some(5) } });
    judge.record(&Event { t_us: 900, group: 0, kind: Kind::Elected(LEADER) });
    let (warm, all) = (200_000, 1_700_000);
    (1..=warm).for_each(|number| request(&mut judge, number));
    let (before, start) = (resident(), Instant::now());
    (warm + 1..=all).for_each(|number| request(&mut judge, number));
    let (after, took) = (resident(), start.elapsed());
    println!("{:.1} M requests/s", (all - warm) as f64 / took.as_secs_f64() / 1e6);
    let judgement = judge.finish();
    assert_eq!(judgement.verdict, Verdict::Pass, "{:#?}", judgement.invariants);
    assert_eq!(judgement.metrics.writes_accepted, all);
    assert!(judgement.invariant("liveness").unwrap().could_fail);
    if let (Some(before), Some(after)) = (before, after) {
        assert!(after.saturating_sub(before) < GROWTH_MAX, "from {before} to {after} bytes");
    }
}
