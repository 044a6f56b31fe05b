//! The same plan gives the same bytes, on one thread or on parallel threads. The command's tests cover fresh processes.

use crate::common::{for_each_pair, named, run, run_with_history};
use protocols::election::{self, Protocol};
use scenarios::{
    Params, Plan, Scenario,
    params::Profile,
    scenario::{self, Needs},
};
use sim::{determinism, run::Options, world::Driver};
use std::thread;

#[test]
fn eight_threads_with_different_plans_do_not_disturb_each_other() {
    let plans: Vec<_> = (0..8)
        .map(|n| named("gc-pause", if n % 2 == 0 { "etcd-election" } else { "redis-fenced" }, n / 4, true))
        .collect();
    let alone: Vec<_> = plans.iter().map(|p| run(p).trace_hash().to_owned()).collect();
    let together: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = plans.iter().map(|p| scope.spawn(|| run(p).trace_hash().to_owned())).collect();
        threads.into_iter().map(|t| t.join().expect("the run ends")).collect()
    });
    assert_eq!(alone, together);
    assert_ne!(alone[0], alone[4], "two seeds gave the same trace: the hash sees nothing");
}

#[test]
fn a_history_on_disk_gives_the_verdict_of_the_run() {
    for protocol in ["redis-naive", "etcd-election"] {
        let plan = named("gc-pause", protocol, 3, true);
        let (run, history) = run_with_history(&plan, Options::default());
        let mut reader = protocols::history::json::Reader::new(history.as_bytes()).expect("the history reads");
        let mut judge = reports::Judge::new(reader.header());
        for event in reader.by_ref() {
            protocols::history::Sink::record(&mut judge, &event.expect("the history reads"));
        }
        assert_eq!(judge.finish(), run.judgement);
    }
}

/// A history's election events as (time, event), in order: both drivers must agree on these even if two requests of one
/// node are in flight at once, and the executor's seed decides which is sent first.
fn election(history: &str) -> Vec<(u64, String)> {
    let mut events = Vec::new();
    // Most lines are requests and writes, which are not needed here.
    let work = ["invoke", "issue", "reply", "apply", "read-invoke", "read-reply"].map(|k| format!("\"event\":\"{k}\""));
    for line in history.lines().filter(|line| !work.iter().any(|k| line.contains(k))) {
        let event: serde_json::Value = serde_json::from_str(line).expect("a history is JSON lines");
        let what = event["event"].as_str().unwrap_or_default();
        if ["campaign", "elected", "deposed", "fault", "node"].contains(&what) {
            let who = ["node", "token", "generation", "reason", "phase", "state"].map(|field| event[field].to_string());
            events.push((event["t_us"].as_u64().unwrap_or_default(), format!("{what} {}", who.join(" "))));
        }
    }
    events
}

/// Splits histories into lines that must agree. The last line's number of messages is left out, since segments may be
/// cut differently; events of different processes at one instant have no defined order. openraft consists of many
/// tasks: if a node wakes and finds both a candidate's request and the elected leader's first entry, the executor
/// decides which comes first, and whether the node still votes.
fn lines(history: &str, protocol: &str) -> String {
    let vote = |line: &str| protocol == "raft" && line.contains("\"event\":\"vote\"");
    let mut lines: Vec<_> = history.lines().filter(|l| !l.contains("\"end\"") && !vote(l)).collect();
    let instant = |line: &str| line.split(',').next().unwrap_or_default().to_owned();
    for instant in lines.chunk_by_mut(|a, b| instant(a) == instant(b)) {
        instant.sort_unstable();
    }
    lines.join("\n")
}

#[test]
fn the_inline_and_the_task_driver_give_the_same_history() {
    let all = || scenario::ALL.iter().map(|scenario| scenario.name);
    // Each scenario with a quarter of the protocols, and each protocol with a quarter of its scenarios.
    let place = |name: &str| all().position(|other| other == name).unwrap_or(0);
    let of = |protocol: &Protocol| election::ALL.iter().position(|other| other.name == protocol.name).unwrap_or(0);
    same_history(|scenario, protocol| (place(scenario.name) + of(protocol)) % 4 == 0);
}

#[test]
#[ignore = "long: .ci/run runs it"]
fn the_inline_and_the_task_driver_give_the_same_history_wherever_they_run() {
    same_history(|_, _| true);
}

