//! Runs many seeds on all cores, each in a fresh thread, and compares each run with its protocol's promises.

mod cell;
mod recorded;

use crate::{
    baseline::Moved,
    canary::{self, Canary, Looked},
    error::Failed,
    interrupt, known,
    outcome::{Ended, Failure, note},
    pool,
    promise::ended,
    registry::Registry,
    repro,
    run::{self, Options, Run},
    shown::{Shown, Watch},
};
pub use cell::{Cell, Compared, Raw};
use protocols::{bug::Bug, election::Protocol, fence::checks::Fencing};
use reports::Verdict;
use scenarios::{Params, Scenario, plan::Invalid, scenario, sense};
use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

pub struct Sweep<'a> {
    pub registry: &'a Registry,
    pub scenarios: Vec<&'static Scenario>,
    pub protocols: Vec<&'static Protocol>,
    /// The numbers of candidates; one cell each.
    pub sizes: Sizes,
    pub seeds: Range<u64>,
    /// The parameters of every run, except the number of candidates.
    pub params: &'a Params,
    /// The shard to run, as `(i, n)` with i from 1.
    pub shard: (u64, u64),
    /// The number of parallel runs.
    pub jobs: usize,
}

/// A cell: scenario, protocol, and number of candidates.
type Which = (&'static Scenario, &'static Protocol, u16);

/// The result of a sweep.
#[derive(Default)]
pub struct Outcome {
    /// One cell per scenario, protocol and number of candidates, in the order of the registries.
    pub cells: Vec<Cell>,
    /// Broken promises, ordered by scenario, protocol, candidates and seed.
    pub failures: Vec<Failure>,
    /// Runs in which the situation under test never arose, in the same order.
    pub inconclusive: Vec<Failure>,
    /// Runs that were unsafe as permitted: in each cell the first for each set of violated invariants, in the same
    /// order.
    pub unsafe_runs: Vec<Failure>,
    /// Figures far outside the baseline.
    pub moved: Vec<Moved>,
    /// Marks and invariants that did not exist when the baseline was recorded, in words.
    pub without_baseline: Vec<String>,
    /// For each bug looked for, the number of runs that show it.
    pub bugs: Vec<Shown>,
    /// Whether it was asked to end before all was done.
    pub interrupted: bool,
}

impl Outcome {
    /// The number of runs done.
    pub fn runs(&self) -> u64 {
        self.cells.iter().map(|cell| cell.runs).sum()
    }

    /// Adds the cells of histories that this program's judge misjudges. They come first, since they put all other
    /// results in doubt.
    pub(crate) fn judged_wrong(&mut self, wrong: Vec<(Cell, Failure)>) {
        let (cells, failures): (Vec<_>, Vec<_>) = wrong.into_iter().unzip();
        self.cells.splice(0..0, cells);
        self.failures.splice(0..0, failures);
    }
}

