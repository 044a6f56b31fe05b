//! The smallest clock drift that breaks a scenario, by bisection.

use crate::{
    error::Failed,
    probe::{Probe, Seen, Violation},
    registry::Registry,
};
use protocols::election::Protocol;
use scenarios::{Params, Scenario, plan::PPM_MAX};
use std::ops::Range;

/// What to look for.
pub struct Bisect<'a> {
    /// What has them, and their service.
    pub registry: &'a Registry,
    /// The scenario.
    pub scenario: &'static Scenario,
    /// The protocol.
    pub protocol: &'static Protocol,
    /// The seeds that are run at every drift.
    pub seeds: Range<u64>,
    /// Parameters of every run, but for the drift.
    pub params: &'a Params,
    /// Runs at a time.
    pub jobs: usize,
}

/// A drift at which a seed violates safety.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Break {
    /// The drift, parts per million.
    pub ppm: u64,
    /// The seed.
    pub seed: u64,
    /// The invariants that it violates.
    pub violated: Vec<&'static str>,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The smallest drift that breaks; `None`: none of those that were tried.
    pub breaks: Option<Break>,
    /// The largest drift below it at which every seed was safe, parts per million; `None` when it breaks without any.
    pub holds_ppm: Option<u64>,
}

impl Bisect<'_> {
    /// Searches between no drift and the largest that plans allow. `tried` is told of every drift that was tried.
    ///
    /// # Errors
    /// The parameters make no sense, or a run could not be finished.
    pub fn search(&self, tried: impl Fn(u64, Option<&Break>)) -> Result<Found, Failed> {
        let mut before = None;
        let mut try_at = |ppm| {
            let found = self.first_break(ppm, before)?;
            tried(ppm, found.as_ref());
            before = found.as_ref().map(|b| b.seed).or(before);
            Ok::<_, Failed>(found)
        };
        // Clocks that are far off can be so wrong that nobody leads, and nothing breaks: then less of it may.
        let mut wide = PPM_MAX;
        let mut breaks = loop {
            match (try_at(wide)?, wide) {
                (Some(found), _) => break found,
                (None, 0) => return Ok(Found { breaks: None, holds_ppm: Some(PPM_MAX) }),
                (None, _) => wide /= 4,
            }
        };
        let mut holds = 0;
        if breaks.ppm > 0 {
            if let Some(found) = try_at(0)? {
                breaks = found;
            }
        }
        if breaks.ppm == 0 {
            return Ok(Found { breaks: Some(breaks), holds_ppm: None });
        }
        while breaks.ppm - holds > 1 {
            let middle = holds + (breaks.ppm - holds) / 2;
            match try_at(middle)? {
                Some(found) => breaks = found,
                None => holds = middle,
            }
        }
        Ok(Found { breaks: Some(breaks), holds_ppm: Some(holds) })
    }

    fn first_break(&self, ppm: u64, before: Option<u64>) -> Result<Option<Break>, Failed> {
        let params = Params { clock_drift_ppm: ppm, ..self.params.clone() };
        let Bisect { registry, scenario, protocol, jobs, .. } = *self;
        let seen = Probe { registry, scenario, protocol, seeds: self.seeds.clone(), jobs }.at(&params, before)?;
        Ok(match seen {
            Seen::Violated(Violation { seed, violated }) => Some(Break { ppm, seed, violated }),
            Seen::Held(_) => None,
        })
    }
}
