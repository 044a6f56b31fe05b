//! Each coordination service of a real fleet under what is known to hurt, under load: the leader sleeps between checking its
//! lease and writing, a leader dies, and a leader is cut off from the service. Where there is a token, nothing comes of it.
//! Where there is none, the sleeper's write is accepted, although the store checks all that it can.

use super::common::{
    play::{play_plan, play_until},
    servers::{self, find},
};
use protocols::{
    election::{self, Protocol, Timers},
    history::Fact,
    point::Point,
};
use scenarios::{
    Params, belief,
    fault::{Fault, PlannedFault, Trigger, Who},
    plan::Plan,
    scenario::{self, at, gc_pause, require, settled_ms},
};
use serde_json::Value;

/// How long a successor is left alone before the next fault, milliseconds.
const CALM_MS: f64 = 1_000.0;
/// A renewal may be so much later than its interval says, milliseconds.
const RENEWAL_TICK_MS: f64 = 500.0;

/// A lease and a load that a slow machine can bear. Clients of real processes only ask for numbers.
fn light(lease_ttl_ms: u64) -> Params {
    let lease_ttl_ms = Some(lease_ttl_ms);
    Params { lease_ttl_ms, rate: 100, reads_per_s: Some(0), read_lease: Some(false), ..Params::default() }
}

/// The leader's first renewal, and then its first look at its lease so much later.
fn lease_checked(delay_ms: f64) -> Trigger {
    let passage = |point: Point, after, delay_ms| Trigger::Passage {
        point: point.name().to_owned(),
        node: Who::Leader,
        nth: 1,
        after,
        delay_ms,
    };
    passage(Point::LeaseChecked, Some(Box::new(passage(Point::Renewed, None, 0.0))), delay_ms)
}

/// A leader is killed, and the next one cut off from the service; before that, one of them `sleeps`.
fn trouble(protocol: &Protocol, params: &Params, sleeps: bool) -> Plan {
    let steady = scenario::find("steady").expect("a known scenario");
    let plan = steady.compile(params, protocol, 1).expect("the parameters make sense");
    let ttl_ms = params.granted_ttl_ms(protocol) as f64;
    // So long after a fault somebody else acts.
    let over_ms = ttl_ms + params.takeover_max_ms(protocol) as f64 + CALM_MS;
    let (mut ready_ms, mut faults) = (settled_ms(params, protocol) as f64, Vec::new());
    let mut requires = vec![(Fact::Kills, 1), (Fact::ElectedWhileCutOff, 1)];
    if sleeps {
        let pause_ms = gc_pause::default_pause_ms(params, protocol);
        let (low_ms, high_ms) = gc_pause::phase_ms(params, protocol, pause_ms);
        let what = Fault::Pause { node: Who::Trigger, for_ms: pause_ms as f64 };
        faults.push(PlannedFault { when: lease_checked((low_ms + high_ms) / 2.0), what, group: 0 });
        ready_ms += RENEWAL_TICK_MS + high_ms + pause_ms as f64 + CALM_MS;
        requires.extend([(Fact::ElectedWhilePaused, 1), (Fact::StaleWriteAttempts, 1)]);
    }
    let restart_after_ms = Some((ttl_ms / 2.0).round());
    faults.push(at(ready_ms, Fault::Kill { node: Who::Leader, restart_after_ms }));
    ready_ms += over_ms;
    let (from, to) = (vec![Who::Leader], vec![Who::Service]);
    faults.push(at(ready_ms, Fault::Partition { from, to, one_way: false, for_ms: Some(over_ms.round()) }));
    let requires = requires.into_iter().flat_map(|fact| require([fact])).collect();
    // Who was cut off has a moment to say what it still has in its hands.
    let duration_ms = (ready_ms + over_ms + 2.0 * CALM_MS) as u64;
    let mut plan = Plan { faults, requires, duration_ms, ..plan };
    plan.dual_belief_bound_ms = belief::bound_ms(&plan, protocol);
    plan
}

fn protocol(name: &str) -> &'static Protocol {
    election::find(name).expect("a known protocol")
}

/// Everything happens to a protocol with a token, and nothing comes of it.
fn withstands(name: &str, params: &Params) {
    let (code, report) = play_plan(&trouble(protocol(name), params, true));
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("pass")), "{name}: {report:#}");
    let metrics = &report["metrics"];
    assert_eq!(metrics["leaders_acting_by_effect_max"], 1, "{name}: {report:#}");
    assert!(metrics["leaders_believing_max"].as_u64() >= Some(2), "{name}: {report:#}");
    assert!(metrics["writes_fenced"].as_u64() >= Some(1), "{name}: {report:#}");
    assert!(metrics["elections"].as_u64() >= Some(4), "{name}: {report:#}");
}

/// A protocol without a token survives deaths and cuts, but a sleeper's write is accepted, with fencing on.
fn lets_a_sleeper_write(name: &str, lease_ttl: u64) {
    let (code, report) = play_plan(&trouble(protocol(name), &light(lease_ttl), false));
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("pass")), "{name}: {report:#}");
    assert_eq!(report["metrics"]["leaders_acting_by_effect_max"], 1, "{name}: {report:#}");
    assert!(report["metrics"]["elections"].as_u64() >= Some(3), "{name}: {report:#}");

    // On a machine that stands still, the sleeper may find nobody in the middle of a reign.
    let ttl = format!("{lease_ttl}ms");
    let is_shown = |report: &Value| report["verdict"] == "safety" || report["machine"]["unwell"].is_null();
    let options = ["--backend", name, "--lease-ttl", &ttl, "--rate", "100"];
    let (code, report) = play_until("gc-pause", &options, is_shown);
    assert_eq!((code, &report["verdict"]), (Some(1), &Value::from("safety")), "{name}: {report:#}");
    assert!(report["metrics"]["leaders_acting_by_effect_max"].as_u64() >= Some(2), "{name}: {report:#}");
    assert_eq!(report["metrics"]["writes_fenced"], 0, "{name}: {report:#}");
}

#[test]
fn zookeeper_withstands() {
    if servers::find_zookeeper("trouble on ZooKeeper").is_some() {
        withstands("zk-election", &light(4_000));
    }
}

#[test]
fn consul_withstands() {
    // What the server puts a dead leader's lock off by is its default otherwise, 15 s.
    let own_ms = Timers { retry_period: Some(1_000), lock_delay: Some(1_000), ..Timers::NONE };
    if servers::find_consul("trouble on Consul").is_some() {
        withstands("consul-session", &Params { own_ms, ..light(10_000) });
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

#[test]
fn an_advisory_lock_lets_a_sleeper_write() {
    if find("initdb", "postgresql", "trouble on PostgreSQL").is_some() {
        lets_a_sleeper_write("pg-advisory", 3_000);
    }
}

#[test]
fn five_redis_let_a_sleeper_write() {
    if find("redis-server", "redis-server", "trouble on five Redis").is_some() {
        lets_a_sleeper_write("redlock", 2_000);
    }
}
