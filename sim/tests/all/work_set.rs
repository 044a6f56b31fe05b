//! The leader's work-set across a change of leader: how much is repeated, that nothing is left out, and the effect of a
//! cursor that is saved too early.

use crate::common::run;
use protocols::{
    election,
    work::work_set::{Asked, COMPACTION, CURSOR_FIRST, PENDING_JOBS},
};
use reports::{Metrics, Verdict};
use scenarios::{Params, scenario};

/// One run with a work-set, which must give this verdict.
fn ran(told: &str, params: &Params, seed: u64, verdict: Verdict) -> Metrics {
    let sequencer = protocols::work::find("sequencer").expect("a work");
    let works = if params.works.is_empty() { vec![sequencer, &COMPACTION] } else { params.works.clone() };
    let params = Params { rate: 20, works, ..params.clone() };
    let protocol = election::find("etcd-election").expect("a protocol");
    let plan = scenario::find(told).expect("a scenario").compile(&params, protocol, seed).expect("it makes sense");
    let judgement = run(&plan).judgement;
    assert_eq!(judgement.verdict, verdict, "{told} {seed}: {:?}", judgement.invariants);
    let skipped = judgement.invariant("nothing_skipped").expect("it is judged");
    assert!(skipped.could_fail, "{told} {seed}: {}", skipped.detail);
    assert_eq!(skipped.holds, judgement.metrics.work_skipped == Some(0), "{told} {seed}: {}", skipped.detail);
    judgement.metrics
}

fn every(checkpoint_every: u64) -> Params {
    Params { work_set: Asked { checkpoint_every: Some(checkpoint_every), ..Asked::default() }, ..Params::default() }
}

#[test]
fn what_is_done_again_is_what_lies_behind_the_cursor() {
    for told in ["clean-kill", "gc-pause"] {
        for seed in 0..4 {
            let [none, ten, one] = [0, 10, 1].map(|each| ran(told, &every(each), seed, Verdict::Pass));
            let [of_none, of_ten, of_one] = [&none, &ten, &one].map(|metrics| metrics.work_redone.unwrap_or(u64::MAX));
            // The cursor of a finished segment may be in flight.
            assert!(of_one <= 1 && of_ten <= 10, "{told} {seed}: {of_one} {of_ten}");
            assert!(of_none > 4, "{told} {seed}: without a cursor everything is done again: {of_none}");
            let stalled = |metrics: &Metrics| metrics.work_stalled_ms_max.unwrap_or(0.0);
            // Each repeated job takes 320 ms.
            let more_ms = stalled(&none) - stalled(&one);
            let again_ms = 320.0 * (of_none - of_one) as f64;
            assert!((more_ms - again_ms).abs() < 640.0, "{told} {seed}: {more_ms} {again_ms}");
        }
    }
}

#[test]
fn who_resigns_leaves_its_cursor_behind() {
    for seed in 0..4 {
        let metrics = ran("graceful-step-down", &every(1_000), seed, Verdict::Pass);
        assert_eq!(metrics.work_redone, Some(0), "{seed}");
        assert!(metrics.work_done > Some(20), "{seed}: {metrics:?}");
    }
}

#[test]
fn what_has_to_be_loaded_is_waited_for() {
    let sequencer = protocols::work::find("sequencer").expect("a work");
    let stalled_ms = |load_ms| {
        let work_set = Asked { load_ms: Some(load_ms), ..Asked::default() };
        let params = Params { works: vec![sequencer, &PENDING_JOBS], work_set, ..Params::default() };
        ran("clean-kill", &params, 1, Verdict::Pass).work_stalled_ms_max.unwrap_or(0.0)
    };
    let more_ms = stalled_ms(2_000) - stalled_ms(0);
    // One repeats at most ten batches more than the other.
    assert!((1_000.0..=3_000.0).contains(&more_ms), "{more_ms}");
}

#[test]
fn a_cursor_that_is_kept_before_the_work_is_done_leaves_something_out() {
    for seed in 0..4 {
        let metrics = ran("clean-kill", &Params { bugs: vec![&CURSOR_FIRST], ..every(1) }, seed, Verdict::Safety);
        assert!(metrics.work_skipped > Some(0), "{seed}");
    }
}
