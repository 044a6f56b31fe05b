//! Finds the smallest clock drift that breaks a scenario, by bisection.

use crate::{
    error::Failed,
    probe::{Probe, Seen, Violation},
    registry::Registry,
};
use protocols::election::Protocol;
use scenarios::{Params, Scenario, plan::PPM_MAX};
use std::ops::Range;

pub struct Bisect<'a> {
    pub registry: &'a Registry,
    pub scenario: &'static Scenario,
    pub protocol: &'static Protocol,
    /// The seeds to run at every drift.
    pub seeds: Range<u64>,
    /// The parameters of every run, except the drift.
    pub params: &'a Params,
    /// The number of parallel runs.
    pub jobs: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Break {
    /// In parts per million.
    pub ppm: u64,
    pub seed: u64,
    pub violated: Vec<&'static str>,
}

/// The result of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The smallest drift that breaks; `None` if none that was tried does.
    pub breaks: Option<Break>,
    /// The largest smaller drift at which every seed was safe, in parts per million; `None` if it breaks without drift.
    pub holds_ppm: Option<u64>,
}

impl Bisect<'_> {
    /// Searches from no drift to the largest that plans allow, and passes every drift tried to `tried`.
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
        // With clocks far off, nobody may lead, and nothing breaks; a smaller drift may still break.
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
