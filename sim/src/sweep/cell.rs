//! The results of one cell of a sweep: summed up, as saved by shards for merging, and compared with its baseline.

use crate::{
    baseline::{Baseline, By, Moved, Seen, Unreadable, runs::Runs},
    exact,
    outcome::Ended,
    promise::Chance,
    run::Run,
};
use reports::{invariant::Entry, statistics::quantile};
use scenarios::Params;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The runs of one scenario with one protocol and one number of candidates.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Cell {
    pub scenario: String,
    pub protocol: String,
    /// The number of candidates.
    pub nodes: u16,
    /// The protocol's promise there: `holds`, `breaks` or `may`.
    pub promise: String,
    /// The number of runs.
    pub runs: u64,
    /// Runs by verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Runs that kept the promise.
    pub kept: u64,
    /// Runs that broke the promise.
    pub broken: u64,
    /// Runs that broke it, plus seeds without a valid plan.
    pub failures: u64,
    /// Runs in which the situation under test never arose.
    pub inconclusive: u64,
    /// Seeds without a valid plan.
    pub invalid: u64,
    /// Stale writes that the store refused, over all runs.
    pub writes_fenced: u64,
    /// The most nodes that believed at one time, over all runs.
    pub leaders_believing_max: u64,
    /// The most leaders in effect at one time, over all runs.
    pub leaders_acting_by_effect_max: u64,
    /// The longest time in which two nodes believed, in milliseconds.
    pub dual_belief_ms_max: f64,
    /// The number of runs in which two nodes believed.
    pub dual_belief_runs: u64,
    /// The median failover time, in milliseconds; null if there was none.
    pub failover_ms_p50: Option<f64>,
    /// The 95th percentile of the failover time, in milliseconds.
    pub failover_ms_p95: Option<f64>,
    /// Elections won, over all runs.
    pub elections: u64,
    /// Unnecessary changes of leader, over all runs.
    pub false_failovers: u64,
    /// Changes of leader that only a pause explains, over all runs.
    pub avoidable_failovers: u64,
    /// The median time from a fault on the incumbent, or the end of its belief, to the next election, in milliseconds.
    pub election_time_ms_p50: Option<f64>,
    /// The 95th percentile of the election time, in milliseconds.
    pub election_time_ms_p95: Option<f64>,
    /// The median, over runs, of the time in which no request would have been served, in milliseconds.
    pub dark_ms_p50: Option<f64>,
    /// Faults on the incumbent after which nobody took over before the run ended.
    pub failover_censored: u64,
    /// Every failover time, in milliseconds, sorted.
    #[serde(skip)]
    pub failovers_ms: Vec<f64>,
    /// Every election time, in milliseconds, sorted.
    #[serde(skip)]
    pub election_times_ms: Vec<f64>,
    /// The dark time of every run, in milliseconds, sorted.
    #[serde(skip)]
    pub darks_ms: Vec<f64>,
    /// The values to compare with the baseline.
    #[serde(skip)]
    pub seen: Seen,
}

impl Cell {
    /// Its name in the baseline.
    pub(super) fn name(&self) -> String {
        format!("{} {} {}", self.scenario, self.protocol, self.nodes)
    }

    /// Whether the situation under test did not arise in more than a fifth of the runs; a few may miss it by chance.
    pub fn is_inconclusive(&self) -> bool {
        self.inconclusive * 5 > self.runs
    }

    pub(crate) fn add(&mut self, run: Option<&Run>, ended: Ended) {
        self.runs += 1;
        self.failures += u64::from(matches!(ended, Ended::Broken | Ended::Invalid));
        match ended {
            Ended::Kept => self.kept += 1,
            Ended::Broken => self.broken += 1,
            Ended::Inconclusive => self.inconclusive += 1,
            Ended::Invalid => self.invalid += 1,
        }
        let Some(run) = run else {
            *self.verdicts.entry("harness".to_owned()).or_default() += 1;
            return;
        };
        let metrics = &run.judgement.metrics;
        self.seen.add(run);
        *self.verdicts.entry(run.judgement.verdict.name().to_owned()).or_default() += 1;
        self.writes_fenced += metrics.writes_fenced;
        self.leaders_believing_max = self.leaders_believing_max.max(metrics.leaders_believing_max);
        self.leaders_acting_by_effect_max = self.leaders_acting_by_effect_max.max(metrics.leaders_acting_by_effect_max);
        self.dual_belief_ms_max = self.dual_belief_ms_max.max(metrics.dual_belief_ms);
        self.dual_belief_runs += u64::from(metrics.leaders_believing_max > 1);
        self.failover_censored += metrics.failover_censored;
        self.failovers_ms.extend(&metrics.failover_ms);
        self.elections += metrics.elections;
        self.false_failovers += metrics.false_failovers;
        self.avoidable_failovers += metrics.avoidable_failovers;
        self.election_times_ms.extend(&metrics.election_time_ms);
        self.darks_ms.extend(metrics.dark_ms);
    }

