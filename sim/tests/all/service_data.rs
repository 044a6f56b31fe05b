//! Services that lose their data or are set back, and mixed locks: when the service's word is worthless, only the
//! highest token that the resource has seen protects it.

use crate::common::{plan, run};
use protocols::election;
use scenarios::{Params, Plan, fault::Fault, scenario};
use std::collections::BTreeSet;

/// Violations by the service or the believers; the resource may still be correct.
const NOT_OF_THE_RESOURCE: [&str; 3] = ["elections", "phantom_leader", "dual_belief"];

fn planned(scenario: &str, protocol: &str, fencing: bool) -> Plan {
    let scenario = scenario::find(scenario).expect("a scenario");
    plan(scenario, election::find(protocol).expect("a protocol"), 1, fencing)
}

fn violated(scenario: &str, protocol: &str, fencing: bool) -> BTreeSet<&'static str> {
    let judgement = run(&planned(scenario, protocol, fencing)).judgement;
    let wrong: BTreeSet<_> = judgement.invariants.iter().filter(|seen| !seen.holds).map(|seen| seen.name).collect();
    assert!(!wrong.contains("vacuity"), "{scenario}, {protocol}");
    wrong
}

#[test]
fn a_resource_with_a_fence_survives_a_service_that_forgets() {
    for name in ["service-data-loss", "service-restored", "redis-restart", "mixed-locks"] {
        let scenario = scenario::find(name).expect("a scenario");
        for protocol in election::ALL.into_iter().filter(|p| p.tokened && scenario.needs.met_by(p)) {
            let wrong = violated(name, protocol.name, true);
            let resource = wrong.iter().find(|name| !NOT_OF_THE_RESOURCE.contains(name));
            assert_eq!(resource, None, "{name}, {}", protocol.name);
        }
    }
}

#[test]
fn without_one_it_takes_old_tokens_for_new_ones() {
    for (scenario, protocol) in [
        ("service-data-loss", "redis-fenced"),
        ("service-data-loss", "etcd-election"),
        ("service-data-loss", "consul-session"),
        ("service-restored", "db-row"),
        ("service-restored", "etcd-key"),
    ] {
        let wrong = violated(scenario, protocol, false);
        assert!(wrong.contains("tokens_monotone"), "{scenario}, {protocol}: {wrong:?}");
    }
}

#[test]
fn as_many_leaders_are_refused_as_the_counter_has_forgotten() {
    let plan = planned("service-data-loss", "redis-fenced", true);
    let changes = plan.faults.iter().filter(|planned| matches!(planned.what, Fault::Resign { .. })).count() as u64;
    // One election per former leader, and as many again until a token exceeds the last of theirs.
    let lost = run(&plan).judgement.metrics.elections;
    assert_eq!(lost, 2 * (changes + 1) + 1);
    // With its disk, the service would have had nothing to catch up with.
    let mut kept = plan;
    for planned in &mut kept.faults {
        if let Fault::LoseData { node, restart_after_ms } = planned.what.clone() {
            planned.what = Fault::Kill { node, restart_after_ms };
        }
    }
    assert!(run(&kept).judgement.metrics.elections <= changes + 2);
}

#[test]
fn a_cluster_forgets_as_a_single_server_does() {
    let scenario = scenario::find("service-data-loss").expect("a scenario");
    for name in ["etcd-election", "zk-election", "consul-session"] {
        let protocol = election::find(name).expect("a protocol");
        let params = Params { service_members: Some(3), nodes: 3, ..Params::default() };
        let mut plan = scenario.compile(&params, protocol, 1).expect("a plan");
        let wrong = |plan: &Plan| {
            let judgement = run(plan).judgement;
            let wrong = judgement.invariants.into_iter().filter(|seen| !seen.holds).map(|seen| seen.name);
            wrong.collect::<BTreeSet<_>>()
        };
        // Tokens start again, and their holders are refused.
        assert!(wrong(&plan).contains("elections"), "{name}: {:?}", wrong(&plan));
        for planned in &mut plan.faults {
            if let Fault::LoseData { node, restart_after_ms } = planned.what.clone() {
                planned.what = Fault::Kill { node, restart_after_ms };
            }
        }
        assert_eq!(wrong(&plan), BTreeSet::new(), "{name}, with its disks");
    }
}
