//! `sweep swarm`: runs generated plans, one per seed, and checks everything that their protocols promise under any
//! conditions.

use crate::{
    baseline::Unreadable,
    baseline::{Baseline, Moved, marks},
    error::Failed,
    interrupt, known,
    outcome::{Ended, Failure},
    pool,
    promise::{not_kept, promise_name},
    registry::Registry,
    repro,
    run::{self, Options, Run},
    sweep::{Cell, Outcome},
};
use protocols::{
    election::{Protocol, hazard},
    fence::checks::Fencing,
    history::FaultKind,
};
use scenarios::{
    generate::{self, Choice},
    plan::{Plan, SWARM},
    scenario::Promised,
    units::{duration_us_text, percent_text},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// With `--until-stable`, a sweep ends after this many runs in a row without anything new.
pub const QUIET_RUNS: u64 = 1_000;

pub struct Swarm {
    pub registry: Registry,
    /// The parameters that are given instead of drawn.
    pub choice: Choice,
    /// One plan per seed.
    pub seeds: Range<u64>,
    /// The shard to run, as `(i, n)` with i from 1.
    pub shard: (u64, u64),
    /// The number of parallel runs.
    pub jobs: usize,
    /// Whether to end once nothing new is seen.
    pub until_stable: bool,
}

/// The result of a swarm.
pub struct Swept {
    /// One cell per protocol, and the failures.
    pub outcome: Outcome,
    /// By protocol, the number of runs that continued long enough after the last fault for a liveness violation.
    pub live: BTreeMap<String, u64>,
    /// The number of plans that contain each kind of fault.
    pub kinds: BTreeMap<FaultKind, u64>,
    pub coverage: Coverage,
    /// The marks that runs of these protocols can reach, as far as recorded.
    pub possible: BTreeSet<String>,
    /// The number of runs.
    pub runs: u64,
    /// Whether it ended because nothing new was seen.
    pub stable: bool,
}

/// What a shard of a swarm saves beside its cells and failures.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Drawn {
    live: BTreeMap<String, u64>,
    kinds: BTreeMap<String, u64>,
    coverage: Coverage,
}

/// Coverage: the marks reached, and their combinations, each with the first seed whose run reached it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Coverage {
    pub marks: BTreeMap<String, u64>,
    /// The marks by protocol and by kind of fault.
    with: BTreeMap<String, BTreeMap<String, u64>>,
    /// By protocol: verdicts with violated invariants.
    classes: BTreeMap<String, BTreeMap<String, u64>>,
    /// The number of runs since anything new.
    quiet: u64,
}

impl Coverage {
    fn add(&mut self, run: &Run) {
        let plan = &run.plan;
        let mut new = reach(&mut self.marks, &run.marks, plan.seed);
        for with in plan.faults.iter().map(|fault| fault.what.kind().to_string()).chain([run.protocol.name.to_owned()])
        {
            new |= reach(self.with.entry(with).or_default(), &run.marks, plan.seed);
        }
        let failed = run.judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.name);
        let class = format!("{} {}", run.judgement.verdict.name(), failed.collect::<Vec<_>>().join(" "));
        new |= reach(self.classes.entry(plan.protocol.clone()).or_default(), [&*class], plan.seed);
        self.quiet = if new { 0 } else { self.quiet + 1 };
    }

    /// The number of runs since anything new: a mark, a mark with a new protocol or kind of fault, or a protocol's
    /// verdict with a new set of violated invariants.
    pub fn quiet(&self) -> u64 {
        self.quiet
    }

    /// Those of these marks that no run reached.
    pub fn silent<'a>(&self, marks: &'a BTreeSet<String>) -> Vec<&'a str> {
        marks.iter().map(String::as_str).filter(|mark| !self.marks.contains_key(*mark)).collect()
    }

    /// Adds another shard's, of a swarm whose last seed is `last`.
    fn join(&mut self, more: Coverage, last: u64) {
        let into = |of: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>| {
            for (name, seed) in more {
                of.entry(name).and_modify(|first| *first = seed.min(*first)).or_insert(seed);
            }
        };
        into(&mut self.marks, more.marks);
        more.with.into_iter().for_each(|(with, marks)| into(self.with.entry(with).or_default(), marks));
        more.classes.into_iter().for_each(|(of, classes)| into(self.classes.entry(of).or_default(), classes));
        let combined = self.with.values().chain(self.classes.values()).flat_map(BTreeMap::values);
        let newest = self.marks.values().chain(combined).max();
        self.quiet = newest.map_or(self.quiet + more.quiet, |newest| last.saturating_sub(*newest));
    }
}

/// Adds what the run of `seed` reached; whether any of it is new.
fn reach(known: &mut BTreeMap<String, u64>, now: impl IntoIterator<Item = impl AsRef<str>>, seed: u64) -> bool {
    let before = known.len();
    for name in now {
        if !known.contains_key(name.as_ref()) {
            known.insert(name.as_ref().to_owned(), seed);
        }
    }
    known.len() > before
}

