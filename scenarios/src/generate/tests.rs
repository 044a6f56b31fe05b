use super::*;
use crate::{fault::Who, scenario};
use proptest::{
    prop_assert, proptest,
    test_runner::{TestCaseError, TestError},
};
use protocols::history::FaultKind;
use std::collections::BTreeSet;

fn restart_ms(fault: &Fault) -> Option<f64> {
    match fault {
        Fault::Kill { restart_after_ms, .. } | Fault::PowerLoss { restart_after_ms, .. } => *restart_after_ms,
        _ => None,
    }
}

proptest! {
    #![proptest_config(Config { cases: 2_000, failure_persistence: None, ..Config::default() })]

    #[test]
    fn every_generated_plan_is_valid_and_small(plan in plans()) {
        plan.validate().map_err(|why| TestCaseError::fail(why.0))?;
        prop_assert!(plan.faults.len() <= FAULTS_MAX && plan.candidates.len() <= CANDIDATES_MAX);
        prop_assert!(plan.duration_ms <= duration_max_ms(plan.election().expect("a protocol")), "{} ms", plan.duration_ms);
    }

    #[test]
    fn what_a_time_sets_off_is_healed_before_the_bound_begins(plan in plans()) {
        let quiet_from_ms = (plan.duration_ms - plan.liveness_bound_ms) as f64;
        for planned in &plan.faults {
            if let Trigger::At { ms } = planned.when {
                let healed_ms = ms + planned.what.for_ms().or(restart_ms(&planned.what)).unwrap_or(0.0);
                prop_assert!(healed_ms < quiet_from_ms, "healed at {healed_ms} ms");
            }
        }
    }

    #[test]
    fn what_never_heals_leaves_a_way(plan in plans()) {
        let protocol = plan.election().expect("generated plans are valid");
        let (mut dead, mut cut) = (BTreeSet::new(), 0);
        for planned in &plan.faults {
            match &planned.what {
                Fault::Kill { node, restart_after_ms: None } | Fault::PowerLoss { node, restart_after_ms: None } => {
                    prop_assert!(matches!(node, Who::Named(name) if name != "n1"), "{node} dies");
                    dead.insert(node.to_string());
                }
                Fault::Partition { for_ms: None, .. } => cut += 1,
                _ => {}
            }
        }
        let founders = plan.candidates.iter().filter(|candidate| !candidate.joins_later).count();
        let left = founders - dead.len();
        prop_assert!(if protocol.majority { left > founders / 2 } else { left > 0 }, "{dead:?} of {founders} die");
        prop_assert!(cut + usize::from(!dead.is_empty()) <= 1, "{cut} cuts stay, and {dead:?} die");
    }
}

#[test]
fn members_leave_only_while_the_others_hear_each_other() {
    let protocol = election::find("raft").expect("a protocol");
    let steady = scenario::find("steady").expect("a scenario");
    let (one, other) = (Who::Named("n1".to_owned()), Who::Named("n2".to_owned()));
    for (nodes, leave_after_a_cut, cut_after_a_leave) in [(3, 0, false), (4, 0, false), (5, 1, true)] {
        let plan = steady.compile(&Params { nodes, ..Params::default() }, protocol, 1).expect("a plan");
        let cast = || Cast::new(&plan, protocol, 10_000, None);
        let draft = Draft {
            pick: 0,
            whom: Role::Candidate(0),
            others: Role::Candidate(1),
            when: When::At { start: 0 },
            length: 0,
            amount: 0,
            flag: false,
            for_good: true,
            wild: false,
        };
        let mut cut_first = cast();
        assert!(cut_first.may_stay_cut(&draft, &one, &other), "{nodes}");
        assert_eq!((0..9).filter(|_| cut_first.may_leave()).count(), leave_after_a_cut, "{nodes}");
        let mut leave_first = cast();
        assert!(leave_first.may_leave(), "{nodes}");
        assert_eq!(leave_first.may_stay_cut(&draft, &one, &other), cut_after_a_leave, "{nodes}");
    }
}

#[test]
fn every_kind_of_fault_is_described_once() {
    let described: Vec<FaultKind> = super::kinds().map(|(name, _)| name.into()).collect();
    assert_eq!(described.iter().cloned().collect::<BTreeSet<_>>(), FaultKind::ALL.into());
    assert_eq!(described.len(), FaultKind::ALL.len());
}

