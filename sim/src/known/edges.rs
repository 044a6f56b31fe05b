//! Margins at their edge. Right after a renewal, the leader is cut off for good from those that elect, on links with a
//! latency of exactly 10 ms. `edges.txt` records, to the millisecond, how long it believes, when its grant ends in the
//! service, and when the next leader is elected. Computed bounds would move with the code, and a dual belief of a few
//! milliseconds shows in no scenario; this check detects a belief that is too long by part of its drift allowance, a
//! round trip, or a renewal interval.
//!
//! If a belief allows for clock drift, the leader's clock is slow by that much, so that the promise is only just kept:
//! [`DRIFTS`]. None of these runs may be unsafe.
//!
//! To change a margin on purpose, run `FENCEPOST_UPDATE=1 cargo nextest run --workspace -E
//! 'test(beliefs_end_where_they_ended)'`, and say why.

use crate::{
    error::Failed,
    recorder::KEPT_MAX,
    run::{self, Options},
};
use protocols::{
    election::{self, Protocol},
    history::{Event, FaultKind, Kind, Phase},
    point::Point,
    types::MILLISECOND,
};
use scenarios::{
    Params, Plan, belief,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};
use std::{sync::OnceLock, thread};

const EXPECTED: &str = include_str!("edges.txt");

/// One-way latency, in microseconds.
const LATENCY_US: u64 = 10_000;
/// The leader is cut off at its first renewal after this time, in milliseconds.
const CUT_MS: f64 = 6_000.0;
/// No line of `edges.txt` contains this. Beliefs without an end are not checked for violations.
const VIOLATES: &str = "and it violates";
/// The clock drift that each protocol allows for, in parts per million.
const DRIFTS: [(&str, i64); 4] = [("redlock", 10_000), ("raft", 99_000), ("raft-core", 99_000), ("zab-fle", 10_000)];

/// Where waiters time the lease themselves and ask now and then, many candidates wait, so that one asks just as the
/// lease ends.
const ASKED_BY: u16 = 9;
const ASKED: [&str; 4] = ["k8s-lease", "object-lease", "dynamodb-lock", "db-row-node-clock"];

/// Its waiters look once a second, too seldom to tell a lease from three quarters of it, so they are made to look more
/// often.
const LOOKS_SELDOM: &str = "dynamodb-lock";
const RETRY_MS: u64 = 100;

/// The margins that differ: name, and what is wrong.
pub(super) fn wrong() -> impl Iterator<Item = (String, String)> {
    static WRONG: OnceLock<Vec<(String, String)>> = OnceLock::new();
    WRONG.get_or_init(compared).iter().cloned()
}

fn compared() -> Vec<(String, String)> {
    let is: Vec<String> = all();
    let expected: Vec<&str> = EXPECTED.lines().collect();
    let name = |line: &str| format!("margin: {}", line.split(':').next().unwrap_or_default());
    let differs =
        |(is, was): (&String, &&str)| (is != was).then(|| (name(is), format!("it is “{is}”, and must be “{was}”")));
    let mut wrong: Vec<_> = is.iter().zip(&expected).filter_map(differs).collect();
    if is.len() != expected.len() {
        let why = format!("there are {}, and edges.txt has {}", is.len(), expected.len());
        wrong.push(("margin: how many there are".to_owned(), why));
    }
    wrong
}

