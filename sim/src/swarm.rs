//! `sweep swarm`: generated plans, a seed each, held to everything that their protocols promise whatever happens, and what
//! they came to.

use crate::{
    interrupt,
    outcome::{Ended, Failure},
    pool,
    run::{self, Options, Run},
    sweep::{Cell, Outcome, promise_name},
    terminal::repro,
};
use protocols::{
    coverage::{self, Mark, Marks},
    election::{Hazard, Promise, Protocol},
    fence::checks::Fencing,
};
use reports::invariant::{self, Class};
use scenarios::{
    generate::{self, Choice},
    plan::{Plan, SWARM},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// With `--until-stable`, a sweep ends when so many runs in a row have shown nothing new.
pub const QUIET_RUNS: u64 = 1_000;

/// Marks that a sweep may miss, and why.
pub const RARE: &[(Mark, &str)] = &[];

/// Which plans to run.
pub struct Swarm {
    /// What is not drawn.
    pub choice: Choice,
    /// A plan each.
    pub seeds: Range<u64>,
    /// Which part of them this one runs: `(i, n)`, i from 1.
    pub shard: (u64, u64),
    /// Runs at a time.
    pub jobs: usize,
    /// End when nothing new is seen any more.
    pub until_stable: bool,
}

/// What came of it.
pub struct Swept {
    /// A cell per protocol, and what did not go as promised.
    pub outcome: Outcome,
    /// How many runs of each protocol went on for long enough after the last fault for liveness to be missed.
    pub live: BTreeMap<String, u64>,
    /// How often each kind of fault was in a plan.
    pub kinds: BTreeMap<&'static str, u64>,
    /// What the runs came to.
    pub coverage: Coverage,
    /// How many runs there were.
    pub runs: u64,
    /// It ended because nothing new was seen any more.
    pub stable: bool,
}

/// What runs came to: marks, and what went together with what.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Every mark that was come to.
    pub marks: Marks,
    /// With which protocol, and with which kind of fault.
    with: BTreeMap<&'static str, Marks>,
    /// Protocol, verdict and the invariants that failed.
    classes: BTreeSet<(String, String)>,
    /// Runs since something was new.
    quiet: u64,
}

impl Coverage {
    fn add(&mut self, run: &Run) {
        let plan = &run.plan;
        let mut new = !self.marks.contains(run.marks);
        self.marks = self.marks.and(run.marks);
        let protocol = plan.election().map(|protocol| protocol.name);
        for with in plan.faults.iter().map(|fault| fault.what.kind()).chain(protocol) {
            let known = self.with.entry(with).or_default();
            new |= !known.contains(run.marks);
            *known = known.and(run.marks);
        }
        let failed = run.judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.name);
        let class = format!("{} {}", run.judgement.verdict.name(), failed.collect::<Vec<_>>().join(" "));
        new |= self.classes.insert((plan.protocol.clone(), class));
        self.quiet = if new { 0 } else { self.quiet + 1 };
    }

    /// How many runs there were since something was new: a mark, a mark together with a protocol or a kind of fault, or a
    /// verdict of a protocol with the invariants that failed.
    pub fn quiet(&self) -> u64 {
        self.quiet
    }

    /// The marks that runs of these protocols could come to, and did not.
    pub fn silent(&self, protocols: &[&Protocol]) -> Vec<Mark> {
        silent(self.marks, protocols)
    }
}

/// The marks of these protocols that are not in the set.
fn silent(marks: Marks, protocols: &[&Protocol]) -> Vec<Mark> {
    let possible = |mark: &Mark| protocols.iter().any(|protocol| mark.is_of(protocol.name));
    coverage::ALL.iter().copied().filter(|mark| possible(mark) && !marks.has(*mark)).collect()
}

/// Why a sweep may miss a mark.
pub fn rare(mark: Mark) -> Option<&'static str> {
    RARE.iter().find(|(rare, _)| *rare == mark).map(|(_, why)| *why)
}

