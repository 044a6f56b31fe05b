//! Whole runs of services with several members: which member is struck, who then leads, and that the plan determines it
//! all.

use crate::common;
use protocols::{
    election,
    history::{Kind, NodeState, json::Reader},
};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
    topology::Topology,
};
use sim::run::{Options, Run};

const PROTOCOLS: [&str; 3] = ["etcd-election", "zk-election", "consul-session"];

fn plan(scenario: &str, protocol: &str, members: u16, seed: u64) -> Plan {
    let (scenario, protocol) = (scenario::find(scenario).expect("one"), election::find(protocol).expect("one"));
    let params = Params { rate: 50, service_members: Some(members), ..Params::default() };
    scenario.compile(&params, protocol, seed).expect("a plan")
}

fn topology(plan: &Plan) -> Topology {
    plan.topology_of(election::find(&plan.protocol).expect("a protocol"))
}

/// Runs a plan; returns its events, with times in milliseconds.
fn run(plan: &Plan) -> (Run, Vec<(u64, Kind)>) {
    let (run, history) = common::run_with_history(plan, Options::default());
    let events = Reader::new(history.as_bytes()).expect("a history").map(|event| event.expect("an event"));
    (run, events.map(|event| (event.t_us / 1_000, event.kind)).collect())
}

fn failed(run: &Run) -> Vec<&'static str> {
    run.judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.name).collect()
}

fn at(ms: f64, what: Fault) -> PlannedFault {
    PlannedFault { when: Trigger::At { ms }, what, group: 0 }
}

#[test]
fn a_run_with_members_is_the_same_again() {
    for protocol in PROTOCOLS {
        let plan = plan("service-failover", protocol, 3, 1);
        assert_eq!(serde_json::from_str::<Plan>(&plan.to_json_pretty()).expect("a plan"), plan);
        let [one, again] = [(); 2].map(|()| common::run(&plan));
        assert_eq!(one.trace_hash(), again.trace_hash(), "{protocol}");
    }
}

/// The leader's lease is revoked or its key deleted from outside; whichever member leads carries it out.
#[test]
fn a_lease_is_lost_in_a_cluster_too() {
    for protocol in PROTOCOLS {
        let (run, events) = run(&plan("lost-lease", protocol, 3, 1));
        assert_eq!(failed(&run), [""; 0], "{protocol}");
        let elections = events.iter().filter(|(_, kind)| matches!(kind, Kind::Elected { .. })).count();
        assert!(elections > 1, "{protocol}: {elections}");
    }
}

/// The leaders of the service are killed one after the other, three of five members, and a new leader is still elected
/// in time.
#[test]
fn leaders_of_the_service_die_one_after_the_other() {
    for protocol in PROTOCOLS {
        let mut plan = plan("steady", protocol, 5, 2);
        let kill = || Fault::Kill { node: Who::ServiceLeader, restart_after_ms: Some(60_000.0) };
        plan.faults = vec![at(8_000.0, kill()), at(24_000.0, kill())];
        plan.duration_ms = 60_000;
        plan.liveness_bound_ms = 40_000;
        plan.validate().expect("a plan");
        let (run, events) = run(&plan);
        let down = events.iter().filter_map(|(_, kind)| match kind {
            Kind::Node { node, state: NodeState::Down } => Some(*node),
            _ => None,
        });
        let down: Vec<_> = down.collect();
        assert!(down.len() == 2 && down[0] != down[1], "{protocol}: {down:?}");
        assert!(down.iter().all(|node| topology(&plan).is_member(*node)), "{protocol}: {down:?}");
        assert_eq!(failed(&run), [""; 0], "{protocol}");
    }
}

/// Two members cannot reach each other, but all other links work: the third keeps the service running.
#[test]
fn a_link_between_two_members_is_struck_alone() {
    for protocol in PROTOCOLS {
        let mut plan = plan("steady", protocol, 3, 3);
        let names: Vec<Who> =
            topology(&plan).members().map(|member| Who::Named(topology(&plan).name(member).to_owned())).collect();
        let (from, to) = (vec![names[0].clone()], vec![names[1].clone()]);
        plan.faults = vec![at(8_000.0, Fault::Partition { from, to, one_way: false, for_ms: Some(15_000.0) })];
        plan.duration_ms = 60_000;
        plan.liveness_bound_ms = 40_000;
        plan.validate().expect("a plan");
        let (run, events) = run(&plan);
        assert!(events.iter().any(|(_, kind)| matches!(kind, Kind::Fault(_))), "{protocol}");
        assert_eq!(failed(&run), [""; 0], "{protocol}");
    }
}