/// All margins, one per line.
fn all() -> Vec<String> {
    let protocols: Vec<&'static Protocol> = election::ALL.into_iter().collect();
    let parts = thread::available_parallelism().map_or(1, |cores| cores.get()).clamp(1, 4);
    let line = |protocol: &&'static Protocol| match measured(protocol) {
        Ok(measured) => format!("{}: {measured}", protocol.name),
        Err(why) => format!("{}: {why}", protocol.name),
    };
    thread::scope(|scope| {
        let begin = |part: &'_ [&'static Protocol]| part.iter().map(line).collect::<Vec<_>>();
        let length = protocols.len().div_ceil(parts).max(1);
        let under_way: Vec<_> = protocols.chunks(length).map(|part| scope.spawn(move || begin(part))).collect();
        under_way.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

fn drift(protocol: &Protocol) -> i64 {
    DRIFTS.iter().find(|(name, _)| *name == protocol.name).map_or(0, |(_, ppm)| *ppm)
}

fn plan(protocol: &Protocol) -> Result<Plan, Failed> {
    let steady = scenario::find("steady").ok_or("no steady")?;
    let nodes = if ASKED.contains(&protocol.name) { ASKED_BY } else { Params::default().nodes };
    let params = Params { nodes, rate: 10, read_lease: Some(false), ..Params::default() };
    let mut plan = steady.compile(&params, protocol, 1)?;
    let timings = plan.resolved(protocol);
    let waits = (protocol.granted_ttl)(timings.lease_ttl) + (protocol.takeover_max)(&timings, params.nodes);
    plan.duration_ms = CUT_MS as u64 + 5_000 + 2 * waits / MILLISECOND;
    plan.liveness_bound_ms = plan.duration_ms;
    plan.requires.clear();
    (plan.network.latency_us, plan.network.jitter_us) = (LATENCY_US, 0);
    plan.candidates.iter_mut().for_each(|candidate| candidate.rate_ppm = 0);
    if protocol.name == LOOKS_SELDOM {
        plan.timings.retry_period_ms = Some(RETRY_MS);
    }
    let at = |ms| Trigger::At { ms };
    if drift(protocol) > 0 {
        let what = Fault::ClockRate { node: Who::Leader, ppm: -drift(protocol), for_ms: None };
        plan.faults.push(PlannedFault { when: at(3_000.0), what, group: 0 });
    }
    plan.dual_belief_bound_ms = belief::bound_ms(&plan, protocol);
    let to = vec![if protocol.elects_among_peers() { Who::Followers } else { Who::Service }];
    let what = Fault::Partition { from: vec![Who::Trigger], to, one_way: false, for_ms: None };
    // ZooKeeper's client pings by itself.
    let when = match protocol.service.name {
        "zookeeper" => at(CUT_MS),
        _ => {
            let (point, after) = (Point::Renewed.name().to_owned(), Some(Box::new(at(CUT_MS))));
            Trigger::Passage { point, node: Who::Leader, nth: 1, after, delay_ms: 0.0, matching: None }
        }
    };
    plan.faults.push(PlannedFault { when, what, group: 0 });
    Ok(plan)
}

/// The result of cutting off the leader, in words.
fn measured(protocol: &Protocol) -> Result<String, Failed> {
    let run = run::run(&plan(protocol)?, Options { keep: KEPT_MAX, ..Options::default() })?;
    let events = run.kept.unwrap_or_default();
    let cut = |event: &Event| matches!(&event.kind, Kind::Fault(f) if f.kind == FaultKind::Partition && f.phase == Phase::Begin);
    let Some(at) = events.iter().position(cut) else { return Ok("was not cut off".to_owned()) };
    let led = |event: &Event| match event.kind {
        Kind::Elected(incarnation) => Some(incarnation.node),
        _ => None,
    };
    let Some(leader) = events[..at].iter().rev().find_map(led) else { return Ok("had no leader".to_owned()) };
    let after = |is: &dyn Fn(&Kind) -> bool| {
        let event = events[at..].iter().find(|event| is(&event.kind));
        event.map_or("never".to_owned(), |event| format!("{}", (event.t_us - events[at].t_us) / 1_000))
    };
    let stops = after(&|kind| matches!(kind, Kind::Deposed { incarnation, .. } if incarnation.node == leader));
    let ends = after(&|kind| matches!(kind, Kind::GrantEnd { node, .. } if *node == leader));
    let next = after(&|kind| matches!(kind, Kind::Elected(incarnation) if incarnation.node != leader));
    let violated: Vec<&str> = run.judgement.violated().filter(|_| stops != "never").collect();
    let unsafe_too = if violated.is_empty() { String::new() } else { format!(", {VIOLATES} {}", violated.join(", ")) };
    Ok(format!("stops after {stops} ms, its grant ends after {ends}, the next leads after {next}{unsafe_too}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beliefs_end_where_they_ended() {
        if std::env::var_os("FENCEPOST_UPDATE").is_some() {
            let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/known/edges.txt");
            std::fs::write(file, all().join("\n") + "\n").expect("edges.txt can be written");
            return;
        }
        assert_eq!(wrong().collect::<Vec<_>>(), []);
    }

    #[test]
    fn whose_belief_ends_keeps_its_promise() {
        assert!(!EXPECTED.contains(VIOLATES), "{EXPECTED}");
    }

    /// By its own clock, counted from the last confirmed message, which was sent before the cut.
    #[test]
    fn nobody_believes_for_longer_than_its_timers_say() {
        for (protocol, line) in election::ALL.into_iter().zip(EXPECTED.lines()) {
            let Some(lease) = protocol.read_lease else { continue };
            let (believes, _) = lease(&plan(protocol).expect("the plan makes sense").resolved(protocol));
            let slow = 1.0 - drift(protocol) as f64 / 1e6;
            let most = (believes as f64 / slow) as u64 / MILLISECOND;
            let stops = line.split_once("stops after ").and_then(|(_, rest)| rest.split(' ').next());
            let stops: Option<u64> = stops.and_then(|ms| ms.parse().ok());
            assert!(stops.is_some_and(|stops| stops <= most), "{line}: {most} ms at most");
        }
    }
}
