//! Each coordination service of a real fleet under known hazards, under load: the leader sleeps between checking its
//! lease and writing, a leader dies, and a leader is cut off from the service. With a token, none does harm. Without
//! one, the store accepts two leaders' writes, although it checks all that it can.

use super::common::{
    running::{play_plan, play_until},
    servers::{self, find},
};
use protocols::{
    election::{self, Protocol},
    history::Fact,
    point::Point,
};
use scenarios::{
    Params, Registry, belief,
    fault::{Fault, PlannedFault, Trigger, Who},
    plan::Plan,
    scenario::{self, at, gc_pause, require, settled_ms},
};
use serde_json::Value;

/// How long a successor is left alone before the next fault, milliseconds.
const CALM_MS: f64 = 1_000.0;
/// How late a renewal may be, milliseconds.
const RENEWAL_TICK_MS: f64 = 500.0;

/// A lease and a load that a slow machine can handle. Clients of real processes only ask for numbers.
fn light(lease_ttl_ms: u64) -> Params {
    let lease_ttl_ms = Some(lease_ttl_ms);
    Params { lease_ttl_ms, rate: 100, reads_per_s: Some(0), read_lease: Some(false), ..Params::default() }
}

/// The leader's first check of its lease, at least `delay_ms` after its first renewal.
fn lease_checked(delay_ms: f64) -> Trigger {
    let passage = |point: Point, after, delay_ms| Trigger::Passage {
        point: point.name().to_owned(),
        node: Who::Leader,
        nth: 1,
        after,
        delay_ms,
        matching: None,
    };
    passage(Point::LeaseChecked, Some(Box::new(passage(Point::Renewed, None, 0.0))), delay_ms)
}

/// Faults on the current leader, in this order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blow {
    /// It is stopped between checking its lease and writing.
    Sleeps,
    Dies,
    /// It is cut off from the service, and still reaches the store.
    CutOff,
}

/// The plan with these faults.
fn trouble(protocol: &Protocol, params: &Params, blows: &[Blow]) -> Plan {
    let steady = scenario::find("steady").expect("a known scenario");
    let plan = steady.compile(params, protocol, 1).expect("the parameters make sense");
    let ttl_ms = params.granted_ttl_ms(protocol) as f64;
    // By this time after a fault, a successor acts.
    let over_ms = ttl_ms + params.takeover_max_ms(protocol) as f64 + CALM_MS;
    let (mut ready_ms, mut faults, mut facts) = (settled_ms(params, protocol) as f64, Vec::new(), Vec::new());
    if blows.contains(&Blow::Sleeps) {
        let pause_ms = gc_pause::default_pause_ms(params, protocol);
        let (low_ms, high_ms) = gc_pause::phase_ms(params, protocol, pause_ms);
        let what = Fault::Pause { node: Who::Trigger, for_ms: pause_ms as f64 };
        faults.push(PlannedFault { when: lease_checked(((low_ms + high_ms) / 2.0).round()), what, group: 0 });
        ready_ms += RENEWAL_TICK_MS + high_ms + pause_ms as f64 + CALM_MS;
        facts.extend([Fact::ElectedWhilePaused, Fact::StaleWriteAttempts]);
    }
    if blows.contains(&Blow::Dies) {
        let restart_after_ms = Some((ttl_ms / 2.0).round());
        faults.push(at(ready_ms, Fault::Kill { node: Who::Leader, restart_after_ms }));
        ready_ms += over_ms;
        facts.push(Fact::Kills);
    }
    if blows.contains(&Blow::CutOff) {
        let (from, to) = (vec![Who::Leader], vec![Who::Service]);
        faults.push(at(ready_ms, Fault::Partition { from, to, one_way: false, for_ms: Some(over_ms.round()) }));
        ready_ms += over_ms;
        facts.push(Fact::ElectedWhileCutOff);
    }
    let requires = facts.into_iter().flat_map(|fact| require([(fact, 1)])).collect();
    // A leader that was cut off gets a moment to send its pending writes.
    let duration_ms = (ready_ms + 2.0 * CALM_MS) as u64;
    let mut plan = Plan { faults, requires, duration_ms, ..plan };
    plan.dual_belief_bound_ms = belief::bound_ms(&plan, protocol);
    plan
}

