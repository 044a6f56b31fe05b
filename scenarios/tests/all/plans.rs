//! The scenarios' plans.

use proptest::{prop_assert_eq, proptest, test_runner::Config};
use protocols::{
    election::{self, Protocol},
    history::Fact,
    types::NodeId,
};
use scenarios::{
    Params, Plan, Scenario,
    fault::{Fault, Trigger, Who},
    generate, params,
    plan::Timings,
    scenario::{self, gc_pause},
};
use serde_json::Value;

const BY_HAND: &str = include_str!("../testdata/by-hand.json");

fn every() -> impl Iterator<Item = (&'static Scenario, &'static Protocol)> {
    election::ALL.into_iter().flat_map(|protocol| scenario::of(protocol).map(move |scenario| (scenario, protocol)))
}

#[test]
fn a_plan_is_a_function_of_parameters_and_seed() {
    for (scenario, protocol) in every() {
        let params = Params { nodes: 5, lease_ttl_ms: Some(10_000), ..Params::default() };
        let plan = |seed| scenario.compile(&params, protocol, seed).unwrap();
        assert_eq!(plan(1), plan(1));
        assert_ne!(plan(1).candidates, plan(2).candidates);
        if !plan(1).faults.is_empty() {
            assert_ne!(plan(1).faults, plan(2).faults, "{} ignores its seed", scenario.name);
        }
    }
}

#[test]
fn every_scenario_compiles_with_every_lease_network_and_seed() {
    for (scenario, protocol) in every() {
        for lease_ttl_ms in [1_000, 3_000, 10_000, 30_000] {
            for net in &params::PROFILES {
                for seed in 0..2 {
                    let params = Params { lease_ttl_ms: Some(lease_ttl_ms), net, ..Params::default() };
                    let plan = scenario.compile(&params, protocol, seed).unwrap();
                    // A half-done migration and a long job need no fault.
                    let calm = ["steady", "mixed-locks", "long-job"].contains(&scenario.name);
                    assert_eq!(plan.faults.is_empty(), calm, "{}", scenario.name);
                    assert!(!plan.requires.is_empty(), "{} may be vacuous unnoticed", scenario.name);
                    assert_eq!(Plan::from_json(&plan.to_json_pretty()).unwrap(), plan);
                }
            }
        }
    }
}

#[test]
fn parameters_that_make_no_sense_are_refused_by_every_scenario() {
    let standard = Params::default;
    let cases = [
        (Params { nodes: 0, ..standard() }, "the plan has 0 candidates; it needs 1 to 64"),
        (Params { nodes: 65, ..standard() }, "the plan has 65 candidates; it needs 1 to 64"),
        (Params { lease_ttl_ms: Some(0), ..standard() }, "timings.lease_ttl_ms is 0; it must be 1 to 86400000"),
        (
            Params { lease_ttl_ms: Some(u64::MAX), ..standard() },
            "timings.lease_ttl_ms is 18446744073709551615; it must be 1 to",
        ),
        (
            Params { renew_interval_ms: Some(u64::MAX), ..standard() },
            "timings.renew_interval_ms is 18446744073709551615;",
        ),
        (
            Params { renew_interval_ms: Some(90_000), ..standard() },
            "timings.renew_interval_ms is 90000, but the lease lasts",
        ),
        (Params { duration_ms: Some(0), ..standard() }, "duration_ms is 0; it must be 1 to 86400000"),
        (Params { duration_ms: Some(u64::MAX), ..standard() }, "duration_ms is 18446744073709551615; it must be 1 to"),
        (Params { rate: 0, ..standard() }, "load.rate is 0; it must be 1 to 1000000"),
        (Params { clock_drift_ppm: u64::MAX, ..standard() }, "candidates["),
        (Params { clock_skew_ms: u64::MAX, ..standard() }, "candidates["),
    ];
    for (params, expected) in cases {
        for (scenario, protocol) in every() {
            let error = scenario.compile(&params, protocol, 1).unwrap_err().0;
            assert!(error.starts_with(expected), "{}: {error}", scenario.name);
        }
    }
    let protocol = election::ALL[0];
    let pause = |pause_ms| Params { pause_ms: Some(pause_ms), ..standard() };
    let gc_pause = scenario::find("gc-pause").unwrap();
    assert!(gc_pause.compile(&pause(0), protocol, 1).unwrap_err().0.starts_with("faults[0] (pause) lasts 0 ms"));
    assert!(gc_pause.compile(&pause(u64::MAX), protocol, 1).is_err());
}

