//! Tries a recommendation in the simulated world, with the observed pauses and with kills.
//!
//! Such events are rare, so the trial does not wait for them: each pause that could change the leader strikes several
//! times, at different phases of the renewal, and kills strike too. Their cost is weighted by how often they really
//! happen.

use super::predict::{Choice, Situation};
use crate::{
    error::Failed,
    registry::Registry,
    run::{self, Options},
    seeds,
};
use protocols::election::Protocol;
use reports::metrics::Metrics;
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario::{self, clean_kill, drawn_ms, settled_ms},
    streams,
};

/// Requests per second: dark time is measured to ±10 ms.
const RATE: u64 = 100;
/// Pauses or kills per run.
const OF_A_RUN: usize = 10;
/// The most pauses to try. More are sampled evenly; fewer are repeated, at other phases of the renewal.
const PAUSES_MAX: usize = 200;
/// Kills to try.
const KILLS: usize = 200;
/// Pauses above this fraction of the least time left of a lease are tried, since predictions ignore latency.
const NEAR: f64 = 0.9;
/// The time between one event and the next, beyond a lease and a takeover, in milliseconds.
const CALM_MS: f64 = 3_000.0;

/// The result of a trial.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trial {
    /// Pauses that struck.
    pub pauses: usize,
    /// Pauses that changed the leader.
    pub changes: u64,
    pub kills: usize,
    /// The share of time in which nobody leads, or the leader still warms up, 0 to 1.
    pub dark: f64,
    /// The most leaders in effect at one time.
    pub leaders_acting: u64,
}

/// The most runs that [`of`] makes for one choice.
pub const RUNS_MAX: u64 = (PAUSES_MAX.div_ceil(OF_A_RUN) + KILLS / OF_A_RUN) as u64;

/// Tries `choice`. `done` is called after each run.
///
/// # Errors
/// A run could not be finished.
pub fn of(
    registry: &Registry,
    situation: &Situation,
    choice: &Choice,
    jobs: usize,
    done: impl Fn() + Sync,
) -> Result<Trial, Failed> {
    let Choice { protocol, params, .. } = choice;
    let params = Params { rate: RATE, ..params.clone() };
    let lease = super::predict::Lease::of(&params, protocol);
    let from = situation.pauses_ms.partition_point(|pause_ms| *pause_ms < NEAR * lease.least_left_ms());
    // If no pause could change the leader, try the longest to show that.
    let from = from.min(situation.pauses_ms.len().saturating_sub(1));
    let (harmless, able) = situation.pauses_ms.split_at(from);
    let struck = sample(able);
    let runs: Vec<Vec<f64>> = dealt(&struck);
    let pause = |seed: u64| judged(registry, &paused(registry, &params, protocol, seed, &runs[seed as usize])?);
    let paused: Vec<Metrics> = seeds::each(0..runs.len() as u64, jobs, pause, &done)?;
    let kill = |seed| judged(registry, &clean_kill::repeated(&params, protocol, seed, OF_A_RUN as u32)?);
    let killed: Vec<Metrics> = seeds::each(0..(KILLS / OF_A_RUN) as u64, jobs, kill, &done)?;
    let dark_ms = |all: &[Metrics]| all.iter().map(|metrics| metrics.dark_ms.unwrap_or(0.0)).sum::<f64>();
    let changes: u64 = paused.iter().map(|metrics| metrics.false_failovers + metrics.avoidable_failovers).sum();
    let weight = able.len() as f64 / struck.len().max(1) as f64;
    let paused_ms = harmless.iter().sum::<f64>() + weight * (dark_ms(&paused) + changes as f64 * situation.warm_up_ms);
    let crash_ms = dark_ms(&killed) / KILLS as f64 + situation.warm_up_ms;
    let crash_rate = situation.crashes as f64 / situation.crashes_over_ms;
    Ok(Trial {
        pauses: struck.len(),
        changes,
        kills: KILLS,
        dark: paused_ms / situation.pauses_over_ms + crash_rate * crash_ms,
        leaders_acting: paused.iter().chain(&killed).map(|m| m.leaders_acting_by_effect_max).max().unwrap_or(0),
    })
}

/// At most [`PAUSES_MAX`] of the sorted pauses, evenly spaced; if there are few, each is repeated.
fn sample(pauses_ms: &[f64]) -> Vec<f64> {
    let wanted = pauses_ms.len().min(PAUSES_MAX);
    let times = PAUSES_MAX.checked_div(wanted).unwrap_or(0);
    let place = |place: usize| (2 * place + 1) * pauses_ms.len() / (2 * wanted);
    (0..wanted).flat_map(|at| std::iter::repeat_n(pauses_ms[place(at)], times)).collect()
}

/// The pauses of each run, short and long ones alternating.
fn dealt(pauses_ms: &[f64]) -> Vec<Vec<f64>> {
    let mut runs = vec![Vec::new(); pauses_ms.len().div_ceil(OF_A_RUN)];
    let count = runs.len().max(1);
    for (place, pause_ms) in pauses_ms.iter().enumerate() {
        runs[place % count].push(*pause_ms);
    }
    runs
}

fn judged(registry: &Registry, plan: &Plan) -> Result<Metrics, Failed> {
    let run = run::run(plan, Options { registry: registry.clone(), ..Options::default() })?;
    Ok(run.judgement.metrics)
}

/// A quiet world in which the leader is paused for each of these times in turn.
fn paused(
    registry: &Registry,
    params: &Params,
    protocol: &Protocol,
    seed: u64,
    pauses_ms: &[f64],
) -> Result<Plan, Failed> {
    let steady = scenario::find("steady").ok_or("there is no scenario steady")?;
    let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol) as f64, params.takeover_max_ms(protocol) as f64);
    let mut random = streams::stream(seed, "pauses that were seen");
    let (mut faults, mut ready_ms) = (Vec::new(), settled_ms(params, protocol) as f64);
    for pause_ms in pauses_ms {
        let strike_ms = drawn_ms(&mut random, ready_ms, ready_ms + ttl_ms);
        let what = Fault::Pause { node: Who::Leader, for_ms: pause_ms.max(1.0).round() };
        faults.push(PlannedFault { when: Trigger::At { ms: strike_ms.round() }, what, group: 0 });
        ready_ms = strike_ms + pause_ms.max(ttl_ms + takeover_ms) + CALM_MS;
    }
    let duration_ms = (ready_ms as u64 + params.aftermath_ms(protocol)).div_ceil(1_000) * 1_000;
    let plan = steady.compile(&Params { duration_ms: Some(duration_ms), ..params.clone() }, protocol, seed)?;
    let plan = Plan { faults, ..plan };
    registry.plans.validate(&plan)?;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_even_and_loses_nobody_where_there_are_few() {
        let few = sample(&[1.0, 2.0, 3.0]);
        assert_eq!((few.len(), few[0], few[65], few[66], few[197]), (198, 1.0, 1.0, 2.0, 3.0));
        let many: Vec<f64> = (0..1_000).map(f64::from).collect();
        let sampled = sample(&many);
        assert_eq!(sampled.len(), PAUSES_MAX);
        assert_eq!((sampled[0], sampled[199]), (2.0, 997.0));
        assert!(sample(&[]).is_empty());
        let runs = dealt(&sampled);
        assert_eq!((runs.len(), runs[0].len()), (20, 10));
        assert_eq!(runs.concat().len(), sampled.len());
    }
}
