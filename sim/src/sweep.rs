//! Many seeds on all cores: a seed per fresh thread, each run held to what its protocol promises.

use crate::promise;
use crate::run::{self, Options, Run};
use crate::terminal::statistics::quantile;
use protocols::election::{Bounds, Promise, Protocol};
use reports::Verdict;
use scenarios::{
    Params, Scenario,
    plan::Plan,
    scenario::{self},
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// What to sweep over.
pub struct Sweep<'a> {
    /// Scenarios.
    pub scenarios: Vec<&'static Scenario>,
    /// Protocols.
    pub protocols: Vec<&'static Protocol>,
    /// Seeds.
    pub seeds: Range<u64>,
    /// Parameters of every run.
    pub params: &'a Params,
    /// Which part of all runs this one does: `(i, n)`, i from 1.
    pub shard: (u64, u64),
    /// Runs at a time.
    pub jobs: usize,
}

/// One run that did not go as promised.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Failure {
    /// The scenario's name.
    pub scenario: String,
    /// The protocol's name.
    pub protocol: String,
    /// The seed.
    pub seed: u64,
    /// Did the store check tokens?
    pub fencing: bool,
    /// `pass`, `safety`, `vacuous`, `liveness`, or `harness`.
    pub verdict: String,
    /// Why that is not as promised: one sentence.
    pub why: String,
    /// The run's hash.
    pub trace_hash: String,
    /// How to repeat it.
    pub repro: String,
    /// Its artifacts, when they were written.
    pub artifacts: Option<String>,
    /// The plan that failed.
    #[serde(skip)]
    pub plan: Option<Box<Plan>>,
}

/// The runs of one scenario with one protocol.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Cell {
    /// The scenario's name.
    pub scenario: String,
    /// The protocol's name.
    pub protocol: String,
    /// What the protocol promises there: `holds`, `breaks` or `may`.
    pub promise: String,
    /// How many runs.
    pub runs: u64,
    /// Runs by verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Runs that did not go as promised.
    pub failures: u64,
    /// Stale writes that the store refused, over all runs.
    pub writes_fenced: u64,
    /// Most nodes that believed at one time, over all runs.
    pub leaders_believing_max: u64,
    /// Most leaders that took effect at one time, over all runs.
    pub leaders_acting_by_effect_max: u64,
    /// Longest time in which two nodes believed, milliseconds.
    pub dual_belief_ms_max: f64,
    /// How many runs saw two nodes believe.
    pub dual_belief_runs: u64,
    /// Median failover time, milliseconds; null when there was none.
    pub failover_ms_p50: Option<f64>,
    /// 95th percentile of the failover time, milliseconds.
    pub failover_ms_p95: Option<f64>,
    /// Elections won, over all runs.
    pub elections: u64,
    /// Changes of leadership that were not needed, over all runs.
    pub false_failovers: u64,
    /// Changes of leadership that only a pause explains, over all runs.
    pub avoidable_failovers: u64,
    /// Median time from a fault on the incumbent, or the end of its belief, to the next election, milliseconds.
    pub election_time_ms_p50: Option<f64>,
    /// 95th percentile of the same, milliseconds.
    pub election_time_ms_p95: Option<f64>,
    /// Median time in which no request would have been served, per run, milliseconds.
    pub dark_ms_p50: Option<f64>,
    /// Faults on the incumbent after which nobody took over before the run ended.
    pub failover_censored: u64,
    /// Every failover time, milliseconds, sorted.
    #[serde(skip)]
    pub failovers_ms: Vec<f64>,
    /// Every election time, milliseconds, sorted.
    #[serde(skip)]
    pub election_times_ms: Vec<f64>,
    /// The dark time of every run, milliseconds, sorted.
    #[serde(skip)]
    pub darks_ms: Vec<f64>,
}

/// A verdict that does not keep a promise, in one sentence; `None` when it does.
pub fn broken_promise(promise: Promise, bounds: &Bounds, run: &Run) -> Option<String> {
    match run.judgement.verdict {
        Verdict::Vacuous => Some(format!("vacuous: {}", reason(run))),
        _ => promise::broken(promise, bounds, run),
    }
}

/// What the failing invariants saw.
fn reason(run: &Run) -> String {
    let details = run.judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.detail.as_str());
    details.collect::<Vec<_>>().join("; ")
}

/// The word for a promise.
pub const fn promise_name(promise: Promise) -> &'static str {
    match promise {
        Promise::Holds => "holds",
        Promise::Breaks(_) => "breaks",
        Promise::May => "may",
    }
}

/// What came of a sweep.
pub struct Outcome {
    /// One cell per scenario and protocol, in the order of the registries.
    pub cells: Vec<Cell>,
    /// What did not go as promised, in order of scenario, protocol and seed.
    pub failures: Vec<Failure>,
}

