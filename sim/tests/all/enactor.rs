//! The enactor: what it creates, activates and deletes, and what a former leader's enactor does with a fence and
//! without.

use crate::common::run;
use protocols::{election, point::Point, work};
use reports::Verdict;
use scenarios::{Params, Plan, fault::Trigger, scenario};

/// `stale-enactor` at a seed, and whether the pause strikes during a clean-up.
fn plan(params: &Params, seed: u64) -> (Plan, bool) {
    let scenario = scenario::find("stale-enactor").expect("a scenario");
    let protocol = election::find("redis-fenced").expect("a protocol");
    let plan = scenario.compile(params, protocol, seed).expect("the parameters make sense");
    let Trigger::Passage { point, .. } = &plan.faults[0].when else { panic!("{:?}", plan.faults) };
    let cleans_up = *point == Point::DeleteChecked.name();
    assert!(cleans_up || *point == Point::EnactChecked.name(), "{point}");
    (plan, cleans_up)
}

/// The details of `no_stale_deletion` and `vacuity` for each seed, whose verdict must be `verdict`.
fn told(params: &Params, verdict: Verdict) -> [Vec<String>; 2] {
    let mut told = [Vec::new(), Vec::new()];
    for seed in 0..8 {
        let (plan, cleans_up) = plan(params, seed);
        let judgement = run(&plan).judgement;
        assert_eq!(judgement.verdict, verdict, "seed {seed}: {:?}", judgement.invariants);
        let [deletion, vacuity] =
            ["no_stale_deletion", "vacuity"].map(|name| judgement.invariant(name).expect("it is judged"));
        assert!(deletion.could_fail && vacuity.holds, "seed {seed}: {} {}", deletion.detail, vacuity.detail);
        let tried = if cleans_up { "stale deletions tried: 1" } else { "stale enactments tried: 1" };
        assert!(vacuity.detail.contains(tried), "seed {seed}: {}", vacuity.detail);
        told[usize::from(cleans_up)].push(deletion.detail.to_string());
    }
    assert!(told.iter().all(|seeds| !seeds.is_empty()), "both happen: {told:?}");
    told
}

#[test]
fn behind_the_fence_a_sleeper_deletes_nothing_and_makes_nothing_live() {
    for detail in told(&Params { rate: 50, ..Params::default() }, Verdict::Pass).into_iter().flatten() {
        assert!(detail.ends_with("1 stale clean-up or enactment reached the store, and did no harm"), "{detail}");
        // At least 10 of the 22 s, with a clean-up every 20 ms.
        let deletions: u64 = detail.replace(',', "").split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        assert!(deletions > 10 * 40, "{detail}");
    }
}

#[test]
fn without_the_fence_the_live_plan_is_gone() {
    let params = Params { rate: 50, fencing: false.into(), ..Params::default() };
    let [enactments, deletions] = told(&params, Verdict::Safety);
    for detail in deletions {
        assert!(
            detail.contains("of newer leaders from plans") && detail.contains(", the live one among them"),
            "{detail}"
        );
    }
    for detail in enactments {
        assert!(detail.contains(" live on plans, which ") && detail.contains(" had deleted"), "{detail}");
    }
}

#[test]
fn the_enactor_comes_beside_whatever_else_a_leader_is_to_do() {
    let works = |names: &[&str]| {
        let works = names.iter().map(|name| work::find(name).expect("a work")).collect();
        plan(&Params { works, ..Params::default() }, 1).0.works
    };
    assert_eq!(works(&[]), ["sequencer", "scheduler", "enactor"]);
    assert_eq!(works(&["sequencer", "job-queue"]), ["sequencer", "job-queue", "enactor"]);
    assert_eq!(works(&["sequencer", "enactor"]), ["sequencer", "enactor"]);
}
