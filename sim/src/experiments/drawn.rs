//! Pictures that are drawn from runs.

use super::sets::{Experiment, PAUSES, RENEWALS, TTL_SWEEP};
use crate::{run::Run, ttl_sweep::PAUSE_PROFILE};
use reports::{
    experiments::{Cell, Numbers},
    plot::{
        leaders_acting::{Reign, Strip},
        ttl_sweep::{Point, TtlSweep},
    },
};
use scenarios::units::duration_ms;
use serde_json::Value;
use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

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

// Runs as strips of the picture that shows who leads when.

/// Collects the history lines needed here: faults and refused writes.
#[derive(Clone, Default)]
pub(super) struct Lines {
    kept: Arc<Mutex<Vec<Value>>>,
    /// The beginning of the current line.
    begun: Vec<u8>,
}

impl Lines {
    pub(super) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn line(&self, line: &[u8]) {
        let has = |word: &[u8]| line.windows(word.len()).any(|part| part == word);
        if has(b"\"event\":\"fault\"") || has(b"\"verdict\":\"fenced\"") {
            if let Ok(event) = serde_json::from_slice(line) {
                self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(event);
            }
        }
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.begun);
                self.line(&line);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The strip of a run whose story was recorded, with its faults; `None` if it was not recorded.
pub(super) fn strip(label: String, run: &Run, events: &[Value]) -> Option<Strip> {
    let faults = || events.iter().filter(|event| event["event"] == "fault");
    let t_us = |event: &Value| event["t_us"].as_u64();
    let first_us = faults().find_map(t_us)?;
    let since = |t_us: u64| (t_us as f64 - first_us as f64) / 1e6;
    let end_us = run.judgement.end_us;
    let span = |begin: &Value| {
        let ends = |event: &&Value| event["phase"] == "end" && event["index"] == begin["index"];
        let from_us = t_us(begin)?;
        let end = faults().filter(ends).filter_map(t_us).find(|end| *end >= from_us);
        let lasts = begin["phase"] == "begin";
        Some((since(from_us), since(if lasts { end.unwrap_or(end_us) } else { from_us })))
    };
    let begun = faults().filter(|event| event["phase"] != "end").filter_map(span);
    let reign = |leader: &reports::timeline::Leader| Reign {
        node: leader.incarnation.node.0,
        believed: leader.elected_us.map(|from| (since(from), since(leader.ended.map_or(end_us, |(to, _)| to)))),
        acted: leader.first_us.zip(leader.last_us).map(|(from, to)| (since(from), since(to))),
    };
    let metrics = &run.judgement.metrics;
    Some(Strip {
        label,
        nodes: run.header.candidates,
        ends: since(end_us),
        faults: begun.collect(),
        reigns: run.highlights.as_ref()?.leaders().iter().map(reign).collect(),
        acting: metrics.leaders_acting_by_effect_max,
        believing: metrics.leaders_believing_max,
    })
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

    #[test]
    fn lines_are_kept_however_they_are_written() {
        let mut lines = Lines::default();
        let shared = lines.clone();
        lines
            .write_all(b"{\"event\":\"fault\",\"t_us\":1}\n{\"event\":\"grant\"}\n{\"event\":\"apply\",\"ver")
            .unwrap();
        lines.write_all(b"dict\":\"fenced\"}\n").unwrap();
        let kept = shared.take();
        assert_eq!((kept.len(), kept[0]["t_us"].as_u64()), (2, Some(1)));
    }
}