#[test]
fn the_sleeper_of_gc_pause_wakes_after_its_successor_has_sealed() {
    for protocol in election::ALL {
        for lease_ttl_ms in [1_000, 3_000, 10_000, 30_000] {
            let params = Params { lease_ttl_ms: Some(lease_ttl_ms), ..Params::default() };
            let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol), params.takeover_max_ms(protocol));
            let Timings { renew_interval_ms, .. } = params.timings(protocol);
            for longer_ms in [0, 500, 60_000] {
                let pause_ms = gc_pause::default_pause_ms(&params, protocol) + longer_ms;
                let (low_ms, high_ms) = gc_pause::phase_ms(&params, protocol, pause_ms);
                let about = format!("{}, ttl {ttl_ms} ms, pause {pause_ms} ms: {low_ms} to {high_ms}", protocol.name);
                assert!(low_ms >= 50.0 && low_ms <= high_ms, "{about}");
                assert!(high_ms <= renew_interval_ms as f64 - 50.0, "the next renewal is sent first: {about}");
                let woken_ms = low_ms + pause_ms as f64;
                assert!(woken_ms >= (ttl_ms + takeover_ms + 150) as f64, "the successor comes too late: {about}");
            }
            // A pause that cannot outlast the takeover begins as late as possible.
            let (low_ms, high_ms) = gc_pause::phase_ms(&params, protocol, ttl_ms / 2);
            assert!(low_ms <= high_ms && high_ms < renew_interval_ms as f64);
        }
    }
}

#[test]
fn runs_go_on_for_long_enough_after_the_last_fault() {
    for (scenario, protocol) in every() {
        for seed in 0..50 {
            let params = Params::default();
            let plan = scenario.compile(&params, protocol, seed).unwrap();
            let rest_ms = (2 * params.granted_ttl_ms(protocol) + 3_000).max(plan.liveness_bound_ms) as f64;
            for planned in &plan.faults {
                let struck_ms = match &planned.when {
                    Trigger::At { ms } => *ms,
                    // The fourth renewal at the latest, and the phase.
                    Trigger::Passage { delay_ms, .. } => 4.0 * (plan.timings.renew_interval_ms + 500) as f64 + delay_ms,
                };
                let restarted_ms = match planned.what {
                    Fault::Kill { restart_after_ms, .. } | Fault::PowerLoss { restart_after_ms, .. } => {
                        restart_after_ms
                    }
                    _ => None,
                };
                let healed_ms = struck_ms + planned.what.for_ms().or(restarted_ms).unwrap_or(0.0);
                assert!(healed_ms + rest_ms <= plan.duration_ms as f64, "{} {seed}: {healed_ms}", scenario.name);
            }
        }
    }
}

