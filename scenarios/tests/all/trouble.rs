//! The plans of outages, restarts, stalls and broken links, and which of their faults a plan rejects.

use protocols::{
    election::{self, Protocol},
    history::FaultKind,
};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    params::PROFILES,
    scenario::{self, Scenario},
};
use std::collections::BTreeSet;

/// Plans of every protocol that a scenario applies to, with 3 and 5 candidates, at some seeds.
fn plans(name: &str) -> Vec<(&'static Protocol, Params, Plan)> {
    let scenario = scenario::find(name).unwrap();
    let protocols = election::ALL.into_iter().filter(|protocol| scenario.needs.met_by(protocol));
    let cases =
        protocols.flat_map(|p| [3, 5].into_iter().flat_map(move |nodes| (0..30).map(move |seed| (p, nodes, seed))));
    let plan = |(protocol, nodes, seed)| {
        let params = Params { nodes, ..Params::default() };
        let plan = scenario.compile(&params, protocol, seed).unwrap();
        (protocol, params, plan)
    };
    cases.map(plan).collect()
}

fn ms(planned: &PlannedFault) -> f64 {
    match planned.when {
        Trigger::At { ms } => ms,
        Trigger::Passage { .. } => panic!("these strike at times"),
    }
}

/// The start and the end of each kill or power loss, and whom it strikes.
fn downs(plan: &Plan) -> Vec<(f64, f64, Who)> {
    let down = |planned: &PlannedFault| match &planned.what {
        Fault::Kill { node, restart_after_ms: Some(after_ms) }
        | Fault::PowerLoss { node, restart_after_ms: Some(after_ms) } => {
            Some((ms(planned), ms(planned) + after_ms, node.clone()))
        }
        _ => None,
    };
    plan.faults.iter().filter_map(down).collect()
}

#[test]
fn every_scenario_can_be_told_of_as_many_as_it_needs_and_of_nine() {
    for protocol in election::ALL {
        for scenario in scenario::of(protocol) {
            for nodes in [1, 2, 3, 5, 7, 9] {
                let params = Params { nodes, ..Params::default() };
                let enough = nodes >= scenario.needs.candidates_min();
                assert_eq!(scenario.compile(&params, protocol, 1).is_ok(), enough, "{} {nodes}", scenario.name);
            }
            if protocol.service.members.agree() {
                let params = Params { service_members: Some(3), nodes: 3, ..Params::default() };
                let plan = scenario.compile(&params, protocol, 1).map(drop);
                assert_eq!(plan, Ok(()), "{} {}, of a cluster", scenario.name, protocol.name);
            }
        }
    }
}

#[test]
fn in_an_outage_everything_is_dark_at_once_and_all_are_back_before_the_next() {
    for (_, _, plan) in plans("power-outage") {
        let machines = plan.candidates.len() + 1 + plan.topology().unwrap().members().count();
        let downs = downs(&plan);
        assert_eq!(downs.len(), 2 * machines);
        let (first, second) = downs.split_at(machines);
        for outage in [first, second] {
            assert!(outage.iter().all(|(from, _, _)| *from == outage[0].0));
            let backs: BTreeSet<u64> = outage.iter().map(|(_, to, _)| (to * 1e3) as u64).collect();
            assert!(backs.len() > 1, "everybody is back at once");
            let whose: BTreeSet<String> = outage.iter().map(|(_, _, who)| who.to_string()).collect();
            assert_eq!(whose.len(), machines);
        }
        assert!(first.iter().all(|(_, to, _)| *to <= second[0].0));
    }
}

#[test]
fn a_deployment_stops_everybody_once_and_one_at_a_time() {
    for (_, _, plan) in plans("rolling-restart") {
        let downs = downs(&plan);
        let whose: BTreeSet<String> = downs.iter().map(|(_, _, who)| who.to_string()).collect();
        assert_eq!((downs.len(), whose.len()), (plan.candidates.len(), plan.candidates.len()));
        assert!(downs.windows(2).all(|pair| pair[0].1 + 1_000.0 <= pair[1].0), "{downs:?}");
    }
}

