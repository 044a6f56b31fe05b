//! Measures after how many seeds each known bug is detected, with each protocol that has it.
//!
//! A run detects a bug if it shows the bug's stated effect and the same run without the bug does not. The stated effect
//! refers to the protocol of the bug's command; in other protocols, any invariant that only the run with the bug
//! violates also detects it.

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

/// A bug in a protocol, and the runs that should detect it.
pub struct Mutant {
    pub bug: &'static Bug,
    pub protocol: &'static Protocol,
    pub scenario: &'static Scenario,
    /// The parameters of its runs, with the bug switched off.
    pub without: Params,
}

/// The result for a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    Detected {
        /// The number of seeds run, this one included.
        seeds: u64,
        /// The seed that detected it.
        seed: u64,
        /// The bug's own violation, or else the invariants that only the run with the bug violates.
        by: String,
        /// All invariants violated in that run.
        violated: Vec<&'static str>,
    },
    /// None of this many seeds detects it.
    Survived(u64),
    /// Its scenario cannot run with this protocol, for this reason.
    DoesNotApply(String),
}

impl Mutant {
    /// Runs seeds until one detects the bug; `None` if asked to end first.
    ///
    /// # Errors
    /// A run could not be finished.
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

    /// What in this seed's judgement shows the bug, if anything.
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

/// The results in the order of the mutants, with `jobs` in parallel; `done` is called after each. If asked to end, the
/// unfinished ones at the end are missing.
///
/// # Errors
/// A run could not be finished.
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
