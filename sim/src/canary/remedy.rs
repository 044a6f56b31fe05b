//! Canaries of leaders that step down because they cannot work: in time, for long enough, and not for ever.

use super::{Above, Canary, DARK, ELECTIONS, breaks, compiled, light, survives};
use crate::error::Failed;
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
};

pub(super) fn canaries() -> Vec<Canary> {
    let dark = |canary: Canary, most_ms: f64| Canary { at_most: Some(Above { than: most_ms, ..DARK }), ..canary };
    vec![
        dark(survives("a leader steps down for a silent store", ELECTIONS, 1.0, cut_off), 2_000.0),
        dark(survives("lowest-id stands aside and comes back", ELECTIONS, 1.0, lowest_id), 3_000.0)
            .within(ELECTIONS, 3.0, 3.0),
        dark(survives("swim stands aside and comes back", ELECTIONS, 1.0, swim), 5_500.0).within(ELECTIONS, 3.0, 3.0),
        dark(survives("all stand aside: lowest-id", ELECTIONS, 1.0, lowest_id_all), 14_000.0),
        dark(survives("all stand aside: swim", ELECTIONS, 1.0, swim_all), 15_500.0),
        dark(survives("nobody is left to stand aside for: swim", ELECTIONS, 1.0, swim_alone), 18_000.0),
        Canary { safe: true, ..breaks("a store that answers late is not silent", &[], late_answers) }
            .within(ELECTIONS, 1.0, 1.0),
        survives("the store is silent twice", ELECTIONS, 1.0, twice).within(ELECTIONS, 5.0, 5.0),
        dark(survives("a counter that does not answer", ELECTIONS, 1.0, no_draw), 9_000.0),
    ]
}

/// Leaders step down after this many milliseconds.
const STEP_DOWN_AFTER_MS: u64 = 1_000;

fn named(number: u16) -> Who {
    Who::Named(format!("n{number}"))
}

/// A steady run in which leaders step down. `cuts` says who cannot reach the store, from when on and for how long.
fn silent(
    protocol: &str,
    seed: u64,
    (nodes, duration_ms): (u16, u64),
    cuts: &[(Who, f64, f64)],
) -> Result<Plan, Failed> {
    let params = Params { nodes, duration_ms: Some(duration_ms), read_lease: Some(false), ..light() };
    let mut plan = compiled("steady", protocol, seed, &params)?;
    plan.requires.clear();
    plan.candidates.iter_mut().for_each(|candidate| candidate.starts_at_ms = 0);
    plan.tenure.step_down_after_ms = STEP_DOWN_AFTER_MS;
    plan.liveness_bound_ms += STEP_DOWN_AFTER_MS;
    let cut = |(who, ms, for_ms): &(Who, f64, f64)| {
        let what =
            Fault::Partition { from: vec![who.clone()], to: vec![Who::Store], one_way: false, for_ms: Some(*for_ms) };
        PlannedFault { when: Trigger::At { ms: *ms }, what, group: 0 }
    };
    plan.faults = cuts.iter().map(cut).collect();
    Ok(plan)
}

fn cut_off(seed: u64, on: bool) -> Result<Plan, Failed> {
    let cut = (Who::Leader, 6_000.0, 12_000.0);
    silent("redis-fenced", seed, (3, 20_000), if on { std::slice::from_ref(&cut) } else { &[] })
}

/// The first candidate is preferred. It leads again once it has stood aside long enough and the store is back.
fn lowest_id(seed: u64, on: bool) -> Result<Plan, Failed> {
    let cut = (named(1), 8_000.0, 8_000.0);
    silent("lowest-id-fenced", seed, (3, 28_000), if on { std::slice::from_ref(&cut) } else { &[] })
}

fn swim(seed: u64, on: bool) -> Result<Plan, Failed> {
    let cut = (named(1), 12_000.0, 8_000.0);
    silent("swim-fenced", seed, (3, 32_000), if on { std::slice::from_ref(&cut) } else { &[] })
}

/// No candidate reaches the store, so one must lead although all stand aside, and it works once the store is back.
fn lowest_id_all(seed: u64, on: bool) -> Result<Plan, Failed> {
    let cut = (Who::Candidates, 8_000.0, 12_000.0);
    let plan = silent("lowest-id-fenced", seed, (3, 30_000), if on { std::slice::from_ref(&cut) } else { &[] })?;
    Ok(Plan { liveness_bound_ms: plan.liveness_bound_ms + 12_000, ..plan })
}

fn swim_all(seed: u64, on: bool) -> Result<Plan, Failed> {
    let cut = (Who::Candidates, 12_000.0, 12_000.0);
    let plan = silent("swim-fenced", seed, (3, 40_000), if on { std::slice::from_ref(&cut) } else { &[] })?;
    Ok(Plan { liveness_bound_ms: plan.liveness_bound_ms + 12_000, ..plan })
}

/// The first candidate stands aside for 20 s. The others die, and it leads again as soon as it has detected that.
fn swim_alone(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = silent("swim-fenced", seed, (3, 36_000), &[])?;
    plan.tenure.step_down_after_ms = 2 * STEP_DOWN_AFTER_MS;
    plan.liveness_bound_ms = 30_000;
    if on {
        let cut = silent("swim-fenced", seed, (3, 36_000), &[(named(1), 10_000.0, 4_000.0)])?.faults;
        let kill = |number| {
            let what = Fault::Kill { node: named(number), restart_after_ms: None };
            PlannedFault { when: Trigger::At { ms: 15_000.0 }, what, group: 0 }
        };
        plan.faults = cut.into_iter().chain([kill(2), kill(3)]).collect();
    }
    Ok(plan)
}

/// The store always owes an answer, but keeps answering.
fn late_answers(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = silent("redis-fenced", seed, (3, 16_000), &[])?;
    let (from, to, for_ms) = (vec![Who::Candidates], vec![Who::Store], Some(8_000.0));
    let what = Fault::Latency { from, to, extra_us: 300_000, for_ms };
    if on {
        plan.faults.push(PlannedFault { when: Trigger::At { ms: 5_000.0 }, what, group: 0 });
    }
    Ok(plan)
}

/// The only candidate stands again 3 to 4 s after it resigns. In the first silence it resigns twice, then waits four
/// times as long and still leads when the store answers; without the longer wait it would have resigned a third time.
/// In the second silence it again resigns twice, since the store has answered in between.
fn twice(seed: u64, on: bool) -> Result<Plan, Failed> {
    let cuts = [(Who::Candidates, 5_000.0, 12_800.0), (Who::Candidates, 27_000.0, 9_000.0)];
    silent("redis-fenced", seed, (1, 42_000), if on { &cuts } else { &[] })
}

/// The highest node dies; the next is elected, but cannot reach the counter in the store.
fn no_draw(seed: u64, on: bool) -> Result<Plan, Failed> {
    let mut plan = silent("bully-fenced", seed, (3, 24_000), &[(named(2), 5_000.0, 19_000.0)])?;
    plan.tenure.step_down_after_ms = 0;
    plan.liveness_bound_ms += 3_000;
    if on {
        let what = Fault::Kill { node: named(3), restart_after_ms: None };
        plan.faults.push(PlannedFault { when: Trigger::At { ms: 6_000.0 }, what, group: 0 });
    }
    Ok(plan)
}