#[test]
fn the_topology_numbers_candidates_service_store_and_clients() {
    let mut plan = Plan::from_json(BY_HAND).unwrap();
    assert_eq!(plan.topology().unwrap().names(), ["n1", "n2", "etcd", "store", "c1", "c2"]);
    plan.protocol = "redis-lease".to_owned();
    let topology = plan.topology().unwrap();
    assert_eq!(topology.name(NodeId(2)), "redis");
    let nodes = |who: &Who| topology.resolve(who).map(|nodes| nodes.iter().map(|node| node.0).collect::<Vec<_>>());
    let cases = [
        ("leader", None),
        ("followers", None),
        ("trigger", None),
        ("service-leader", None),
        ("nobody", None),
        ("candidates", Some(vec![0, 1])),
        ("service", Some(vec![2])),
        ("redis", Some(vec![2])),
        ("store", Some(vec![3])),
        ("clients", Some(vec![4, 5])),
        ("c2", Some(vec![5])),
        ("n2", Some(vec![1])),
    ];
    for (word, expected) in cases {
        assert_eq!(nodes(&Who::from(word.to_owned())), expected, "{word}");
    }
    assert_eq!((topology.only_member(), topology.store()), (Some(NodeId(2)), NodeId(3)));
    assert_eq!(topology.clients().collect::<Vec<_>>(), [NodeId(4), NodeId(5)]);
}

#[test]
fn the_header_says_what_the_judge_must_know() {
    let plan = Plan::from_json(BY_HAND).unwrap();
    let header = plan.header().unwrap();
    assert_eq!(header.plan_digest, plan.digest());
    assert_eq!(header.nodes, plan.topology().unwrap().names());
    assert_eq!((header.services, header.services_needed), (vec![NodeId(2)], 0));
    assert_eq!((header.candidates, header.rate, header.lease_ttl_ms), (2, 1_000, 3_000));
    assert_eq!((header.liveness_bound_ms, header.dark_after_ms), (6_000, 55));
    assert_eq!(header.requires[0].fact, Fact::Elections);
}

#[test]
fn the_digest_changes_with_every_field() {
    let plan = Plan::from_json(BY_HAND).unwrap();
    assert_eq!(plan.digest().len(), 32);
    let whole = serde_json::to_value(&plan).unwrap();
    let mut changed = 0;
    for pointer in leaves(&whole, String::new()) {
        let mut value = whole.clone();
        let leaf = value.pointer_mut(&pointer).unwrap();
        *leaf = match leaf {
            Value::Bool(flag) => Value::Bool(!*flag),
            Value::Number(number) if number.is_f64() => (number.as_f64().unwrap() + 0.5).into(),
            Value::Number(number) => (number.as_i64().unwrap() + 1).into(),
            Value::String(word) if pointer.ends_with("/fact") => {
                Value::from(format!("{word}-won").replace("elections-won", "kills"))
            }
            Value::String(word) => Value::from(format!("{word}x")),
            other => panic!("{pointer}: {other} is no leaf"),
        };
        let other: Plan = serde_json::from_value(value).unwrap_or_else(|error| panic!("{pointer}: {error}"));
        assert_ne!(other.digest(), plan.digest(), "{pointer}");
        changed += 1;
    }
    assert!(changed > 45, "only {changed} fields were tried");
}

fn leaves(value: &Value, path: String) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            fields.iter().flat_map(|(key, value)| leaves(value, format!("{path}/{key}"))).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(index, value)| leaves(value, format!("{path}/{index}"))).collect()
        }
        _ => vec![path],
    }
}

#[test]
fn faults_and_triggers_read_like_sentences() {
    let plan = Plan::from_json(BY_HAND).unwrap();
    let lines: Vec<String> = plan.faults.iter().map(|fault| format!("{}: {}", fault.when, fault.what)).collect();
    let expected = [
        "at passage 1 of lease_checked by leader, counted from 400.125 ms after passage 2 of renewed by leader: \
         pause trigger for 3500 ms",
        "at 9000 ms: cut leader off from service and c1 for 1000 ms",
        "at 9500 ms: drop 25 % of packets from candidates to store for 1000 ms",
    ];
    assert_eq!(lines, expected);
}

proptest! {
    #![proptest_config(Config { cases: 500, failure_persistence: None, ..Config::default() })]

    #[test]
    fn json_says_all_of_a_plan(plan in generate::plans()) {
        let read = Plan::from_json(&plan.to_json_pretty()).map_err(|e| proptest::test_runner::TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(read.digest(), plan.digest());
        prop_assert_eq!(read, plan);
    }
}
