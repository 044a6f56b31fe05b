//! `chaos run`: the simulation's plans on real processes, judged by the same judge.

use super::common::{
    Folder, Process, SOON, eventually, program,
    running::{play, play_plan, play_until},
    servers::find,
};
use protocols::{election, history::Fact};
use scenarios::{
    Params,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};
use serde_json::Value;

fn installed() -> bool {
    let what = "plans on real processes";
    find("etcd", "etcd-server", what).is_some() && find("redis-server", "redis-server", what).is_some()
}

/// Clients of real processes only ask for numbers.
fn without_reads() -> Params {
    Params { reads_per_s: Some(0), read_lease: Some(false), ..Params::default() }
}

/// A lease and a load that a slow machine can handle.
const LIGHT: [&str; 4] = ["--lease-ttl", "2s", "--rate", "40"];

#[test]
fn a_paused_leader_is_refused_on_both_services() {
    if !installed() {
        return;
    }
    for backend in ["etcd", "redis"] {
        let (code, report) = play("gc-pause", &[&LIGHT[..], &["--backend", backend]].concat());
        assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("pass")), "{report:#}");
        let metrics = &report["metrics"];
        assert_eq!(metrics["leaders_acting_by_effect_max"], 1, "{report:#}");
        assert!(metrics["leaders_believing_max"].as_u64() >= Some(2), "{report:#}");
        assert!(metrics["writes_fenced"].as_u64() >= Some(1), "{report:#}");
    }
}

#[test]
fn without_fencing_its_write_takes_effect() {
    if !installed() {
        return;
    }
    // On a stalled machine, leaders come and go, and the sleeper may find no leader in office.
    let acting = |report: &Value| report["metrics"]["leaders_acting_by_effect_max"].as_u64() >= Some(2);
    let options = [&LIGHT[..], &["--backend", "redis", "--fencing", "off"]].concat();
    let (code, report) = play_until("gc-pause", &options, |r| acting(r) || r["machine"]["unwell"].is_null());
    assert_eq!((code, &report["verdict"]), (Some(1), &Value::from("safety")), "{report:#}");
    assert!(acting(&report), "{report:#}");
}

#[test]
fn a_leader_that_is_cut_off_is_succeeded() {
    if !installed() {
        return;
    }
    let (code, report) = play("partition", &[&LIGHT[..], &["--backend", "etcd"]].concat());
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("pass")), "{report:#}");
    let (requests, number) = (&report["requests"], |of: &Value| of.as_f64().unwrap_or_default());
    let (made, answered, share) = (&requests["made"], &requests["answered"], &requests["answered_share"]);
    assert!(number(answered) > 0.0 && number(made) >= number(answered), "{requests}");
    assert!((number(share) * number(made) - number(answered)).abs() < 1e-6, "{requests}");
}

/// A leader answers reads from memory while its lease lasts by its own clock, and is cut off. Redis uses the machine's
/// clock, which no plan can change: only the leader's is slow.
#[test]
fn a_lease_for_reads_is_as_good_as_the_leaders_clock() {
    if !installed() {
        return;
    }
    // A report omits metrics of events that never happened.
    let stale = |report: &Value| report["metrics"]["reads_stale"].as_u64().unwrap_or(0);
    let with_drift = |ppm| [&LIGHT[..], &["--backend", "redis", "--clock-drift", ppm]].concat();
    let (code, report) = play("read-lease", &with_drift("0"));
    assert_eq!((code, &report["verdict"], stale(&report)), (Some(0), &Value::from("pass"), 0), "{report:#}");
    assert!(report["metrics"]["reads_answered"].as_u64() > Some(100), "{report:#}");
    // Two seconds of a clock at half its rate are four: twice as long as the key lives.
    let slow = with_drift("500000");
    let (code, report) = play_until("read-lease", &slow, |r| stale(r) > 0 || r["machine"]["unwell"].is_null());
    assert_eq!((code, &report["verdict"]), (Some(1), &Value::from("safety")), "{report:#}");
    assert!(stale(&report) > 0, "{report:#}");
}

/// Faults that no scenario has: the store and the service die under load, and a link is slow.
#[test]
fn a_plan_of_ones_own_is_played() {
    if !installed() {
        return;
    }
    let params = Params { lease_ttl_ms: Some(2_000), rate: 40, duration_ms: Some(30_000), ..without_reads() };
    let protocol = election::find("redis-fenced").expect("a known protocol");
    let steady = scenario::find("steady").expect("a known scenario");
    let mut plan = steady.compile(&params, protocol, 1).expect("the parameters make sense");
    let at = |ms: f64, what: Fault| PlannedFault { when: Trigger::At { ms }, what, group: 0 };
    let kill = |node: Who| Fault::Kill { node, restart_after_ms: Some(500.0) };
    let slow =
        |from: Who, to: Who| Fault::Latency { from: vec![from], to: vec![to], extra_us: 20_000, for_ms: Some(2_000.0) };
    plan.faults = vec![
        at(3_000.0, kill(Who::Store)),
        at(5_000.0, kill(Who::Service)),
        at(8_000.0, slow(Who::Leader, Who::Store)),
        at(8_000.0, Fault::PowerLoss { node: Who::Leader, restart_after_ms: Some(1_000.0) }),
    ];
    plan.requires.retain(|r| r.fact == Fact::WritesAccepted);
    let (code, report) = play_plan(&plan);
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("pass")), "{report:#}");
    assert!(report["metrics"]["elections"].as_u64() >= Some(2), "{report:#}");
}