    /// Adds runs of the same cell; requires [`Cell::finish`] afterwards.
    pub(crate) fn join(&mut self, more: &Cell) {
        self.runs += more.runs;
        self.kept += more.kept;
        self.broken += more.broken;
        self.failures += more.failures;
        self.inconclusive += more.inconclusive;
        self.invalid += more.invalid;
        for (verdict, runs) in &more.verdicts {
            *self.verdicts.entry(verdict.clone()).or_default() += runs;
        }
        self.writes_fenced += more.writes_fenced;
        self.leaders_believing_max = self.leaders_believing_max.max(more.leaders_believing_max);
        self.leaders_acting_by_effect_max = self.leaders_acting_by_effect_max.max(more.leaders_acting_by_effect_max);
        self.dual_belief_ms_max = self.dual_belief_ms_max.max(more.dual_belief_ms_max);
        self.dual_belief_runs += more.dual_belief_runs;
        self.failover_censored += more.failover_censored;
        self.elections += more.elections;
        self.false_failovers += more.false_failovers;
        self.avoidable_failovers += more.avoidable_failovers;
        self.failovers_ms.extend(&more.failovers_ms);
        self.election_times_ms.extend(&more.election_times_ms);
        self.darks_ms.extend(&more.darks_ms);
        self.seen.join(&more.seen);
    }

    pub(crate) fn finish(&mut self) {
        self.failovers_ms.sort_by(f64::total_cmp);
        self.failover_ms_p50 = quantile(&self.failovers_ms, 0.5);
        self.failover_ms_p95 = quantile(&self.failovers_ms, 0.95);
        self.election_times_ms.sort_by(f64::total_cmp);
        self.election_time_ms_p50 = quantile(&self.election_times_ms, 0.5);
        self.election_time_ms_p95 = quantile(&self.election_times_ms, 0.95);
        self.darks_ms.sort_by(f64::total_cmp);
        self.dark_ms_p50 = quantile(&self.darks_ms, 0.5);
    }
}

// A cell with all the values behind its medians, as saved by shards for merging.

/// A cell with the values that its own JSON omits.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Raw {
    cell: Cell,
    #[serde(with = "exact::list")]
    dual_belief_ms_max: Vec<f64>,
    #[serde(with = "exact::list")]
    failovers_ms: Vec<f64>,
    #[serde(with = "exact::list")]
    election_times_ms: Vec<f64>,
    #[serde(with = "exact::list")]
    darks_ms: Vec<f64>,
    seen: Seen,
}

impl From<&Cell> for Raw {
    fn from(cell: &Cell) -> Raw {
        Raw {
            dual_belief_ms_max: vec![cell.dual_belief_ms_max],
            failovers_ms: cell.failovers_ms.clone(),
            election_times_ms: cell.election_times_ms.clone(),
            darks_ms: cell.darks_ms.clone(),
            seen: cell.seen.clone(),
            cell: cell.clone(),
        }
    }
}

impl From<Raw> for Cell {
    fn from(raw: Raw) -> Cell {
        let Raw { cell, dual_belief_ms_max, failovers_ms, election_times_ms, darks_ms, seen } = raw;
        let dual_belief_ms_max = dual_belief_ms_max.first().copied().unwrap_or_default();
        Cell { dual_belief_ms_max, failovers_ms, election_times_ms, darks_ms, seen, ..cell }
    }
}

// Compares a sweep's cells with their baseline, and with the recorded shares of cells left to chance.

/// The least number of runs for which a cell left to chance is compared with its recorded share.
const CHANCE_RUNS_MIN: u64 = 100;

/// What decides whether there is a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Compared {
    /// The options that affect figures; sweeps with other options are not comparable.
    pub options: String,
    /// The first seed, and the one after the last.
    pub seeds: [u64; 2],
    /// Whether the store fences, if shares are recorded for these options; otherwise `None`.
    pub chance: Option<bool>,
}

impl Compared {
    /// The figures far outside the baseline, and, in words, the marks and invariants that it does not know.
    ///
    /// # Errors
    /// The committed baseline is unreadable, which a test rules out.
    pub fn with_baseline(
        &self,
        cells: &[Cell],
        invariants: &[&'static Entry],
    ) -> Result<(Vec<Moved>, Vec<String>), Unreadable> {
        let baseline = Baseline::committed_with(&self.options)?;
        let mut moved = self.by_chance(cells);
        if baseline.options == self.options {
            let seeds = self.seeds[0]..self.seeds[1];
            moved.extend(cells.iter().flat_map(|cell| baseline.moved(&cell.name(), &seeds, &cell.seen)));
        }
        let digests = cells.iter().map(|cell| (cell.name(), &cell.seen.digests));
        moved.extend(Runs::committed()?.changed(&self.options, digests));
        Ok((moved, baseline.unrecorded(invariants, cells.iter().map(|cell| &cell.seen))))
    }

    /// Cells left to chance in which safety was violated far more or less often than recorded. A few runs are not
    /// compared.
    fn by_chance(&self, cells: &[Cell]) -> Vec<Moved> {
        let Some(fencing) = self.chance else { return Vec::new() };
        let known = cells.iter().filter(|c| c.nodes == Params::default().nodes && c.runs >= CHANCE_RUNS_MIN);
        let far = |cell: &Cell| {
            let chance = Chance::find(&cell.scenario, &cell.protocol, fencing)?;
            let violated = cell.verdicts.get("safety").copied().unwrap_or(0);
            chance.far_off(violated, cell.runs)?;
            let was = [chance.of_1000 as f64; 5].into();
            let is = (violated as f64 * 1e3 / cell.runs as f64).round();
            let figure = "unsafe runs of 1000".to_owned();
            Some(Moved { cell: cell.name(), figure, was, is, by: By::Median, runs: cell.runs as usize })
        };
        known.filter_map(far).collect()
    }
}