#[test]
fn every_kind_of_fault_protocol_profile_size_and_point_is_generated() {
    let plans: Vec<Plan> = (0..2_000).map(plan).collect();
    // The kinds missing here void every promise: a client may have no timeout, a service may forget its grants, and
    // anybody may forge a token.
    assert_eq!(super::drawn_kinds().count(), 18);
    for kind in super::drawn_kinds() {
        assert!(plans.iter().flat_map(|plan| &plan.faults).any(|fault| fault.what.kind() == *kind), "no {kind}");
    }
    for protocol in election::ALL {
        assert!(plans.iter().any(|plan| plan.protocol == protocol.name), "no {}", protocol.name);
    }
    for profile in PROFILES.iter().filter(|profile| !profile.is_hostile()) {
        assert!(plans.iter().any(|plan| plan.network.profile == profile.name), "no {}", profile.name);
    }
    for count in 1..=CANDIDATES_MAX {
        assert!(plans.iter().any(|plan| plan.candidates.len() == count), "never {count} candidates");
    }
    let waits_for = |plan: &Plan, name: &str| {
        let at = |trigger: &Trigger| matches!(trigger, Trigger::Passage { point, .. } if point == name);
        plan.faults.iter().any(|fault| at(&fault.when))
    };
    let of_works =
        [Point::EnactChecked, Point::DeleteChecked, Point::EffectChecked, Point::MarkChecked, Point::RefreshChecked];
    let never = |point: &Point| of_works.contains(point) || *point == Point::BeforeSend;
    for point in Point::ALL.into_iter().filter(|point| !never(point)) {
        assert!(plans.iter().any(|plan| waits_for(plan, point.name())), "nothing waits for {}", point.name());
    }
    let stays = |fault: &Fault| matches!(fault, Fault::Partition { for_ms: None, .. });
    let stops = |who: Who| move |fault: &Fault| matches!(fault, Fault::Kill { node, .. } if *node == who);
    let some = |is_meant: &dyn Fn(&Fault) -> bool| plans.iter().any(|p| p.faults.iter().any(|f| is_meant(&f.what)));
    assert!(some(&stays) && some(&stops(Who::Store)) && some(&stops(Who::Service)));
    let reads = |from_memory: bool| plans.iter().any(|p| p.load.reads_per_s > 0 && p.read_lease == from_memory);
    assert!(reads(true) && reads(false));
}

#[test]
fn a_plan_has_more_of_the_same_kind() {
    let plans = (0..500).map(plan).filter(|plan| plan.faults.len() >= 4);
    let kinds = |plan: &Plan| plan.faults.iter().map(|fault| fault.what.kind()).collect::<BTreeSet<_>>().len();
    let (mut few, mut all) = (0, 0);
    for plan in plans {
        all += 1;
        few += u32::from(kinds(&plan) <= 2);
        assert!(kinds(&plan) <= KINDS_MAX);
    }
    assert!(few * 4 > all, "{few} of {all} plans with four faults or more are of two kinds at most");
}

#[test]
fn a_seed_names_a_plan() {
    assert_eq!(plan(7), plan(7));
    assert_ne!(plan(7).faults, plan(8).faults);
    assert_eq!(plan(7).seed, 7);
    for seed in 0..50 {
        let drawn = plan(seed);
        let protocols = vec![drawn.election().expect("generated plans are valid")];
        assert_eq!(swarm(seed, &Choice { protocols, ..Choice::default() }), drawn, "named alone, it is another plan");
    }
}

#[test]
fn what_is_chosen_is_not_drawn() {
    for seed in 0..20 {
        let fencing = Fencing::Off;
        let choice = Choice { net: Some(&PROFILES[2]), nodes: Some(7), fencing, ..Choice::default() };
        let plan = swarm(seed, &choice);
        assert_eq!(
            (plan.network.profile.as_str(), plan.candidates.len(), plan.fencing),
            (PROFILES[2].name, 7, fencing)
        );
        plan.validate().expect("what is chosen makes sense");
    }
}

#[test]
fn shrinking_leaves_what_matters() {
    let config = Config { failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[1; 32]));
    let long_pause = |plan: &Plan| {
        let paused_ms =
            plan.faults.iter().filter(|fault| fault.what.kind() == FaultKind::Pause).map(|f| f.what.for_ms());
        paused_ms.flatten().any(|ms| ms > 2_000.0)
    };
    let result = runner.run(&plans(), |plan| {
        prop_assert!(!long_pause(&plan));
        Ok(())
    });
    let Err(TestError::Fail(_, smallest)) = result else { panic!("no long pause in {} cases", 256) };
    assert_eq!(smallest.faults.len(), 1, "{smallest:#?}");
    assert_eq!(smallest.candidates.len(), 1, "{smallest:#?}");
    let pause_ms = smallest.faults[0].what.for_ms().expect("a pause lasts");
    // How small it gets depends on the protocol it ends with, and so on how many there are.
    assert!(pause_ms < 3_000.0, "{pause_ms} ms is not the smallest");
    assert_eq!(smallest.candidates[0].rate_ppm, 0);
}
