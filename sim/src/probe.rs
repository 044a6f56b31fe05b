//! Checks whether a scenario is safe with given parameters, as far as some seeds can tell.

use crate::{
    error::Failed,
    interrupt,
    registry::Registry,
    run::{self, Options},
};
use protocols::election::Protocol;
use reports::Verdict;
use scenarios::{Params, Scenario};
use std::{
    ops::Range,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

pub struct Probe<'a> {
    pub registry: &'a Registry,
    pub scenario: &'static Scenario,
    pub protocol: &'static Protocol,
    pub seeds: Range<u64>,
    /// The number of parallel runs.
    pub jobs: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seen {
    /// A seed violates safety.
    Violated(Violation),
    /// No seed does.
    Held(Held),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    pub seed: u64,
    pub violated: Vec<&'static str>,
}

/// How the seeds were safe.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Held {
    /// The runs in which every invariant held and the situation under test arose.
    pub passed: u64,
    /// The runs in which the situation under test did not arise.
    pub inconclusive: u64,
    /// The runs in which nobody led in time.
    pub leaderless: u64,
}

impl Probe<'_> {
    /// The first seed that violates safety with these parameters. The seed `before`, which did so with others, is tried
    /// first as the likeliest; the others follow in order, so that the answer does not depend on which run ends first.
    ///
    /// # Errors
    /// The parameters make no sense, a run could not be finished, or the program was asked to end before all seeds had
    /// run.
    pub fn at(&self, params: &Params, before: Option<u64>) -> Result<Seen, Failed> {
        let seeds: Vec<u64> = before.into_iter().chain(self.seeds.clone().filter(|s| Some(*s) != before)).collect();
        let next = AtomicU64::new(0);
        let first = Mutex::new((u64::MAX, Ok(Held::default()), None));
        let work = || {
            loop {
                if interrupt::asked() {
                    return;
                }
                let place = next.fetch_add(1, Ordering::Relaxed);
                let known = first.lock().unwrap_or_else(PoisonError::into_inner).0;
                let Some(seed) = seeds.get(place as usize).filter(|_| place < known) else { return };
                let seen = self.one(params, *seed);
                let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                let (known, held, violation) = &mut *first;
                match seen {
                    Ok(Seen::Held(one)) => {
                        if let Ok(held) = held {
                            held.add(one);
                        }
                    }
                    Ok(Seen::Violated(found)) if place < *known => (*known, *violation) = (place, Some(found)),
                    Err(why) if place < *known => (*known, *held, *violation) = (place, Err(why), None),
                    _ => {}
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(work);
            }
        });
        if interrupt::asked() {
            return Err(Failed::Unfinished);
        }
        match first.into_inner().unwrap_or_else(PoisonError::into_inner) {
            (_, _, Some(violation)) => Ok(Seen::Violated(violation)),
            (_, held, None) => held.map(Seen::Held),
        }
    }

    /// Runs one seed.
    ///
    /// # Errors
    /// As [`Probe::at`].
    pub fn one(&self, params: &Params, seed: u64) -> Result<Seen, Failed> {
        let plan = self.scenario.compile(params, self.protocol, seed)?;
        let run = run::run(&plan, Options { registry: self.registry.clone(), ..Options::default() })?;
        Ok(match run.judgement.verdict {
            Verdict::Pass => Seen::Held(Held { passed: 1, ..Held::default() }),
            Verdict::Vacuous => Seen::Held(Held { inconclusive: 1, ..Held::default() }),
            Verdict::Liveness => Seen::Held(Held { leaderless: 1, ..Held::default() }),
            Verdict::Safety => {
                let violated = run.judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.name).collect();
                Seen::Violated(Violation { seed, violated })
            }
        })
    }
}

impl Held {
    /// The number of seeds.
    pub fn seeds(&self) -> u64 {
        self.passed + self.inconclusive + self.leaderless
    }

    fn add(&mut self, other: Held) {
        self.passed += other.passed;
        self.inconclusive += other.inconclusive;
        self.leaderless += other.leaderless;
    }
}