/// A promise that a run of a generated plan does not keep, in one sentence; `None` when it keeps all.
pub fn broken_promise(run: &Run) -> Option<String> {
    let promise = generate::promise(&run.plan);
    let held = |name: &str| match invariant::ALL.iter().find(|entry| entry.name == name).map(|entry| entry.class) {
        Some(Class::Safety) => promise == Promise::Holds && !generate::excused(&run.plan, name),
        Some(Class::Liveness) => true,
        // Nothing in particular has to happen in a generated plan.
        Some(Class::Vacuity) | None => false,
    };
    let broken = run.judgement.invariants.iter().filter(|i| !i.holds && held(i.name));
    let broken: Vec<String> = broken.map(|i| format!("{}: {}", i.name, i.detail)).collect();
    (!broken.is_empty()).then(|| broken.join("; "))
}

impl Swarm {
    /// How many plans this shard has.
    pub fn runs(&self) -> u64 {
        let (part, of) = self.shard;
        (self.seeds.end - self.seeds.start + of - part) / of
    }

    /// Runs the plans; `done` is told what came of every run. It ends early when the command is asked to.
    pub fn run(&self, done: impl Fn(Ended) + Sync) -> Swept {
        let cell = |protocol: &&Protocol| Cell {
            scenario: SWARM.to_owned(),
            protocol: protocol.name.to_owned(),
            promise: promise_name((protocol.promise)(Hazard::Any, self.choice.fencing == Fencing::On)).to_owned(),
            ..Cell::default()
        };
        let mut swept = Swept {
            outcome: Outcome { cells: self.choice.protocols.iter().map(cell).collect(), ..Outcome::default() },
            live: BTreeMap::new(),
            kinds: BTreeMap::new(),
            coverage: Coverage::default(),
            runs: 0,
            stable: false,
        };
        let seed = |index: u64| self.seeds.start + self.shard.0 - 1 + index * self.shard.1;
        let work = |index: u64| {
            let plan = generate::swarm(seed(index), &self.choice);
            let run = plan.validate().and_then(|()| run::run(&plan, Options::default()));
            let failure = self.failure(&plan, &run);
            done(failure.as_ref().map_or(Ended::Kept, |failure| failure.outcome));
            (plan, run.ok(), failure)
        };
        let enough = |swept: &Swept| {
            let missing = swept.coverage.silent(&self.choice.protocols).into_iter().any(|mark| rare(mark).is_none());
            self.until_stable && !missing && swept.coverage.quiet() >= QUIET_RUNS
        };
        pool::each(self.runs(), self.jobs, work, |_, (plan, run, failure)| {
            swept.add(&plan, run.as_ref(), failure);
            swept.stable = enough(&swept);
            !swept.stable && !interrupt::asked()
        });
        swept.outcome.interrupted = !swept.stable && swept.runs < self.runs();
        swept.outcome.cells.iter_mut().for_each(Cell::finish);
        swept
    }

    fn failure(&self, plan: &Plan, run: &Result<Run, String>) -> Option<Failure> {
        let (verdict, why, trace_hash) = match run {
            Err(why) => ("harness", why.clone(), ""),
            Ok(run) => (run.judgement.verdict.name(), broken_promise(run)?, run.trace_hash()),
        };
        let violated = run.iter().flat_map(|run| run.judgement.invariants.iter().filter(|i| !i.holds));
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
            trace_hash: trace_hash.to_owned(),
            repro: repro::command(&arguments(plan, &self.choice)),
            artifacts: None,
            plan: Some(Box::new(plan.clone())),
        })
    }
}

/// The arguments that run this plan, drawn with this choice, again.
pub fn arguments(plan: &Plan, choice: &Choice) -> Vec<String> {
    let seed = plan.seed.to_string();
    let mut words = ["scenario", SWARM, "--protocol", &plan.protocol, "--seed", &seed].map(str::to_owned).to_vec();
    let Choice { net, nodes, fencing, .. } = choice;
    let given = [
        ("--net", net.map(|net| net.name.to_owned())),
        ("--nodes", nodes.map(|nodes| nodes.to_string())),
        ("--fencing", (*fencing != Fencing::On).then(|| fencing.word().to_owned())),
    ];
    for (option, value) in given {
        words.extend(value.into_iter().flat_map(|value| [option.to_owned(), value]));
    }
    words
}

impl Swept {
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