impl Sweep<'_> {
    /// How many runs this shard does.
    pub fn runs(&self) -> u64 {
        (0..self.total()).filter(|index| self.mine(*index)).count() as u64
    }

    fn total(&self) -> u64 {
        self.pairs().len() as u64 * (self.seeds.end - self.seeds.start)
    }

    /// Every scenario with every protocol that it can be told of, by so many candidates.
    fn pairs(&self) -> Vec<(&'static Scenario, &'static Protocol)> {
        scenario::pairs(&self.scenarios, &self.protocols, self.params)
    }

    fn mine(&self, index: u64) -> bool {
        index % self.shard.1 == self.shard.0 - 1
    }

    /// Runs everything; `done` is told of every run.
    ///
    /// # Errors
    /// The parameters make no sense for a scenario.
    pub fn run(&self, done: impl Fn(bool) + Sync) -> Result<Outcome, String> {
        let seeds = self.seeds.end - self.seeds.start;
        // Refused before anything runs.
        let pairs = self.pairs();
        if let ([], Some(scenario), Some(protocol)) = (&*pairs, self.scenarios.first(), self.protocols.first()) {
            scenario.compile(self.params, protocol, self.seeds.start)?;
        }
        for (scenario, protocol) in &pairs {
            scenario.compile(self.params, protocol, self.seeds.start)?;
        }
        let cells: Vec<Mutex<(Cell, Vec<Failure>)>> = self.cells();
        let next = AtomicU64::new(0);
        let total = self.total();
        let work = || loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= total {
                return;
            }
            if !self.mine(index) {
                continue;
            }
            let (cell, seed) = ((index / seeds) as usize, self.seeds.start + index % seeds);
            let (scenario, protocol) = pairs[cell];
            let (run, failure) = self.one(scenario, protocol, seed);
            done(failure.is_some());
            let mut place = cells[cell].lock().unwrap_or_else(PoisonError::into_inner);
            place.0.add(run.as_ref(), failure.is_some());
            place.1.extend(failure);
        };
        thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(work);
            }
        });
        let mut outcome = Outcome { cells: Vec::new(), failures: Vec::new() };
        for cell in cells {
            let (mut cell, mut failures) = cell.into_inner().unwrap_or_else(PoisonError::into_inner);
            cell.finish();
            failures.sort_by_key(|f| f.seed);
            outcome.cells.push(cell);
            outcome.failures.extend(failures);
        }
        Ok(outcome)
    }

    fn cells(&self) -> Vec<Mutex<(Cell, Vec<Failure>)>> {
        let cell = |(s, p): (&Scenario, &Protocol)| Cell {
            scenario: s.name.to_owned(),
            protocol: p.name.to_owned(),
            promise: promise_name(scenario::promise(s, p, self.params)).to_owned(),
            ..Cell::default()
        };
        self.pairs().into_iter().map(|pair| Mutex::new((cell(pair), Vec::new()))).collect()
    }

    fn one(&self, scenario: &Scenario, protocol: &Protocol, seed: u64) -> (Option<Run>, Option<Failure>) {
        let promise = scenario::promise(scenario, protocol, self.params);
        let bounds = scenario::bounds(scenario, protocol, self.params);
        let plan = match scenario.compile(self.params, protocol, seed) {
            Ok(plan) => plan,
            Err(why) => return (None, Some(self.failure(scenario, protocol, seed, ("harness", why, ""), None))),
        };
        match run::run(&plan, Options::default()) {
            Err(why) => {
                let failure = self.failure(scenario, protocol, seed, ("harness", why, ""), Some(plan));
                (None, Some(failure))
            }
            Ok(run) => {
                let failure = broken_promise(promise, &bounds, &run).map(|why| {
                    let what = (run.judgement.verdict.name(), why, run.trace_hash());
                    self.failure(scenario, protocol, seed, what, Some(plan))
                });
                (Some(run), failure)
            }
        }
    }

    fn failure(
        &self,
        scenario: &Scenario,
        protocol: &Protocol,
        seed: u64,
        (verdict, why, trace_hash): (&str, String, &str),
        plan: Option<Plan>,
    ) -> Failure {
        let fencing = if self.params.fencing { "" } else { " --fencing off" };
        Failure {
            scenario: scenario.name.to_owned(),
            protocol: protocol.name.to_owned(),
            seed,
            fencing: self.params.fencing,
            verdict: verdict.to_owned(),
            why,
            trace_hash: trace_hash.to_owned(),
            repro: format!(
                "cargo run -- scenario {} --protocol {} --seed {seed}{fencing}",
                scenario.name, protocol.name
            ),
            artifacts: None,
            plan: plan.map(Box::new),
        }
    }
}

impl Cell {
    fn add(&mut self, run: Option<&Run>, failed: bool) {
        self.runs += 1;
        self.failures += u64::from(failed);
        let Some(run) = run else {
            *self.verdicts.entry("harness".to_owned()).or_default() += 1;
            return;
        };
        let metrics = &run.judgement.metrics;
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

    fn finish(&mut self) {
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