impl Sweep<'_> {
    /// The number of runs in this shard. A canary counts as one, although it runs with its cause and without.
    pub fn runs(&self) -> u64 {
        self.cell_runs() + self.canaries().len() as u64 * self.canary_seeds()
    }

    fn cell_runs(&self) -> u64 {
        let (total, (part, of)) = (self.total(), self.shard);
        total / of + u64::from(part <= total % of)
    }

    /// The canaries. A sweep of all scenarios that changes nothing that canaries depend on runs all of them in its
    /// first shard, whatever the protocols and sizes: they take seconds, and a blind spot of the world affects every
    /// protocol.
    fn canaries(&self) -> Vec<Canary> {
        let usual = Params { nodes: self.params.nodes, rate: self.params.rate, ..Params::default() };
        let all = scenario::ALL.iter().all(|ours| self.scenarios.iter().any(|swept| swept.name == ours.name));
        match all && *self.params == usual && self.shard.0 == 1 {
            true => canary::canaries(),
            false => Vec::new(),
        }
    }

    fn canary_seeds(&self) -> u64 {
        (self.seeds.end - self.seeds.start).min(canary::SEEDS_MAX)
    }

    fn total(&self) -> u64 {
        self.which().len() as u64 * (self.seeds.end - self.seeds.start)
    }

    /// Every scenario with every protocol that it applies to, and every number of candidates.
    fn which(&self) -> Vec<Which> {
        let mut all = Vec::new();
        for scenario in &self.scenarios {
            for protocol in &self.protocols {
                let told = |nodes: &u16| !scenario::pairs(&[scenario], &[protocol], &self.sized(*nodes)).is_empty();
                let sizes = self.sizes.numbers().iter();
                let sizes = sizes.filter(|n| told(n) && self.sizes.has(scenario, protocol, **n));
                all.extend(sizes.map(|nodes| (*scenario, *protocol, *nodes)));
            }
        }
        all
    }

    fn sized(&self, nodes: u16) -> Params {
        Params { nodes, ..self.params.clone() }
    }

    /// Refuses parameters that make no sense for a cell, and a sweep of no runs, before anything runs.
    pub fn check(&self) -> Result<(), Invalid> {
        let (which, first) = (self.which(), self.seeds.start);
        if let ([], Some(scenario), Some(protocol)) = (&*which, self.scenarios.first(), self.protocols.first()) {
            let fewest = self.sizes.numbers().iter().min().copied().unwrap_or(self.params.nodes);
            self.registry.plans.compile(scenario, &self.sized(fewest), protocol, first)?;
        }
        if self.cell_runs() == 0 {
            let ((part, of), total) = (self.shard, self.total());
            return Err(Invalid(match total {
                0 => "nothing to run: none of these scenarios applies to any of these protocols".to_owned(),
                total => format!("nothing to run: shard {part}/{of} of {total} runs has none"),
            }));
        }
        for (scenario, protocol, nodes) in &which {
            let params = self.sized(*nodes);
            sense::timers(&params, protocol)?;
            self.registry.plans.compile(scenario, &params, protocol, first)?;
        }
        let pairs: Vec<_> = which.iter().map(|(scenario, protocol, _)| (*scenario, *protocol)).collect();
        let nodes = which.first().map_or(self.params.nodes, |(_, _, nodes)| *nodes);
        sense::meant(&self.sized(nodes), &pairs, first)
    }

    /// Runs everything; `done` is called with each run's outcome. Ends early if asked to.
    ///
    /// # Errors
    /// The parameters make no sense for a scenario, or there is nothing to run.
    pub fn run(&self, done: impl Fn(Ended) + Sync) -> Result<Outcome, Failed> {
        self.watching(&self.params.bugs, done)
    }

    /// The same, and watches for these bugs.
    ///
    /// # Errors
    /// As [`Sweep::run`].
    pub fn watching(&self, bugs: &[&'static Bug], done: impl Fn(Ended) + Sync) -> Result<Outcome, Failed> {
        let seeds = self.seeds.end - self.seeds.start;
        self.check()?;
        let mut known = known::wrong();
        if !self.canaries().is_empty() {
            known.extend(known::wrong_runs());
        }
        let which = self.which();
        let mut cells: Vec<(Cell, Vec<Failure>)> = which.iter().map(|which| self.cell(*which)).collect();
        let mut unsafe_runs = Vec::new();
        let given_up = Mutex::new(Vec::<Failure>::new());
        let place = |index: u64| {
            let index = self.shard.0 - 1 + index * self.shard.1;
            ((index / seeds) as usize, self.seeds.start + index % seeds)
        };
        let work = |index: u64| {
            let (cell, seed) = place(index);
            let (run, failure) = self.one(which[cell], seed);
            if let Some(failure) = failure.as_ref().filter(|failure| failure.why == interrupt::GIVEN_UP) {
                given_up.lock().unwrap_or_else(PoisonError::into_inner).push(failure.clone());
            }
            done(failure.as_ref().map_or(Ended::Kept, |failure| failure.outcome));
            (run, failure)
        };
        let mut watch = Watch::new(bugs);
        pool::each(self.cell_runs(), self.jobs, work, |index, (run, failure)| {
            let (at, seed) = place(index);
            if let Some(run) = &run {
                watch.add(run, self.shard.0 - 1 + index * self.shard.1, || self.repro(which[at], seed));
            }
            let (cell, failures) = &mut cells[at];
            cell.add(run.as_ref(), failure.as_ref().map_or(Ended::Kept, |failure| failure.outcome));
            if let (Some(run), None) = (run.filter(|run| run.judgement.verdict == Verdict::Safety), &failure) {
                let seen = run
                    .judgement
                    .invariants
                    .iter()
                    .find(|i| !i.holds)
                    .map(|i| i.detail.to_string())
                    .unwrap_or_default();
                let unpromised = self.failure(which[at], seed, (Ended::Kept, seen), Some(&run));
                note(&mut unsafe_runs, Failure { plan: Some(Box::new((*run.plan).clone())), ..unpromised });
            }
            failures.extend(failure);
            !interrupt::asked()
        });
        cells.extend(self.look_at_canaries(&done));
        let mut outcome = Outcome { unsafe_runs, bugs: watch.seen(), ..Outcome::default() };
        for (mut cell, failures) in cells {
            cell.finish();
            outcome.cells.push(cell);
            let (inconclusive, failures): (Vec<_>, Vec<_>) =
                failures.into_iter().partition(|f| f.outcome == Ended::Inconclusive);
            outcome.failures.extend(failures);
            outcome.inconclusive.extend(inconclusive);
        }
        let given_up = given_up.into_inner().unwrap_or_else(PoisonError::into_inner);
        for failure in given_up {
            if !outcome.failures.contains(&failure) {
                outcome.failures.push(failure);
            }
        }
        outcome.interrupted = outcome.runs() < self.runs();
        (outcome.moved, outcome.without_baseline) =
            self.compared().with_baseline(&outcome.cells, &self.registry.invariants)?;
        outcome.judged_wrong(known);
        Ok(outcome)
    }

    /// One cell per canary.
    fn look_at_canaries(&self, done: impl Fn(Ended) + Sync) -> Vec<(Cell, Vec<Failure>)> {
        let (canaries, seeds) = (self.canaries(), self.canary_seeds());
        let cell = |canary: &Canary| {
            let scenario = format!("{}{}", canary::PREFIX, canary.name);
            (Cell { scenario, promise: "breaks".to_owned(), ..Cell::default() }, Vec::new())
        };
        let mut cells: Vec<(Cell, Vec<Failure>)> = canaries.iter().map(cell).collect();
        let place = |index: u64| ((index / seeds) as usize, self.seeds.start + index % seeds);
        let work = |index: u64| {
            let (number, seed) = place(index);
            let looked = canaries[number].look(seed);
            let kept = matches!(looked, Ok(Looked { wrong: None, .. }));
            done(if kept { Ended::Kept } else { Ended::Broken });
            looked
        };
        let count = if interrupt::asked() { 0 } else { canaries.len() as u64 * seeds };
        pool::each(count, self.jobs, work, |index, looked| {
            let ((number, seed), fencing) = (place(index), self.params.fencing);
            let (cell, failures) = &mut cells[number];
            let (run, wrong) = match looked {
                Ok(Looked { run, wrong }) => (Some(run), wrong.map(|(why, plan, hash)| (why, hash, Some(plan)))),
                Err(why) => (None, Some((why.to_string(), String::new(), None))),
            };
            if let Some(run) = &run {
                (cell.protocol, cell.nodes) = (run.plan.protocol.clone(), run.plan.candidates.len() as u16);
            }
            cell.add(run.as_ref(), if wrong.is_some() { Ended::Broken } else { Ended::Kept });
            let seeds = format!("{seed}..{}", seed + 1);
            failures.extend(wrong.map(|(why, trace_hash, plan)| Failure {
                scenario: cell.scenario.clone(),
                protocol: cell.protocol.clone(),
                nodes: cell.nodes,
                seed,
                fencing,
                outcome: Ended::Broken,
                verdict: run.as_ref().map_or("harness", |_| "canary").to_owned(),
                violated: Vec::new(),
                why,
                trace_hash,
                repro: repro::command(&["sweep", "all", "--seeds", &seeds].map(str::to_owned)),
                artifacts: None,
                cause: None,
                plan: plan.map(Box::new),
            }));
            !interrupt::asked()
        });
        cells
    }

    /// The options that affect figures; sweeps with other options are not comparable.
    fn figure_options(&self) -> String {
        repro::options(&self.sized(Params::default().nodes)).join(" ")
    }

    /// What the cells are compared with.
    pub fn compared(&self) -> Compared {
        let usual = Params { nodes: self.params.nodes, rate: self.params.rate, ..Params::default() };
        let fencing = self.params.fencing;
        let known = *self.params == (Params { fencing, ..usual }) && matches!(fencing, Fencing::On | Fencing::Off);
        Compared {
            options: self.figure_options(),
            seeds: [self.seeds.start, self.seeds.end],
            chance: known.then_some(fencing == Fencing::On),
        }
    }

    fn cell(&self, (scenario, protocol, nodes): Which) -> (Cell, Vec<Failure>) {
        let cell = Cell {
            scenario: scenario.name.to_owned(),
            protocol: protocol.name.to_owned(),
            nodes,
            promise: scenario::promised(scenario, protocol, &self.sized(nodes)).word().to_owned(),
            ..Cell::default()
        };
        (cell, Vec::new())
    }

    fn one(&self, which: Which, seed: u64) -> (Option<Run>, Option<Failure>) {
        let (scenario, protocol, nodes) = which;
        let params = self.sized(nodes);
        let promised = scenario::promised(scenario, protocol, &params);
        let bounds = scenario::bounds(scenario, protocol, &params);
        let plan = match scenario.compile(&params, protocol, seed) {
            Ok(plan) => plan,
            Err(why) => return (None, Some(self.failure(which, seed, (Ended::Invalid, why.0), None))),
        };
        match run::run(&plan, Options { registry: self.registry.clone(), ..Options::default() }) {
            Err(why) => {
                let failure = self.failure(which, seed, (Ended::Broken, why.to_string()), None);
                (None, Some(Failure { plan: Some(Box::new(plan)), ..failure }))
            }
            Ok(run) => match ended(promised, &bounds, &run.judgement) {
                (Ended::Kept, _) => (Some(run), None),
                what => {
                    let failure = self.failure(which, seed, what, Some(&run));
                    (Some(run), Some(Failure { plan: Some(Box::new(plan)), ..failure }))
                }
            },
        }
    }

    /// The command that repeats a run.
    fn repro(&self, (scenario, protocol, nodes): Which, seed: u64) -> String {
        let params = sense::concerning(&self.sized(nodes), (scenario, protocol), seed);
        repro::of_run(scenario.name, protocol.name, &params, seed)
    }

    fn failure(&self, which: Which, seed: u64, (outcome, why): (Ended, String), run: Option<&Run>) -> Failure {
        let (scenario, protocol, nodes) = (which.0.name, which.1.name, which.2);
        let violated = run.into_iter().flat_map(|run| run.judgement.invariants.iter().filter(|i| !i.holds));
        Failure {
            scenario: scenario.to_owned(),
            protocol: protocol.to_owned(),
            nodes,
            seed,
            fencing: self.params.fencing,
            outcome,
            verdict: run.map_or("harness", |run| run.judgement.verdict.name()).to_owned(),
            violated: violated.map(|i| i.name.to_owned()).collect(),
            why,
            trace_hash: run.map_or("", Run::trace_hash).to_owned(),
            repro: self.repro(which, seed),
            artifacts: None,
            cause: None,
            plan: None,
        }
    }
}

// The numbers of candidates in a sweep.

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// These numbers; a scenario that needs more candidates is inconclusive.
    Of(Vec<u16>),
    /// Three and five.
    Usual,
    /// One to nine, as far as the scenario allows.
    Long,
}

impl Sizes {
    pub fn numbers(&self) -> &[u16] {
        match self {
            Sizes::Of(numbers) => numbers,
            Sizes::Usual => &[3, 5],
            Sizes::Long => &[1, 2, 3, 5, 7, 9],
        }
    }

    /// Whether this number of candidates is enough for the scenario.
    fn has(&self, scenario: &Scenario, protocol: &Protocol, nodes: u16) -> bool {
        matches!(self, Sizes::Of(_)) || nodes >= scenario::fewest(scenario, protocol)
    }
}
