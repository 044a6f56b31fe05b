//! Valid and invalid copies in plans.

use protocols::{copies::Copies, election};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    plan::{Invalid, Known},
    scenario,
};

fn compiled(scenario: &str, protocol: &str, params: Params) -> Result<Plan, Invalid> {
    scenario::find(scenario).unwrap().compile(&params, election::find(protocol).unwrap(), 1)
}

#[test]
fn copies_that_there_cannot_be_are_refused() {
    let with = |copies| Params { copies: Some(copies), ..Params::default() };
    let cases = [
        (
            compiled("isolate-leader", "bully", with(Copies::Majority)),
            "copies is majority, but the leaders of `bully` have no token by which a copy could tell which of two is newer",
        ),
        (
            compiled("isolate-leader", "raft", Params { groups: 2, ..with(Copies::Async) }),
            "copies is async, and groups is 2; only a plan of one group can have copies",
        ),
        (
            compiled("store-restart", "raft", with(Copies::Async)),
            "copies is async, so nobody writes to the store, and the faults strike nothing else",
        ),
    ];
    for (compiled, why) in cases {
        let error = compiled.expect_err(why).0;
        assert!(error.starts_with(why), "{error}");
    }
    // Without the option, the scenario decides.
    let own = |name| compiled(name, "raft", Params::default()).unwrap().copies;
    let all = ["isolate-leader", "diverging-copies", "majority-copies"].map(own);
    assert_eq!(all, [None, Some(Copies::Async), Some(Copies::Majority)]);
}

#[test]
fn a_copy_of_the_services_data_is_made_before_it_is_restored_whatever_sets_that_off() {
    let mut plan = compiled("steady", "redis-fenced", Params::default()).unwrap();
    let what = Fault::RestoreCopy { node: Who::Service, copied_at_ms: 5_000.0, restart_after_ms: Some(100.0) };
    let passage = |after, delay_ms| Trigger::Passage {
        point: "renewed".to_owned(),
        node: Who::Leader,
        nth: 3,
        after,
        delay_ms,
        matching: None,
    };
    let protocol = election::find("redis-fenced").unwrap();
    let known = Known { scenarios: vec!["steady"], protocols: &[protocol], bugs: &[], works: &[] };
    let mut check = |when| {
        plan.faults = vec![PlannedFault { when, what: what.clone(), group: 0 }];
        plan.validate_among(&known)
    };
    let refused = "faults[0] (restore-copy) may strike at 4000 ms, but restores a copy made at 5000 ms; copy it before";
    let at = |ms| Some(Box::new(Trigger::At { ms }));
    assert_eq!(check(passage(at(1_000.0), 3_000.0)), Err(Invalid(refused.to_owned())));
    assert_eq!(check(passage(None, 0.0)), Err(Invalid(refused.replace("4000", "0"))));
    assert_eq!(check(passage(at(4_000.0), 1_000.0)), Ok(()));
    assert_eq!(check(Trigger::At { ms: 5_001.0 }), Ok(()));
}

#[test]
fn who_is_on_both_sides_of_a_cut_is_told_of_once() {
    use protocols::{history::Phase, types::NodeId};
    let cut = Fault::Partition { from: vec![Who::ServiceLeader], to: vec![Who::Service], one_way: false, for_ms: None };
    let names = |nodes: &[NodeId]| nodes.iter().map(|node| format!("etcd-{}", node.0)).collect::<Vec<_>>().join(", ");
    let said = |on: &[u16], to: &[u16]| {
        let [on, to] = [on, to].map(|nodes| nodes.iter().copied().map(NodeId).collect::<Vec<_>>());
        cut.event(0, Phase::Begin, (&on, &to), names).detail
    };
    assert_eq!(said(&[1], &[1, 2, 3]), "etcd-1 and etcd-2, etcd-3 cut off from each other");
    assert_eq!(said(&[1, 2], &[1, 2]), "etcd-1, etcd-2 and etcd-1, etcd-2 cut off from each other");
}
