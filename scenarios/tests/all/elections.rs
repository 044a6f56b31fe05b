//! The plans of message-passing elections' scenarios: who is cut off from whom, when, and what is required.

use protocols::{
    election::{self, Preference, Promise, Protocol, hazard},
    history::{Fact, FaultKind},
};
use scenarios::{
    Params, Plan,
    fault::{Fault, Trigger, Who},
    scenario::{self, Needs},
};
use std::collections::BTreeSet;

/// Every protocol that a scenario applies to.
fn of(name: &str) -> Vec<&'static Protocol> {
    let scenario = scenario::find(name).unwrap();
    election::ALL.into_iter().filter(|protocol| scenario.needs.met_by(protocol)).collect()
}

fn plan(name: &str, protocol: &Protocol, nodes: u16, seed: u64) -> Plan {
    let params = Params { nodes, ..Params::default() };
    scenario::find(name).unwrap().compile(&params, protocol, seed).unwrap()
}

fn required(plan: &Plan, fact: Fact) -> bool {
    plan.requires.iter().any(|requirement| requirement.fact == fact)
}

fn names(group: &[Who]) -> BTreeSet<String> {
    group.iter().map(|who| who.to_string()).collect()
}

/// The two sides of each partition of a plan.
fn cuts(plan: &Plan) -> Vec<(BTreeSet<String>, BTreeSet<String>)> {
    let sides = |what: &Fault| match what {
        Fault::Partition { from, to, .. } => Some((names(from), names(to))),
        _ => None,
    };
    plan.faults.iter().filter_map(|planned| sides(&planned.what)).collect()
}

fn at_ms(plan: &Plan, kind: FaultKind) -> Vec<f64> {
    let time = |when: &Trigger| match when {
        Trigger::At { ms } => *ms,
        Trigger::Passage { .. } => panic!("these strike at times"),
    };
    plan.faults.iter().filter(|planned| planned.what.kind() == kind).map(|planned| time(&planned.when)).collect()
}

#[test]
fn stories_that_need_others_are_refused_in_one_sentence() {
    let scenario = scenario::find("isolate-leader").unwrap();
    let peers = of("isolate-leader")[0];
    let alone = scenario.compile(&Params { nodes: 1, ..Params::default() }, peers, 1).unwrap_err();
    assert_eq!(alone.0, "`isolate-leader` needs at least 2 candidates, and 1 is asked for");
    let service = election::find("redis-lease").unwrap();
    let error = scenario.compile(&Params::default(), service, 1).unwrap_err().0;
    let expected =
        "`isolate-leader` needs candidates that elect among themselves, but `redis-lease` has none; these have: ";
    assert!(error.starts_with(expected) && error.contains("lowest-id"), "{error}");
}

#[test]
fn nobody_is_told_a_story_that_is_not_its_own() {
    let service = election::find("etcd-election").unwrap();
    let of_service: Vec<&str> = scenario::of(service).map(|scenario| scenario.name).collect();
    let expected = [
        "steady clean-kill gc-pause partition graceful-step-down leadership-transfer read-lease",
        "power-outage rolling-restart store-restart service-restart lost-lease leases-lost-in-turn",
        "clock-step flapping clique starvation expired-waiter slow-drain lost-answer late-answer unknown-outcome stood-down",
        "adversary-forged-token outage-recovery session-expiry-unnoticed clock-jump clock-skew thundering-herd",
        "service-failover service-quorum-loss service-leader-stall service-leader-isolated service-leader-cut-off",
        "heartbeat-starved adversary-delayed-renewals",
        "service-data-loss service-restored controller-resign-storm incident-invoice long-job stale-enactor stale-address stale-cache slow-service",
        "leader-cannot-work leader-without-clients",
        "shard-rebalance service-second-takeover",
    ];
    assert_eq!(of_service.join(" "), expected.join(" "));
    let lowest_id = election::find("lowest-id").unwrap();
    let of_lowest_id: Vec<&str> = scenario::of(lowest_id).map(|scenario| scenario.name).collect();
    for name in ["isolate-leader", "asymmetric-partition", "quorum-loss", "slow-top-node", "detector-comparison"] {
        assert!(of_lowest_id.contains(&name), "{name}");
    }
    for name in ["partition", "split-vote", "ring-break", "leadership-transfer", "membership-churn", "stonith-race"] {
        assert!(!of_lowest_id.contains(&name), "{name}");
    }
    assert!(!Needs::PowerDevice.met_by(service) && !Needs::Ring.met_by(lowest_id));
}