#[test]
fn servers_are_back_once_soon_and_once_late() {
    for name in ["store-restart", "service-restart"] {
        for (protocol, params, plan) in plans(name) {
            let ttl_ms = params.granted_ttl_ms(protocol) as f64;
            let mut took: Vec<f64> = downs(&plan).iter().map(|(from, to, _)| to - from).collect();
            took.sort_by(f64::total_cmp);
            let soon = took.iter().filter(|ms| **ms <= 500.0).count();
            let late = took.iter().filter(|ms| **ms >= ttl_ms - 0.01).count();
            assert!(took.len() == 2 && soon >= 1 && late >= 1, "{name}: {took:?}");
        }
    }
}

#[test]
fn no_flap_and_no_stall_is_as_long_as_half_a_lease_and_none_overlap() {
    for name in ["flapping", "starvation"] {
        for (protocol, params, plan) in plans(name) {
            let longest_ms = params.granted_ttl_ms(protocol) as f64 / 2.0;
            let mut over = std::collections::BTreeMap::new();
            for planned in &plan.faults {
                let for_ms = planned.what.for_ms().unwrap();
                assert!(for_ms <= longest_ms);
                let whose = format!("{:?}", planned.what.groups().0.first().filter(|_| name == "starvation"));
                let last = over.insert(whose, ms(planned) + for_ms).unwrap_or(0.0);
                assert!(last <= ms(planned), "{name}: two at once");
            }
            assert!(plan.faults.len() >= 12);
        }
    }
}

#[test]
fn a_missing_link_is_anybodys_and_stays_missing() {
    let mut links = BTreeSet::new();
    for (protocol, _, plan) in plans("clique") {
        let [PlannedFault { what: Fault::Partition { from, to, one_way: false, for_ms: None }, .. }] = &plan.faults[..]
        else {
            panic!("{:?} is no link that stays down", plan.faults)
        };
        assert_eq!((from.len(), to.len()), (1, 1));
        if plan.candidates.len() == 3 && protocol.name == "raft" {
            let mut ends = [from[0].to_string(), to[0].to_string()];
            ends.sort();
            links.insert(ends.join("-"));
        }
        let has_service = protocol.service.process.is_some() && !protocol.elects_among_peers();
        assert_eq!(to[0] == Who::Service, has_service || to[0] == Who::Service);
    }
    assert_eq!(links.into_iter().collect::<Vec<_>>(), ["n1-n2", "n1-n3", "n2-n3"]);
}

#[test]
fn clocks_that_are_set_are_set_back() {
    for (_, _, plan) in plans("clock-step") {
        let steps = plan.faults.iter().map(|planned| match planned.what {
            Fault::ClockStep { by_ms, .. } => by_ms,
            _ => panic!("clocks are set and nothing else"),
        });
        let steps: Vec<i64> = steps.collect();
        assert_eq!(steps.iter().sum::<i64>(), 0);
        assert!(steps.iter().any(|by_ms| *by_ms > 0) && steps.iter().all(|by_ms| by_ms.abs() >= 50));
    }
}