/// Raft needs nothing installed: its simulated plans, on real processes.
#[test]
fn raft_plays_its_scenarios() {
    let raft = ["--backend", "raft", "--lease-ttl", "1s", "--rate", "40"];
    for (what, fenced) in [("gc-pause", 1), ("isolate-leader", 0), ("leadership-transfer", 0), ("quorum-loss", 0)] {
        let (code, report) = play(what, &raft);
        assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("pass")), "{what}: {report:#}");
        let metrics = &report["metrics"];
        assert_eq!(metrics["leaders_acting_by_effect_max"], 1, "{what}: {report:#}");
        assert!(metrics["writes_fenced"].as_u64() >= Some(fenced), "{what}: {report:#}");
    }
}

/// The leader keeps its lease and is cut off from the store. Nobody acts, unless it steps down.
#[test]
fn a_leader_that_cannot_work_steps_down_if_it_is_to() {
    let raft = ["--backend", "raft", "--lease-ttl", "1s", "--rate", "20", "--seed", "1"];
    let (code, report) = play("leader-cannot-work", &raft);
    assert_eq!((code, &report["verdict"]), (Some(3), &Value::from("liveness")), "{report:#}");
    let (code, report) = play("leader-cannot-work", &[&raft[..], &["--step-down-after", "1s"]].concat());
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("pass")), "{report:#}");
    assert!(report["metrics"]["elections"].as_u64() >= Some(2), "{report:#}");
}

/// Votes are on disk: after all nodes have died at once, terms keep rising, and no acknowledged write is lost.
#[test]
fn all_raft_nodes_die_and_come_back() {
    let params = Params { lease_ttl_ms: Some(1_000), rate: 40, duration_ms: Some(30_000), ..without_reads() };
    let protocol = election::find("raft").expect("a known protocol");
    let steady = scenario::find("steady").expect("a known scenario");
    let mut plan = steady.compile(&params, protocol, 1).expect("the parameters make sense");
    let kill = || Fault::Kill { node: Who::Candidates, restart_after_ms: Some(300.0) };
    // Far apart: beside other tests, an election may take ten times its usual time.
    plan.faults =
        [5_000.0, 17_000.0].map(|ms| PlannedFault { when: Trigger::At { ms }, what: kill(), group: 0 }).into();
    plan.requires.retain(|r| r.fact == Fact::WritesAccepted);
    let (code, report) = play_plan(&plan);
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("pass")), "{report:#}");
    assert!(report["metrics"]["elections"].as_u64() >= Some(3), "{report:#}");
}

/// The plan's network lies between the processes: an election among three takes at least a round trip.
#[test]
fn the_plans_network_lies_between_the_processes() {
    let far = ["--backend", "raft", "--net", "wan", "--election-timeout", "1s..2s", "--rate", "50", "--duration", "9s"];
    let (code, report) = play("steady", &far);
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("pass")), "{report:#}");
    let latency = report["metrics"]["election_latency_ms"][0].as_f64().expect("an election");
    assert!(latency >= 40.0, "20 ms there and 20 ms back: {latency} ms");
}

/// The harness and its proxies stall, as on a starved machine: they measure that, and nobody else is blamed.
#[test]
fn a_machine_that_stands_still_is_noticed() {
    let folder = Folder::new();
    let mut command = program();
    command.args(["chaos", "run", "steady", "--backend", "raft", "--json", "--rate", "50", "--duration", "8s"]);
    command.args(["--dir", &folder.file("run")]);
    let mut process = Process::start(command, &folder.path().join("out"));
    let history = folder.path().join("run/n1.jsonl");
    eventually("the plan is played", SOON, || history.exists().then_some(()));
    process.signal("STOP");
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    process.signal("CONT");
    let status = process.wait(SOON);
    let out = process.log();
    let report: Value = out.find('{').and_then(|at| serde_json::from_str(&out[at..]).ok()).unwrap_or_default();
    assert!(report["machine"]["stalled"]["longest_ms"].as_u64() >= Some(2_000), "{status}: {out}");
    // Nobody can lead over stalled links; if that broke liveness, the run is inconclusive and says why.
    assert!(matches!(status.code(), Some(0 | 2)), "{status}: {out}");
    assert_eq!(status.code() == Some(2), report["machine"]["inconclusive"].is_string(), "{out}");
}