#[test]
fn a_leader_is_mute_or_deaf_by_the_seed_and_only_the_mute_one_must_be_replaced() {
    for protocol in of("asymmetric-partition") {
        let mut mute = 0;
        for seed in 0..40 {
            let plan = plan("asymmetric-partition", protocol, 3, seed);
            let [(from, _)] = &cuts(&plan)[..] else { panic!("one cut") };
            let is_mute = from.contains("leader");
            assert!(matches!(plan.faults[0].what, Fault::Partition { one_way: true, .. }));
            assert_eq!(required(&plan, Fact::ElectedWhileCutOff), is_mute);
            mute += u32::from(is_mute);
        }
        assert!((10..=30).contains(&mute), "{mute} of 40 are mute");
    }
}

#[test]
fn no_group_is_a_majority_and_every_two_groups_are_cut_off_from_each_other() {
    for protocol in of("quorum-loss") {
        let mut leaders = BTreeSet::new();
        for nodes in 2..=9 {
            for seed in 0..10 {
                let plan = plan("quorum-loss", protocol, nodes, seed);
                let cuts = cuts(&plan);
                let separated = |a: &str, b: &str| {
                    cuts.iter()
                        .any(|(from, to)| from.contains(a) && to.contains(b) || from.contains(b) && to.contains(a))
                };
                let everybody: Vec<&str> = plan.candidates.iter().map(|c| c.name.as_str()).collect();
                let mut largest = 0;
                for name in &everybody {
                    let group = everybody.iter().filter(|other| !separated(name, other)).count();
                    largest = largest.max(group);
                    assert!(group <= usize::from(nodes) / 2, "{nodes} nodes: {name} hears {group}");
                }
                assert_eq!(largest, usize::from(nodes) / 2, "{nodes} nodes: groups as large as they may be");
                leaders.insert(cuts[0].0.clone());
            }
        }
        assert!(leaders.len() > 8, "the groups are drawn");
        let leads = matches!((protocol.promise)(hazard::NO_QUORUM, false), Promise::Breaks(_));
        let plan = plan("quorum-loss", protocol, 3, 1);
        assert_eq!(required(&plan, Fact::LeadersBelieving), leads, "{}", protocol.name);
        assert_eq!(required(&plan, Fact::LapsedWhileCutOff), !leads, "{}", protocol.name);
    }
}

#[test]
fn a_ring_breaks_into_two_arcs() {
    for protocol in of("ring-break") {
        for nodes in 2..=9 {
            for seed in 0..20 {
                let plan = plan("ring-break", protocol, nodes, seed);
                let [(arc, rest)] = &cuts(&plan)[..] else { panic!("one cut") };
                assert!(!arc.is_empty() && !rest.is_empty());
                assert_eq!(arc.len() + rest.len(), usize::from(nodes));
                // Going round the ring, exactly one step leaves the arc.
                let on_arc = |number: u16| arc.contains(&format!("n{}", number % nodes + 1));
                assert_eq!((0..nodes).filter(|n| on_arc(*n) && !on_arc(n + 1)).count(), 1);
            }
        }
    }
}

#[test]
fn votes_are_split_within_twice_the_longest_trip_unless_somebody_asked_for_more() {
    for protocol in of("split-vote") {
        let ours = plan("split-vote", protocol, 3, 1).timings.election_timeout_ms.unwrap();
        assert_eq!(ours.1 - ours.0, 2, "one trip takes at most half a millisecond, and timeouts are whole ones");
        let asked = Params { election_timeout_ms: Some((200, 400)), ..Params::default() };
        let plan = scenario::find("split-vote").unwrap().compile(&asked, protocol, 1).unwrap();
        assert_eq!(plan.timings.election_timeout_ms, Some((200, 400)));
        assert_eq!(plan.faults.len(), 2);
        let (killed_ms, stalled_ms) = (at_ms(&plan, FaultKind::Kill)[0], at_ms(&plan, FaultKind::Pause)[0]);
        assert!(killed_ms + 1.0 < stalled_ms && stalled_ms < killed_ms + 100.0, "what was sent arrives, nobody stands");
        let stall_ms = plan.faults[1].what.for_ms().unwrap();
        assert!(stall_ms > 400.0, "everybody's timeout ends during a stall of {stall_ms} ms");
    }
}