#[test]
fn disks_stall_in_every_way_the_leaders_and_others() {
    let mut seen = BTreeSet::new();
    for (_, _, plan) in plans("disk-stall") {
        let of_leader = plan.faults[0].what.whom()[0] == &Who::Leader;
        seen.insert((plan.faults[0].what.kind(), of_leader));
    }
    let kinds = [FaultKind::SlowDisk, FaultKind::SyncHang, FaultKind::SyncFail];
    let expected: Vec<_> = kinds.into_iter().flat_map(|kind| [(kind.clone(), false), (kind, true)]).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn what_the_service_drops_it_must_have() {
    let service = |protocol: &str, what: Fault| {
        let protocol = election::find(protocol).unwrap();
        let mut plan = scenario::find("steady").unwrap().compile(&Params::default(), protocol, 1).unwrap();
        plan.faults = vec![PlannedFault { when: Trigger::At { ms: 5_000.0 }, what, group: 0 }];
        plan.validate()
    };
    let lease = |node| Fault::DropLease { node };
    let key = |node| Fault::DropKey { node };
    let lost = |node| Fault::LoseData { node, restart_after_ms: None };
    assert_eq!(service("etcd-election", lost(Who::Service)), Ok(()));
    assert_eq!(service("zk-election", key(Who::Service)), Ok(()));
    assert_eq!(service("etcd-election", lease(Who::Leader)), Ok(()));
    assert_eq!(service("etcd-election", key(Who::Followers)), Ok(()));
    assert_eq!(service("redis-naive", key(Who::Leader)), Ok(()));
    assert_eq!(service("redis-fenced", key(Who::Service)), Ok(()));
    let refused = [
        (
            "redis-naive",
            lease(Who::Leader),
            "(drop-lease) drops a lease of the service, but `redis-naive` has none there",
        ),
        ("raft", lease(Who::Leader), "(drop-lease) drops a lease of the service, but `raft` has none there"),
        ("stonith", key(Who::Leader), "(drop-key) drops a key of the service, but `stonith` has none there"),
        ("redis-lease", key(Who::Store), "(drop-key) names `store`, which is not a candidate"),
        (
            "redis-lease",
            key(Who::Service),
            "(drop-key) drops the token counter, but the service of `redis-lease` has none",
        ),
        (
            "etcd-election",
            key(Who::Service),
            "(drop-key) drops the token counter, but the service of `etcd-election` has none",
        ),
        ("raft", lost(Who::Service), "(lose-data) strikes the service, but `raft` has none; name candidates"),
        (
            "pg-advisory",
            lost(Who::Service),
            "(lose-data) loses what the service has on disk, but that of `pg-advisory` has nothing there",
        ),
        (
            "redis-lease",
            lost(Who::Leader),
            "(lose-data) loses the disk of `leader`, which is no member of the service; name `service`",
        ),
        (
            "redis-lease",
            Fault::RestoreCopy { node: Who::Service, copied_at_ms: 5_000.0, restart_after_ms: None },
            "(restore-copy) strikes at 5000 ms, but restores a copy made at 5000 ms; copy it before",
        ),
        (
            "raft",
            Fault::SyncHang { node: Who::Leader, for_ms: Some(0.0) },
            "(sync-hang) lasts 0 ms; give it some time, or leave it out",
        ),
    ];
    for (protocol, what, expected) in refused {
        assert_eq!(service(protocol, what).unwrap_err().0, format!("faults[0] {expected}"));
    }
}

#[test]
fn members_that_agree_lose_their_disks_together() {
    let of_cluster = |node| {
        let params = Params { service_members: Some(3), ..Params::default() };
        let protocol = election::find("etcd-election").unwrap();
        let mut plan = scenario::find("steady").unwrap().compile(&params, protocol, 1).unwrap();
        let what = Fault::LoseData { node, restart_after_ms: None };
        plan.faults = vec![PlannedFault { when: Trigger::At { ms: 5_000.0 }, what, group: 0 }];
        plan.validate()
    };
    assert_eq!(of_cluster(Who::Service), Ok(()));
    assert_eq!(of_cluster(Who::Named("etcd".to_owned())), Ok(()));
    assert_eq!(
        of_cluster(Who::Named("etcd-2".to_owned())).unwrap_err().0,
        "faults[0] (lose-data) loses the disk of `etcd-2` alone, but members that agree lose theirs together; name `service`"
    );
}

#[test]
fn new_faults_read_like_sentences() {
    let named = || Who::Named("n2".to_owned());
    let cases = [
        (Fault::SyncHang { node: named(), for_ms: Some(500.0) }, "hang each sync of n2's disk for 500 ms"),
        (Fault::SyncFail { node: named(), silent: false, for_ms: None }, "fail each sync of n2's disk"),
        (Fault::SyncFail { node: named(), silent: true, for_ms: None }, "fail each sync of n2's disk unnoticed"),
        (Fault::DropLease { node: Who::Leader }, "drop the lease of leader"),
        (Fault::DropKey { node: named() }, "drop the key of n2"),
        (Fault::DropKey { node: Who::Service }, "drop the token counter"),
        (
            Fault::LoseData { node: Who::Service, restart_after_ms: Some(500.0) },
            "lose the data of service and restart it after 500 ms",
        ),
        (
            Fault::RestoreCopy { node: Who::Service, copied_at_ms: 2_000.0, restart_after_ms: None },
            "restore service from a copy made at 2 s",
        ),
        (Fault::ForgeToken { node: named() }, "send the store a forged token as n2"),
        (
            Fault::ForgeClaim { node: named(), to: vec![Who::Candidates] },
            "tell candidates, posing as n2, that it leads",
        ),
        (
            Fault::RogueFence { node: Who::Leader, by: named() },
            "ask the fencing device, posing as n2, to cut the power of leader",
        ),
        (
            Fault::LyingDevice { node: Who::Service, for_ms: Some(500.0) },
            "have service confirm power cuts without making them for 500 ms",
        ),
        (
            Fault::CloudDevice { node: Who::Service, stopping_ms: 9_000.0, throttle_ms: 700.0, for_ms: None },
            "have service accept a request every 700 ms and stop the machine 9000 ms later",
        ),
        (Fault::Bandwidth { node: named(), kbps: 51, for_ms: None }, "limit the bandwidth of n2 to 51 kbit/s"),
        (
            Fault::Hang { from: vec![named()], to: vec![Who::Service], for_ms: Some(500.0) },
            "hang the connections between n2 and service for 500 ms",
        ),
    ];
    for (fault, expected) in cases {
        assert_eq!(fault.to_string(), expected);
    }
    let fail = Fault::SyncFail { node: named(), silent: false, for_ms: Some(1_500.0) };
    assert_eq!(fail.describe("n2", ""), "syncs of n2's disk fail for 1.5 s");
    assert_eq!(Fault::DropKey { node: named() }.describe("n2", ""), "n2's key is dropped by the service");
    let cut = Fault::Partition { from: vec![named()], to: vec![Who::Store], one_way: true, for_ms: None };
    assert_eq!(cut.describe("{to}", "{on}"), "{to} cannot reach {on}", "names may look like placeholders");
}

/// Whether a scenario's plan reads from memory, and how many reads per second it has.
fn reading(scenario: &Scenario, protocol: &Protocol, params: &Params, seed: u64) -> (bool, u64) {
    let plan = scenario.compile(params, protocol, seed).unwrap();
    (plan.read_lease, plan.load.reads_per_s)
}

#[test]
fn every_run_has_reads_and_half_of_them_are_from_memory_where_the_lease_covers_them() {
    let params = Params { rate: 200, ..Params::default() };
    for protocol in election::ALL {
        let special = [
            "read-lease",
            "clock-step",
            "rolling-restart",
            "restart-in-isolation",
            "disk-stall",
            "lost-lease",
            "clock-jump",
            "clock-skew",
            "session-expiry-unnoticed",
            "unheard-transfer",
            "service-data-loss",
            "service-restored",
            "redis-restart",
            "mixed-locks",
            "controller-resign-storm",
        ];
        for scenario in scenario::of(protocol).filter(|s| !special.contains(&s.name)) {
            let drawn: Vec<_> = (0..40).map(|seed| reading(scenario, protocol, &params, seed)).collect();
            assert!(drawn.iter().all(|(_, reads)| *reads == 20), "{}", scenario.name);
            let from_memory = drawn.iter().filter(|(from_memory, _)| *from_memory).count();
            match params.lease_covers_reads(protocol) {
                true => assert!((10..=30).contains(&from_memory), "{from_memory} of 40 for {}", protocol.name),
                false => assert_eq!(from_memory, 0, "{}", protocol.name),
            }
            let asked = Params { read_lease: Some(true), reads_per_s: Some(7), ..params.clone() };
            assert_eq!(reading(scenario, protocol, &asked, 3), (true, 7));
        }
    }
    for (scenario, protocol) in
        [("clock-step", "redis-fenced"), ("rolling-restart", "zab-fle"), ("lost-lease", "redis-fenced")]
    {
        let (scenario, protocol) = (scenario::find(scenario).unwrap(), election::find(protocol).unwrap());
        assert!((0..40).all(|seed| !reading(scenario, protocol, &params, seed).0), "no lease is as good as that");
    }
    let steady = scenario::find("steady").unwrap();
    let redis = election::find("redis-fenced").unwrap();
    let drifting = Params { clock_drift_ppm: 1_000, net: &PROFILES[0], ..Params::default() };
    assert!((0..40).all(|seed| !reading(steady, redis, &drifting, seed).0), "their clocks are too bad for a lease");
}