/// From 8 s on, cuts each of these members off from all others, while candidates reach all of them.
fn apart(plan: &Plan, places: &[usize], one_way: bool, for_ms: Option<f64>) -> Vec<PlannedFault> {
    let topology = topology(plan);
    let names: Vec<_> = topology.members().map(|member| Who::Named(topology.name(member).to_owned())).collect();
    let cut = |place: &usize| {
        let others = names.iter().cycle().skip(place + 1).take(if one_way { 1 } else { names.len() - 1 });
        let (from, to) = (vec![names[*place].clone()], others.cloned().collect());
        at(8_000.0, Fault::Partition { from, to, one_way, for_ms })
    };
    places.iter().map(cut).collect()
}

/// Whether a write was accepted between these times, in milliseconds.
fn acts(events: &[(u64, Kind)], from: u64, to: u64) -> bool {
    events.iter().any(|(at, kind)| (from..to).contains(at) && matches!(kind, Kind::Apply { .. }))
}

/// For longer than the bound, every candidate reaches every member, and no majority of the members is connected; or of
/// three, each hears one that does not hear it.
#[test]
fn nobody_must_lead_while_the_members_are_cut_off_from_each_other() {
    for (members, one_way) in [(2, false), (3, false), (3, true)] {
        for protocol in PROTOCOLS {
            let mut plan = plan("steady", protocol, members, 5);
            let places: Vec<usize> = (0..members.into()).collect();
            plan.faults = apart(&plan, &places, one_way, Some(70_000.0));
            (plan.liveness_bound_ms, plan.duration_ms) = (60_000, 145_000);
            plan.validate().expect("a plan");
            let (run, events) = run(&plan);
            let case = format!("{protocol}, {members} members, one way: {one_way}");
            // No session of Consul's ends while it has no leader, so its holder may go on.
            let stops = protocol != "consul-session";
            assert!(acts(&events, 0, 8_000) && !(stops && acts(&events, 68_000, 78_000)), "{case}");
            assert!(acts(&events, 78_000, 138_000), "{case}");
            assert_eq!(failed(&run), [""; 0], "{case}");
        }
    }
}

/// The only candidate loses its lease and does not stand again: because no majority of the members was connected for a
/// while, or by itself while one member is cut off.
#[test]
fn somebody_must_lead_while_a_majority_of_the_members_is_connected() {
    for (protocol, failover_ms) in [("etcd-election", 5_000), ("zk-selector", 13_000)] {
        let usual = plan("steady", protocol, 3, 6);
        let lost = at(10_000.0, Fault::DropLease { node: Who::Leader });
        let cases = [
            (apart(&usual, &[0, 1, 2], false, Some(30_000.0)), 38_000 + failover_ms),
            (apart(&usual, &[2], false, None).into_iter().chain([lost]).collect(), 10_000),
        ];
        for (faults, from) in cases {
            let mut plan = Plan { faults, liveness_bound_ms: 60_000, duration_ms: 125_000, ..usual.clone() };
            plan.candidates.truncate(1);
            plan.validate().expect("a plan");
            assert_eq!(failed(&run(&plan).0), [""; 0], "{protocol} from {from}");
            plan.bugs = vec!["stands-once".to_owned()];
            plan.validate().expect("a plan");
            let (run, _) = run(&plan);
            assert_eq!(failed(&run), ["liveness"], "{protocol} from {from}");
            let since = run.judgement.invariant("liveness").and_then(|liveness| liveness.violated_us);
            assert!(since.is_some_and(|us| (from..from + 4_000).contains(&(us / 1_000))), "{protocol}: {since:?}");
        }
    }
}

/// Without a majority nothing is granted: with two of three members gone for good, leaders stop for good.
#[test]
fn a_minority_grants_nothing() {
    for protocol in PROTOCOLS {
        let mut plan = plan("steady", protocol, 3, 4);
        let kill = |node: &str| Fault::Kill { node: Who::Named(node.to_owned()), restart_after_ms: None };
        let topology = topology(&plan);
        let names: Vec<&str> = topology.members().map(|member| topology.name(member)).collect();
        plan.faults = vec![at(8_000.0, kill(names[0])), at(8_000.0, kill(names[2]))];
        plan.duration_ms = 120_000;
        plan.validate().expect("a plan");
        let (_, events) = run(&plan);
        let elected = events.iter().filter(|(at, kind)| *at > 8_100 && matches!(kind, Kind::Elected(_))).count();
        assert_eq!(elected, 0, "{protocol}");
        let last = events.iter().rev().find(|(_, kind)| matches!(kind, Kind::Apply { .. } | Kind::Deposed { .. }));
        assert!(last.is_some_and(|(at, _)| *at < 60_000), "{protocol}: somebody goes on");
    }
}