fn same_history(takes_part: impl Fn(&Scenario, &Protocol) -> bool + Sync) {
    for_each_pair(|scenario, protocol| {
        if !takes_part(scenario, protocol) {
            return;
        }
        // Members of a cluster draw their timeouts, and several groups on a process send at one instant: the outcome
        // depends on which is first.
        let clusters_or_groups =
            scenario.needs == Needs::Cluster || ["outage-recovery", "shard-rebalance"].contains(&scenario.name);
        // After etcd has lost its data, the candidate whose watch fires first wins, and its scan for expired leases has
        // a random phase.
        let forgets = ["service-data-loss", "service-restored"].contains(&scenario.name);
        if clusters_or_groups || (forgets && protocol.service.name == "etcd") {
            return;
        }
        // If every packet takes equally long, the order in which a node sends within an instant does not matter.
        let net = Profile::find("ideal").expect("a known network");
        let ideal = Params { net, rate: 50, ..Params::default() };
        let mut plan = scenario.compile(&ideal, protocol, 0).expect("the parameters make sense");
        // Two clients that check for late answers at the same instant are served in either order.
        plan.load.clients = 1;
        // Clients that start waiting at the same instant keep asking at the same instants: only there does a leader
        // receive requests of both at once, in either order.
        // The scan for expired leases of a restarted etcd has a random phase.
        let draws = protocol.service.name == "etcd" && ["power-outage", "service-restart"].contains(&scenario.name);
        let within_us = if draws { EXPIRY_SCAN_US } else { PACKETS_US };
        compare_drivers(&plan, scenario.name != "read-lease" && !draws, within_us);
        // If links lose or delay at random, the order of sends within an instant changes which messages are lost or
        // late.
        // A restarted service's scans have a random phase.
        let chance = [
            "detector-comparison",
            "read-lease",
            "slow-top-node",
            "membership-churn",
            "power-outage",
            "service-restart",
            "service-data-loss",
            "service-restored",
            // The store reports a job's effects together with its answers to the leader's other writes, at one instant.
            "long-job",
        ]
        .contains(&scenario.name);
        let seeds = if chance || protocol.service.is_none() { 0 } else { 1 };
        for seed in 0..seeds {
            // Redis gets one request at a time; etcd's client has requests and streams on one connection.
            let one_at_a_time = protocol.service.name == "redis";
            let params = Params { rate: 50, ..Params::default() };
            let plan = scenario.compile(&params, protocol, seed).expect("the parameters make sense");
            compare_drivers(&plan, one_at_a_time, PACKETS_US);
        }
    });
}

/// How much later one of two packets may arrive.
const PACKETS_US: u64 = 5_000;
/// In these, all candidates learn of a vacancy at one instant, and request at once.
const RACES: [&str; 3] = ["kafka-zk-controller", "etcd-key", "consul-session"];
/// The interval of etcd's scans for expired leases.
const EXPIRY_SCAN_US: u64 = 500_000;

/// Runs `plan` under both drivers. They must agree line by line, or, if jitter and the executor's seed decide which of
/// two packets is faster, on the election's events within a time.
fn compare_drivers(plan: &Plan, line_by_line: bool, within_us: u64) {
    let (inline_run, inline) = run_with_history(plan, Options::default());
    let (task_run, task) = run_with_history(plan, Options { driver: Driver::Task, ..Options::default() });
    let name = format!("{} {} {} seed {}", plan.scenario, plan.protocol, plan.network.profile, plan.seed);
    assert_eq!(inline_run.judgement.verdict, task_run.judgement.verdict, "{name}");
    if RACES.contains(&plan.protocol.as_str()) {
        // The faster packet decides who wins, and everything after that.
        return;
    }
    if line_by_line {
        let (inline, task) = (lines(&inline, &plan.protocol), lines(&task, &plan.protocol));
        assert!(inline == task, "{name}: {}", determinism::first_difference(&inline, &task));
        return;
    }
    let (inline, task) = (election(&inline), election(&task));
    let what = |events: &[(u64, String)]| {
        let mut what: Vec<_> = events.iter().map(|(_, what)| what.clone()).collect();
        what.sort();
        what
    };
    assert_eq!(what(&inline), what(&task), "{name}");
    for ((inline_us, event), (task_us, _)) in inline.iter().zip(&task) {
        assert!(inline_us.abs_diff(*task_us) <= within_us, "{name}: {event} at {inline_us} and at {task_us} µs");
    }
}