/// The promise that a generated plan's run broke: its verdict, and the reason in one sentence; `None` if it kept all.
pub fn broken_promise(run: &Run) -> Option<(&'static str, String)> {
    let (plan, protocol) = (&run.plan, run.protocol);
    let promised = Promised { safety: generate::promise(plan, protocol), liveness: generate::liveness(plan, protocol) };
    not_kept(&run.judgement, promised, |name| generate::excused(plan, protocol, name))
}

impl Swarm {
    /// The options that affect figures, except the protocols, which have separate figures.
    pub fn figure_options(&self) -> String {
        options(&self.choice).join(" ")
    }

    /// This swarm's results, as a baseline for later ones.
    pub fn baseline(&self, swept: &Swept) -> Baseline {
        let cells = swept.outcome.cells.iter().map(|cell| (cell.protocol.clone(), &cell.seen));
        Baseline::record_swarm(
            self.figure_options(),
            [self.seeds.start, self.seeds.end],
            marks::invariants(&self.registry.invariants).chain(marks::rarities()).collect(),
            cells,
        )
    }

    /// The number of plans in this shard.
    pub fn runs(&self) -> u64 {
        let (part, of) = self.shard;
        (self.seeds.end - self.seeds.start + of - part) / of
    }

    /// Runs the plans; `done` is called with each run's outcome. Ends early if asked to.
    ///
    /// # Errors
    /// The committed baseline is unreadable.
    pub fn run(&self, done: impl Fn(Ended) + Sync) -> Result<Swept, Unreadable> {
        self.run_while(|| true, done)
    }

    /// The same for as long as `goes_on`, and for one run at least. The result is that of as many seeds, from the first.
    ///
    /// # Errors
    /// As [`Swarm::run`].
    pub fn run_while(
        &self,
        goes_on: impl Fn() -> bool + Sync,
        done: impl Fn(Ended) + Sync,
    ) -> Result<Swept, Unreadable> {
        let cell = |protocol: &&Protocol| Cell {
            scenario: SWARM.to_owned(),
            protocol: protocol.name.to_owned(),
            promise: promise_name((protocol.promise)(hazard::ANY, self.choice.fencing == Fencing::On)).to_owned(),
            ..Cell::default()
        };
        let baseline = Baseline::committed_swarm()?;
        let mut swept = Swept {
            outcome: Outcome { cells: self.choice.protocols.iter().map(cell).collect(), ..Outcome::default() },
            live: BTreeMap::new(),
            kinds: BTreeMap::new(),
            coverage: Coverage::default(),
            possible: baseline.marks_of(&self.choice.protocols),
            runs: 0,
            stable: false,
        };
        let seed = |index: u64| self.seeds.start + self.shard.0 - 1 + index * self.shard.1;
        let work = |index: u64| {
            let plan = generate::swarm(seed(index), &self.choice);
            let (run, failure) = self.one(&plan);
            done(failure.as_ref().map_or(Ended::Kept, |failure| failure.outcome));
            (plan, run, failure)
        };
        let enough = |swept: &Swept| {
            let missing = swept.coverage.silent(&swept.possible).into_iter().any(|mark| marks::rare(mark).is_none());
            self.until_stable && !missing && swept.coverage.quiet() >= QUIET_RUNS
        };
        let mut over = false;
        pool::each(self.runs(), self.jobs, work, |_, (plan, run, failure)| {
            swept.add(&plan, run.as_ref(), failure);
            swept.stable = enough(&swept);
            over = !goes_on();
            !swept.stable && !over && !interrupt::asked()
        });
        swept.outcome.interrupted = !swept.stable && !over && swept.runs < self.runs();
        let end = if over { self.seeds.start + swept.runs * self.shard.1 } else { self.seeds.end };
        let seeds = self.seeds.start..end.min(self.seeds.end);
        swept.finish(&baseline, &self.figure_options(), &seeds, &self.registry);
        Ok(swept)
    }

    /// Runs a plan that was drawn under this choice or another.
    pub(crate) fn one(&self, plan: &Plan) -> (Option<Run>, Option<Failure>) {
        let registry = self.registry.clone();
        let valid = registry.plans.validate(plan).map_err(Failed::from);
        let run = valid.and_then(|()| run::run(plan, Options { registry, ..Options::default() }));
        let failure = self.failure(plan, &run);
        (run.ok(), failure)
    }

    fn failure(&self, plan: &Plan, run: &Result<Run, Failed>) -> Option<Failure> {
        let ((verdict, why), run) = match run {
            Err(why) => (("harness", why.to_string()), None),
            Ok(run) => (broken_promise(run)?, Some(run)),
        };
        let violated = run.into_iter().flat_map(|run| run.judgement.invariants.iter().filter(|i| !i.holds));
        Some(Failure {
            scenario: plan.scenario.clone(),
            protocol: plan.protocol.clone(),
            nodes: plan.candidates.len() as u16,
            seed: plan.seed,
            fencing: plan.fencing,
            outcome: Ended::Broken,
            verdict: verdict.to_owned(),
            violated: violated.map(|i| i.name.to_owned()).collect(),
            why,
            trace_hash: run.map_or("", Run::trace_hash).to_owned(),
            repro: repro::command(&arguments(plan, &self.choice)),
            artifacts: None,
            cause: None,
            plan: Some(Box::new(plan.clone())),
        })
    }
}

