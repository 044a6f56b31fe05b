//! Runs an experiment and collects its numbers.

use super::{
    answers,
    drawn::{self, Lines},
    frontiers, renewals,
    sets::{CHURN, Experiment, PAUSES, PlanSet, RENEWALS, TTL_SWEEP},
    shards,
};
use crate::{
    error::Failed,
    interrupt,
    registry::Registry,
    repro,
    run::{self, Options},
    seeds, ttl_sweep,
};
use protocols::election::Protocol;
use reports::{
    experiments::{
        Cell, Refusal, Spread,
        numbers::{counts, lists},
    },
    plot::{leaders_acting::Strip, ttl_sweep::TtlSweep},
};
use scenarios::{
    Params, Plan,
    registry::Missing,
    scenario::{self, clean_kill},
};
use serde_json::Value;
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_128;

/// The number of seeds per cell whose refused writes are listed.
const LISTED_SEEDS: u64 = 3;
/// The most writes listed per run: a leader that wakes with a full outbox sends a thousand.
const LISTED_WRITES: usize = 10;

#[derive(Default)]
pub struct Measured {
    pub cells: Vec<Cell>,
    /// Refused writes, if the experiment lists them.
    pub refusals: Vec<Refusal>,
    /// Who led when in the first run of each cell, with its scenario and its variant.
    pub strips: Vec<(String, String, Strip)>,
    /// Whether the program was asked to end before all parts were measured.
    pub interrupted: bool,
}

