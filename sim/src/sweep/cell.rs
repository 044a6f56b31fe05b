//! The results of one cell of a sweep.

use crate::{baseline::Seen, outcome::Ended, run::Run};
use reports::statistics::quantile;
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
