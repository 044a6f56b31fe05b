//! Known bugs, switched on one at a time: after how many seeds each is detected, with each protocol that has it.
//!
//! A bug is detected by a run that shows what the bug is said to do, where the same run without the bug does not. What it is
//! said to do is known of the protocol of its command; in another protocol, any invariant that only the run with the bug
//! violates detects it as well.

use crate::{
    error::Failed,
    interrupt, pool,
    reduce::Symptom,
    registry::Registry,
    run::{self, Options},
    shown::shows,
};
use protocols::{bug::Bug, election::Protocol};
use reports::Judgement;
use scenarios::{Params, Scenario};
use std::ops::Range;

/// A bug in a protocol, and the runs that are to detect it.
pub struct Mutant {
    /// The bug.
    pub bug: &'static Bug,
    /// The protocol.
    pub protocol: &'static Protocol,
    /// The scenario.
    pub scenario: &'static Scenario,
    /// The parameters of its runs; with these the bug is switched off.
    pub without: Params,
}

/// What became of a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It was detected.
    Detected {
        /// After so many seeds, this one included.
        seeds: u64,
        /// By this one.
        seed: u64,
        /// What shows it there: the bug's own violation, or else the invariants that are violated by it alone.
        by: String,
        /// The invariants that it violated there.
        violated: Vec<&'static str>,
    },
    /// No seed of so many detects it.
    Survived(u64),
    /// Its scenario cannot be run with this protocol: one sentence.
    DoesNotApply(String),
}

impl Mutant {
    /// Runs seed after seed until one detects it; `None` when it was asked to end before.
    ///
    /// # Errors
    /// A run could not be finished: one sentence.
    pub fn hunt(&self, registry: &Registry, seeds: Range<u64>) -> Result<Option<Fate>, Failed> {
        let tried = seeds.end.saturating_sub(seeds.start);
        for (place, seed) in seeds.enumerate() {
            if interrupt::asked() {
                return Ok(None);
            }
            let with = Params { bugs: vec![self.bug], ..self.without.clone() };
            if let Err(why) = registry.plans.compile(self.scenario, &with, self.protocol, seed) {
                return Ok(Some(Fate::DoesNotApply(why.0)));
            }
            let mutant = self.judged(registry, &with, seed)?;
            if let Some(by) = self.detected(registry, &mutant, seed)? {
                let violated = mutant.violated().collect();
                return Ok(Some(Fate::Detected { seeds: place as u64 + 1, seed, by, violated }));
            }
        }
        Ok(Some(Fate::Survived(tried)))
    }

    /// What shows the bug in a run of this seed that was judged like this, if anything does.
    fn detected(&self, registry: &Registry, mutant: &Judgement, seed: u64) -> Result<Option<String>, Failed> {
        let elsewhere = self.protocol.name != self.bug.shown.protocol;
        let own = shows(self.bug, mutant);
        let other = elsewhere && Symptom::of(mutant).is_some();
        if !own && !other {
            return Ok(None);
        }
        let twin = self.judged(registry, &self.without, seed)?;
        if own && !shows(self.bug, &twin) {
            return Ok(Some(self.bug.violation.to_owned()));
        }
        let violated = |judgement| Symptom::of(judgement).map(|symptom| symptom.violated).unwrap_or_default();
        let only: Vec<&str> = violated(mutant).difference(&violated(&twin)).copied().collect();
        Ok((elsewhere && !only.is_empty()).then(|| only.join(", ")))
    }

    fn judged(&self, registry: &Registry, params: &Params, seed: u64) -> Result<Judgement, Failed> {
        let plan = registry.plans.compile(self.scenario, params, self.protocol, seed)?;
        let run = run::run(&plan, Options { registry: registry.clone(), ..Options::default() });
        let which = || format!("{} {} seed {seed}", self.bug.id, self.protocol.name);
        run.map(|run| run.judgement).map_err(|why| Failed::Of { which: which(), why: why.into() })
    }
}

/// What became of each, in their order, so many at a time; `done` is told of every one. Those that were not finished when it
/// was asked to end are missing at the end.
///
/// # Errors
/// A run could not be finished: one sentence.
pub fn hunt(
    mutants: &[Mutant],
    registry: &Registry,
    seeds: &Range<u64>,
    jobs: usize,
    done: impl Fn() + Sync,
) -> Result<Vec<Fate>, Failed> {
    let (mut fates, mut failed) = (Vec::new(), None);
    let work = |place: u64| {
        let fate = mutants[place as usize].hunt(registry, seeds.clone());
        done();
        fate
    };
    pool::each(mutants.len() as u64, jobs, work, |_, fate| match fate {
        Ok(Some(fate)) => {
            fates.push(fate);
            true
        }
        Ok(None) => false,
        Err(why) => {
            failed = Some(why);
            false
        }
    });
    failed.map_or(Ok(fates), Err)
}