fn protocol(name: &str) -> &'static Protocol {
    election::find(name).expect("a known protocol")
}

/// A protocol with a token withstands all of them.
fn withstands(name: &str, params: &Params) {
    let (code, report) = play_plan(&trouble(protocol(name), params, &[Blow::Sleeps, Blow::Dies, Blow::CutOff]));
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("pass")), "{name}: {report:#}");
    let metrics = &report["metrics"];
    assert_eq!(metrics["leaders_acting_by_effect_max"], 1, "{name}: {report:#}");
    assert!(metrics["leaders_believing_max"].as_u64() >= Some(2), "{name}: {report:#}");
    assert!(metrics["writes_fenced"].as_u64() >= Some(1), "{name}: {report:#}");
    assert!(metrics["elections"].as_u64() >= Some(4), "{name}: {report:#}");
}

/// A protocol withstands these faults without a token, too.
fn survives(name: &str, params: &Params, blows: &[Blow]) {
    let (code, report) = play_plan(&trouble(protocol(name), params, blows));
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("pass")), "{name}: {report:#}");
    assert_eq!(report["metrics"]["leaders_acting_by_effect_max"], 1, "{name}: {report:#}");
    assert!(report["metrics"]["elections"].as_u64() > Some(blows.len() as u64), "{name}: {report:#}");
}

/// Two leaders write in turn, and the store, which checks all that it can, accepts both.
fn breaks(name: &str, what: &str, options: &[&str]) {
    // On a stalled machine, the sleeper may find no leader in office.
    let is_shown = |report: &Value| report["verdict"] == "safety" || report["machine"]["unwell"].is_null();
    let options = [&["--backend", name, "--rate", "100"], options].concat();
    let (code, report) = play_until(what, &options, is_shown);
    assert_eq!((code, &report["verdict"]), (Some(1), &Value::from("safety")), "{name}, {what}: {report:#}");
    assert!(report["metrics"]["leaders_acting_by_effect_max"].as_u64() >= Some(2), "{name}, {what}: {report:#}");
    assert_eq!(report["metrics"]["writes_fenced"], 0, "{name}, {what}: {report:#}");
}

#[test]
fn zookeeper_withstands() {
    if servers::find_zookeeper("trouble on ZooKeeper").is_some() {
        withstands("zk-election-from-sending", &light(4_000));
    }
}

#[test]
fn consul_withstands() {
    // The server's default lock-delay, 15 s, would withhold a dead leader's lock.
    let set = Registry::default().setting("consul-session.lock-delay=1s").into_iter().collect();
    if servers::find_consul("trouble on Consul").is_some() {
        withstands("consul-session", &Params { retry_period_ms: Some(1_000), set, ..light(10_000) });
    }
}

#[test]
fn kubernetes_withstands() {
    const WHAT: &str = "trouble on Kubernetes";
    if servers::find_kubernetes(WHAT).is_some() && find("etcd", "etcd-server", WHAT).is_some() {
        withstands("k8s-lease", &light(6_000));
    }
}

#[test]
fn a_row_in_postgresql_withstands() {
    if find("initdb", "postgresql", "trouble on PostgreSQL").is_some() {
        withstands("db-row", &light(2_000));
    }
}

#[test]
fn redis_behind_sentinels_withstands() {
    if find("redis-server", "redis-server", "trouble on Sentinel").is_some() {
        withstands("redis-sentinel", &light(2_000));
    }
}

/// A sleeper keeps its session until an operator ends it, and a leader that is cut off loses it without being told.
#[test]
fn an_advisory_lock_lets_two_write() {
    if find("initdb", "postgresql", "trouble on PostgreSQL").is_some() {
        survives("pg-advisory", &light(2_000), &[Blow::Dies]);
        breaks("pg-advisory", "gc-pause", &["--lease-ttl", "2s"]);
        breaks("pg-advisory", "partition", &["--lease-ttl", "2s"]);
    }
}

#[test]
fn five_redis_let_a_sleeper_write() {
    if find("redis-server", "redis-server", "trouble on five Redis").is_some() {
        survives("redlock", &light(2_000), &[Blow::Dies, Blow::CutOff]);
        breaks("redlock", "gc-pause", &["--lease-ttl", "2s"]);
    }
}
