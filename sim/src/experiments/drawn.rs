//! Data for pictures that were drawn from runs: restored from the committed numbers, or from a few runs.

use super::sets::{Experiment, PAUSES, RENEWALS, TTL_SWEEP};
use crate::ttl_sweep::PAUSE_PROFILE;
use reports::{
    experiments::{Cell, Numbers},
    plot::ttl_sweep::{Point, TtlSweep},
};
use scenarios::units::duration_ms;

/// The sweep over times to live, restored from the numbers: for each point, the percentiles of failovers that are
/// drawn.
pub fn sweep(experiment: &Experiment, numbers: &Numbers) -> Option<TtlSweep> {
    let set = experiment.full.iter().find(|set| set.scenario == TTL_SWEEP)?;
    let pattern = format!("{}/{TTL_SWEEP}/*/*", experiment.number);
    let point = |cell: &Cell| {
        let failover = cell.spreads.get("failover_ms")?;
        // The measurement of many long pauses, if any, is more precise.
        let pattern = format!("{}/{PAUSES}/{}/{}", experiment.number, cell.protocol, cell.variant);
        let counted = numbers.matching(&pattern).next().unwrap_or(cell);
        let hours = counted.figure("paused_minutes")? / 60.0;
        let changes = *counted.counts.get("pause_failovers")?;
        Some(Point {
            protocol: cell.protocol.clone(),
            ttl_ms: duration_ms(&cell.variant).ok()?,
            failover_ms: vec![failover.p5, failover.p50, failover.p95],
            failover_censored: *cell.counts.get("failover_censored")?,
            bound_ms: cell.figure("bound_ms")?,
            false_failovers_per_hour: changes as f64 / hours,
            false_failovers: Some(changes),
            paused_hours: Some(hours),
            paused_served_ppm: cell.counts.get("paused_served_ppm").copied(),
            runs: cell.runs,
        })
    };
    let points: Vec<Point> = numbers.matching(&pattern).filter_map(point).collect();
    let seeds = format!("{}..{}", set.seeds.0, set.seeds.1);
    (!points.is_empty()).then(|| TtlSweep { schema: 1, points, pause_profile: PAUSE_PROFILE.to_owned(), seeds })
}

/// The experiment reduced to the runs behind its leadership strips: the first seed of each usual plan set.
pub fn told(mut experiment: Experiment) -> Experiment {
    let usual: Vec<String> =
        experiment.full.iter().filter(|set| set.variant.is_empty()).map(|set| set.scenario.clone()).collect();
    experiment.full.retain(|set| {
        let faulty = ![TTL_SWEEP, RENEWALS, PAUSES, "steady"].contains(&&*set.scenario) && set.frontier.is_none();
        faulty && (set.variant.is_empty() || !usual.contains(&set.scenario))
    });
    if experiment.without_timeline {
        experiment.full.clear();
    }
    experiment.advice.clear();
    experiment.full.iter_mut().for_each(|set| set.seeds.1 = set.seeds.0 + 1);
    experiment
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::sets;

    #[test]
    fn the_committed_numbers_have_the_whole_sweep() {
        let experiment = sets::find(&[2]).unwrap().remove(0);
        let numbers = sets::committed(false).unwrap();
        let sweep = sweep(&experiment, &numbers).unwrap();
        let set = experiment.full.iter().find(|set| set.scenario == TTL_SWEEP).unwrap();
        assert_eq!(sweep.points.len(), set.protocols.len() * set.ttls_ms.len());
        assert!(sweep.points.iter().all(|point| point.ttl_ms >= 1_000 && point.failover_ms.len() == 3));
    }

    #[test]
    fn pictures_take_one_run_of_each_cell() {
        let told: Vec<Experiment> = sets::find(&[]).unwrap().into_iter().map(told).collect();
        let sets = |number: usize| &told[number - 1].full;
        assert!(sets(2).is_empty() && sets(10).is_empty());
        assert!(sets(5).len() == 3 && sets(6).len() == 1, "{} {}", sets(5).len(), sets(6).len());
        assert!(told.iter().flat_map(|e| &e.full).all(|set| set.seeds.1 == set.seeds.0 + 1));
    }
}