#[test]
fn the_preferred_node_stops_and_runs_long_enough_to_lead_again() {
    for protocol in of("slow-top-node") {
        let params = Params { nodes: 5, ..Params::default() };
        let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol) as f64, params.takeover_max_ms(protocol) as f64);
        let plan = plan("slow-top-node", protocol, 5, 7);
        let top = if protocol.preference == Preference::Lowest { "n1" } else { "n5" };
        let stops: Vec<f64> = at_ms(&plan, FaultKind::Pause);
        assert!(stops.len() >= 4);
        let mut up_ms = 0.0;
        for (planned, stop_ms) in plan.faults.iter().zip(stops) {
            let Fault::Pause { node, for_ms } = &planned.what else { panic!("only stops") };
            assert_eq!(node.to_string(), top);
            assert!(*for_ms > ttl_ms + takeover_ms, "a successor is elected meanwhile");
            assert!(stop_ms - up_ms >= 2.0 * ttl_ms, "it runs for two leases in between");
            up_ms = stop_ms + for_ms;
        }
        assert_eq!(required(&plan, Fact::Elections), protocol.preference != Preference::Any);
    }
}

#[test]
fn members_join_and_leave_in_every_order() {
    for protocol in of("membership-churn") {
        let mut orders = BTreeSet::new();
        for seed in 0..200 {
            let plan = plan("membership-churn", protocol, 3, seed);
            let newcomers: Vec<&str> =
                plan.candidates.iter().filter(|c| c.joins_later).map(|c| c.name.as_str()).collect();
            assert_eq!(newcomers, ["n4", "n5"]);
            let change = |what: &Fault| match what {
                Fault::Join { .. } => "joins",
                Fault::Leave { node: Who::Leader } => "leader leaves",
                Fault::Leave { .. } => "leaves",
                _ => panic!("only changes of the members"),
            };
            orders.insert(plan.faults.iter().map(|planned| change(&planned.what)).collect::<Vec<_>>());
        }
        assert_eq!(orders.len(), 12, "four changes of which two are alike");
    }
}

#[test]
fn whoever_may_fence_is_on_the_side_without_the_preferred_node() {
    for protocol in of("stonith-race") {
        for nodes in 2..=7 {
            let mut devices = BTreeSet::new();
            for seed in 0..30 {
                let plan = plan("stonith-race", protocol, nodes, seed);
                let [(some, rest)] = &cuts(&plan)[..] else { panic!("one cut") };
                assert_eq!(some.len(), usize::from(nodes) / 2);
                assert_eq!(some.len() + rest.len(), usize::from(nodes));
                let top = if protocol.preference == Preference::Lowest { 1 } else { nodes };
                assert!(some.contains(&format!("n{top}")));
                let somebody_may = nodes == 2 || nodes % 2 == 1;
                assert_eq!(required(&plan, Fact::PowerOffs), somebody_may, "{nodes} nodes");
                devices.insert(plan.faults.get(1).map(|planned| planned.what.kind()));
            }
            assert_eq!(devices, [None, Some(FaultKind::Kill), Some(FaultKind::Latency)].into());
        }
    }
}

#[test]
fn detectors_are_compared_under_loss_and_stalls_that_they_have_to_bear() {
    for protocol in of("detector-comparison") {
        let params = Params::default();
        let ttl_ms = params.granted_ttl_ms(protocol) as f64;
        for seed in 0..50 {
            let plan = plan("detector-comparison", protocol, 3, seed);
            let Fault::Loss { probability, for_ms: Some(lossy_ms), .. } = plan.faults[0].what else { panic!("loss") };
            assert!((0.05..=0.30).contains(&probability));
            for planned in &plan.faults {
                if let Fault::Pause { for_ms, .. } = planned.what {
                    let renew_ms = plan.timings.renew_interval_ms as f64;
                    assert!(for_ms < ttl_ms && for_ms + renew_ms <= ttl_ms, "a stall of {for_ms} ms");
                }
            }
            let (lossy_from_ms, killed_ms) = (at_ms(&plan, FaultKind::Loss)[0], at_ms(&plan, FaultKind::Kill)[0]);
            let noticed_ms = (params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol)) as f64;
            assert!(killed_ms > *at_ms(&plan, FaultKind::Pause).last().unwrap() + ttl_ms);
            assert!(killed_ms + noticed_ms < lossy_from_ms + lossy_ms, "the death is noticed under loss");
        }
    }
}