/// One run's results.
struct One {
    plan: String,
    verdict: &'static str,
    violated: Vec<&'static str>,
    counts: Vec<(&'static str, u64)>,
    lists: Vec<(&'static str, Vec<f64>)>,
    /// The number of elections won by each candidate.
    wins: Vec<u64>,
    refusals: Vec<Refusal>,
    strip: Option<Strip>,
}

/// How many parts [`measure`] has: one for each protocol of a plan set, and one for a sweep over times to live.
///
/// # Errors
/// A plan set cannot be read.
pub fn parts(registry: &Registry, experiment: &Experiment, reduced: bool) -> Result<u64, Failed> {
    let of = |set: &PlanSet| Ok(if set.scenario == TTL_SWEEP { 1 } else { set.protocols(registry)?.len() as u64 });
    experiment.sets(reduced).iter().map(of).sum()
}

/// Runs an experiment's plan sets until the program is asked to end; `done` is called after each part.
///
/// # Errors
/// A plan cannot be made, or a run could not be finished.
pub fn measure(
    registry: &Registry,
    experiment: &Experiment,
    reduced: bool,
    jobs: usize,
    mut done: impl FnMut(&str),
) -> Result<Measured, Failed> {
    let mut measured = Measured::default();
    for set in experiment.sets(reduced) {
        let params = set.params(registry)?;
        let protocols = set.protocols(registry)?;
        let together = set.scenario == TTL_SWEEP;
        for part in protocols.chunks(if together { protocols.len() } else { 1 }) {
            let work = Work { registry, experiment, set, params: &params, protocol: part[0] };
            match if together { work.sweep(part, jobs, &mut measured) } else { work.part(jobs, &mut measured) } {
                Err(_) if interrupt::asked() => {}
                ended => ended?,
            }
            if interrupt::asked() {
                measured.interrupted = true;
                return Ok(measured);
            }
            done(if together { TTL_SWEEP } else { work.protocol.name });
        }
    }
    Ok(measured)
}

struct Work<'a> {
    registry: &'a Registry,
    experiment: &'a Experiment,
    set: &'a PlanSet,
    params: &'a Params,
    protocol: &'static Protocol,
}

impl Work<'_> {
    /// Measures the plan set with all of its protocols.
    fn sweep(&self, protocols: &[&'static Protocol], jobs: usize, measured: &mut Measured) -> Result<(), Failed> {
        let Work { registry, set, .. } = *self;
        let sweep = ttl_sweep::measure(registry, &set.ttls_ms, protocols, set.seeds(), jobs, || ())?;
        measured.cells.extend(sweep_cells(self.experiment, protocols, &sweep));
        Ok(())
    }

    /// Measures the plan set with its protocol.
    fn part(&self, jobs: usize, measured: &mut Measured) -> Result<(), Failed> {
        let Work { registry, experiment, set, params, protocol } = *self;
        match (set.scenario.as_str(), &set.frontier) {
            (RENEWALS, _) => measured.cells.extend(renewals::cells(registry, experiment, set, protocol, jobs)?),
            (PAUSES, _) => measured.cells.extend(renewals::pause_cells(registry, experiment, set, protocol, jobs)?),
            (_, Some(axes)) => {
                let figures = frontiers::search(registry, set, axes, params, protocol, jobs)?;
                measured.cells.extend(frontiers::cells(experiment, &figures, protocol, params.fencing));
            }
            (_, None) => self.gather(seeds::each(set.seeds(), jobs, |seed| self.one(seed), || ())?, measured),
        }
        Ok(())
    }

    fn plan(&self, seed: u64) -> Result<Plan, Failed> {
        let (params, protocol) = (self.params, self.protocol);
        if self.set.scenario == CHURN {
            return Ok(clean_kill::churn(params, protocol, seed, self.set.churn_ms)?);
        }
        let name = &self.set.scenario;
        let scenario = scenario::find(name).ok_or_else(|| Missing { what: "scenario", name: name.clone() })?;
        Ok(self.registry.plans.compile(scenario, params, protocol, seed)?)
    }

    fn one(&self, seed: u64) -> Result<One, Failed> {
        let plan = self.plan(seed)?;
        let first = seed == self.set.seeds.0;
        let listed = self.experiment.lists_refusals && seed < self.set.seeds.0 + LISTED_SEEDS;
        let lines = Lines::default();
        let options = Options {
            registry: self.registry.clone(),
            timeline: first || self.set.scenario == CHURN,
            history: (first || listed).then(|| Box::new(lines.clone()) as Box<_>),
            keep: if self.set.with.reads_per_s.is_some() { usize::MAX } else { 0 },
            ..Options::default()
        };
        let run = run::run(&plan, options)?;
        let events = lines.take();
        let (judgement, header) = (&run.judgement, &run.header);
        let mut counts = counts(judgement).to_vec();
        let metrics = &judgement.metrics;
        counts.extend(metrics.requests_to_service.map(|n| ("requests_to_service", n)));
        counts.extend(metrics.requests_to_service_in_one_second_max.map(|n| ("requests_in_1s_max", n)));
        counts.extend(metrics.requests_to_service_in_ten_ms_max.map(|n| ("requests_in_10ms_max", n)));
        let worked = [
            ("work_done", metrics.work_done),
            ("work_redone", metrics.work_redone),
            ("work_skipped", metrics.work_skipped),
        ];
        counts.extend(worked.into_iter().filter_map(|(name, n)| Some((name, n?))));
        counts.extend(metrics.shards.iter().flat_map(shards::counts));
        let kept = run.kept.as_deref().unwrap_or_default();
        if self.set.with.reads_per_s.is_some() {
            counts.extend([("reads_answered", metrics.reads_answered), ("reads_stale", metrics.reads_stale)]);
        }
        if self.set.with.tenure.check_errors_ppm > 0 {
            counts.extend(metrics.dark_ms.map(|ms| ("dark_ms_sum", ms.round() as u64)));
        }
        counts.push(("simulated_ms", plan.duration_ms));
        let mut wins = vec![0; usize::from(header.candidates)];
        for leader in run.highlights.iter().flat_map(|told| told.leaders()) {
            if let Some(wins) = wins.get_mut(leader.incarnation.node.index()) {
                *wins += 1;
            }
        }
        Ok(One {
            plan: plan.digest(),
            verdict: judgement.verdict.name(),
            violated: judgement.violated().collect(),
            counts,
            lists: lists(judgement)
                .into_iter()
                .chain(metrics.shards.iter().flat_map(shards::lists))
                .chain(metrics.work_stalled_ms_max.map(|ms| ("work_stalled_ms", vec![ms])))
                .chain(metrics.work_done.map(|done| ("work_done_per_run", vec![done as f64])))
                .chain(metrics.work_redone.map(|again| ("work_redone_per_run", vec![again as f64])))
                .chain(answers::longest_gaps(kept, judgement.end_us))
                .collect(),
            wins,
            refusals: if listed { self.refusals(seed, &events) } else { Vec::new() },
            strip: (first && !self.experiment.without_timeline)
                .then(|| drawn::strip(self.protocol.name.to_owned(), &run, &events))
                .flatten(),
        })
    }

    fn refusals(&self, seed: u64, events: &[Value]) -> Vec<Refusal> {
        let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
        let number = |event: &Value, field: &str| event[field].as_u64().unwrap_or_default();
        let refused = events.iter().filter(|event| event["verdict"] == "fenced");
        let refusal = |event: &Value| Refusal {
            experiment: self.experiment.number,
            protocol: self.protocol.name.to_owned(),
            seed,
            t_us: number(event, "t_us"),
            node: text(event, "node"),
            resource: text(event, "resource"),
            seq: number(event, "seq"),
            token: number(event, "token"),
            highest: number(event, "highest"),
        };
        refused.take(LISTED_WRITES).map(refusal).collect()
    }

    fn gather(&self, runs: Vec<One>, measured: &mut Measured) {
        let mut cell = Cell {
            experiment: self.experiment.number,
            scenario: self.set.scenario.clone(),
            protocol: self.protocol.name.to_owned(),
            variant: self.set.variant.clone(),
            tokened: self.protocol.tokened,
            fencing: self.params.fencing == protocols::fence::checks::Fencing::On,
            runs: runs.len() as u64,
            ..Cell::default()
        };
        let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let mut plans = String::new();
        for one in runs {
            plans += &one.plan;
            *cell.verdicts.entry(one.verdict.to_owned()).or_default() += 1;
            for name in one.violated {
                *cell.violated.entry(name.to_owned()).or_default() += 1;
            }
            cell.count(one.counts);
            one.lists.into_iter().for_each(|(name, list)| values.entry(name).or_default().extend(list));
            if self.set.scenario == CHURN {
                values.entry("wins").or_default().extend(one.wins.iter().map(|wins| *wins as f64));
            }
            measured.refusals.extend(one.refusals);
            measured.strips.extend(one.strip.map(|strip| (self.set.scenario.clone(), self.set.variant.clone(), strip)));
        }
        cell.plans = format!("{:032x}", xxh3_128(plans.as_bytes()));
        cell.spreads = values.into_iter().filter_map(|(n, v)| Some((n.to_owned(), Spread::of(v)?))).collect();
        self.parameters(&mut cell);
        measured.cells.push(cell);
    }

    /// Adds parameters, which are needed along with the measurements.
    fn parameters(&self, cell: &mut Cell) {
        let (params, protocol) = (self.params, self.protocol);
        let mut add = |name: &str, value: u64| cell.counts.insert(name.to_owned(), value);
        let takeover_ms = params.takeover_max_ms(protocol);
        add("granted_ttl_ms", params.granted_ttl_ms(protocol));
        add("bound_ms", params.granted_ttl_ms(protocol) + takeover_ms);
        add("renew_interval_ms", params.timings(protocol).renew_interval_ms);
        if self.set.scenario == CHURN {
            add("period_ms", clean_kill::churn_period_ms(params, protocol, self.set.churn_ms.0));
        } else {
            let words = repro::arguments(&self.set.scenario, protocol.name, params, 0).join(" ");
            cell.command = words.replace("--seed 0", "--seed {seed}");
        }
        // Rates, for runs long enough to estimate them.
        let Some(ms) = cell.figure("simulated_ms").filter(|_| [CHURN, "steady"].contains(&&*self.set.scenario)) else {
            return;
        };
        let rates = [
            ("requests_to_service", "requests_per_1000s", 1e6),
            ("elections", "elections_per_1000h", 3.6e9),
            ("dark_ms_sum", "dark_ppm", 1e6),
        ];
        // Churn already has other numbers for its elections and dark time.
        for (of, name, per) in
            rates.into_iter().filter(|(of, ..)| self.set.scenario != CHURN || *of == "requests_to_service")
        {
            if let Some(n) = cell.figure(of) {
                cell.counts.insert(name.to_owned(), (n * per / ms).round() as u64);
            }
        }
    }
}

/// The sweep's points as cells; the variant is the time to live.
fn sweep_cells(experiment: &Experiment, protocols: &[&'static Protocol], sweep: &TtlSweep) -> Vec<Cell> {
    let cell = |point: &reports::plot::ttl_sweep::Point| {
        let spreads = Spread::of(point.failover_ms.clone()).map(|spread| ("failover_ms".to_owned(), spread));
        let mut cell = Cell {
            experiment: experiment.number,
            scenario: TTL_SWEEP.to_owned(),
            protocol: point.protocol.clone(),
            variant: scenarios::units::duration_text(point.ttl_ms),
            tokened: protocols.iter().any(|protocol| protocol.name == point.protocol && protocol.tokened),
            fencing: true,
            runs: point.runs,
            spreads: spreads.into_iter().collect(),
            ..Cell::default()
        };
        let per_1000h = (point.false_failovers_per_hour * 1e3).round() as u64;
        cell.count([
            ("bound_ms", point.bound_ms as u64),
            ("failover_censored", point.failover_censored),
            ("pause_failovers", point.false_failovers.unwrap_or(0)),
            ("pause_failovers_per_1000h", per_1000h),
            ("paused_minutes", (point.paused_hours.unwrap_or(0.0) * 60.0).round() as u64),
        ]);
        cell.count(point.paused_served_ppm.map(|ppm| ("paused_served_ppm", ppm)));
        cell
    };
    sweep.points.iter().map(cell).collect()
}