/// The arguments that run this plan again, drawn under this choice.
pub fn arguments(plan: &Plan, choice: &Choice) -> Vec<String> {
    let seed = plan.seed.to_string();
    let mut words = ["scenario", SWARM, "--protocol", &plan.protocol, "--seed", &seed].map(str::to_owned).to_vec();
    words.extend(options(choice));
    words
}

/// The parameters that were given instead of drawn, except the protocols, as options.
fn options(choice: &Choice) -> Vec<String> {
    let Choice { net, latency_us, loss_ppm, nodes, fencing, groups, bugs, .. } = choice;
    let given = [
        ("--net", net.map(|net| net.name.to_owned())),
        ("--latency", latency_us.map(|(from, to)| format!("{}..{}", duration_us_text(from), duration_us_text(to)))),
        ("--loss", loss_ppm.map(percent_text)),
        ("--nodes", nodes.map(|nodes| nodes.to_string())),
        ("--groups", (*groups != 1).then(|| groups.to_string())),
        ("--fencing", (*fencing != Fencing::On).then(|| fencing.word().to_owned())),
        ("--bug", bugs.first().map(|bug| bug.id.to_owned())),
    ];
    let given = given.into_iter().filter_map(|(option, value)| Some([option.to_owned(), value?]));
    given.flatten().collect()
}

/// The figures of `cells` that moved from `baseline`; none if it was recorded with other options.
fn moved(baseline: &Baseline, cells: &[Cell], options: &str, seeds: &Range<u64>) -> Vec<Moved> {
    if baseline.options != options {
        return Vec::new();
    }
    let moved = cells.iter().flat_map(|cell| baseline.moved(&cell.protocol, seeds, &cell.seen));
    moved.map(|moved| Moved { cell: format!("{SWARM} {}", moved.cell), ..moved }).collect()
}

impl Swept {
    /// What `merge` needs of a shard, beside its cells and failures.
    pub fn drawn(&self) -> Drawn {
        let kinds = self.kinds.iter().map(|(kind, plans)| (kind.name().to_owned(), *plans)).collect();
        Drawn { live: self.live.clone(), kinds, coverage: self.coverage.clone() }
    }

    /// The swarm of these seeds of which `outcome` and `shards` are all shards' together.
    ///
    /// # Errors
    /// The committed baseline is unreadable.
    pub fn merged(
        outcome: Outcome,
        shards: Vec<Drawn>,
        (options, seeds): (&str, Range<u64>),
        registry: &Registry,
    ) -> Result<Swept, Unreadable> {
        let baseline = Baseline::committed_swarm()?;
        let protocol = |cell: &Cell| registry.plans.protocol(&cell.protocol).ok();
        let protocols: Vec<&Protocol> = outcome.cells.iter().filter_map(protocol).collect();
        let (mut live, mut kinds, mut coverage) = (BTreeMap::new(), BTreeMap::new(), Coverage::default());
        for shard in shards {
            shard.live.into_iter().for_each(|(protocol, runs)| *live.entry(protocol).or_default() += runs);
            shard.kinds.iter().for_each(|(kind, plans)| *kinds.entry(kind.as_str().into()).or_default() += plans);
            coverage.join(shard.coverage, seeds.end - 1);
        }
        let (possible, runs) = (baseline.marks_of(&protocols), outcome.runs());
        let mut swept = Swept { outcome, live, kinds, coverage, possible, runs, stable: false };
        swept.finish(&baseline, options, &seeds, registry);
        Ok(swept)
    }

    /// Computes what follows from all runs together.
    fn finish(&mut self, baseline: &Baseline, options: &str, seeds: &Range<u64>, registry: &Registry) {
        let outcome = &mut self.outcome;
        outcome.cells.iter_mut().for_each(Cell::finish);
        outcome.moved = moved(baseline, &outcome.cells, options, seeds);
        let seen = outcome.cells.iter().map(|cell| &cell.seen);
        outcome.without_baseline = baseline.unrecorded(&registry.invariants, seen);
        outcome.judged_wrong(known::wrong());
    }

    fn add(&mut self, plan: &Plan, run: Option<&Run>, failure: Option<Failure>) {
        self.runs += 1;
        if let Some(cell) = self.outcome.cells.iter_mut().find(|cell| cell.protocol == plan.protocol) {
            cell.add(run, failure.as_ref().map_or(Ended::Kept, |failure| failure.outcome));
        }
        plan.faults.iter().for_each(|fault| *self.kinds.entry(fault.what.kind()).or_default() += 1);
        if let Some(run) = run {
            let could_fail = run.judgement.invariant("liveness").is_some_and(|liveness| liveness.could_fail);
            *self.live.entry(plan.protocol.clone()).or_default() += u64::from(could_fail);
            self.coverage.add(run);
        }
        self.outcome.failures.extend(failure);
    }
}
