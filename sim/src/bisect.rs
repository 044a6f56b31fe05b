//! Finds the smallest clock drift that breaks a scenario, by bisection.

use crate::{
    error::Failed,
    interrupt,
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

/// The result of a search. If it was interrupted, the true edge lies between the two drifts.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Found {
    /// The smallest drift that breaks; `None` if none that was tried does.
    pub breaks: Option<Break>,
    /// The largest smaller drift at which every seed was safe, in parts per million; `None` if it breaks without drift,
    /// or if an interrupted search tried no smaller one.
    pub holds_ppm: Option<u64>,
    /// How many drifts were tried until the search was interrupted; `None` if it came to its end.
    pub interrupted_after: Option<u64>,
}

impl Bisect<'_> {
    /// Searches from no drift to the largest that plans allow, and passes every drift tried to `tried`. If the program
    /// is asked to end, returns what was found by then.
    ///
    /// # Errors
    /// The parameters make no sense, a run could not be finished, or the search ended before one drift was tried.
    pub fn search(&self, tried: impl Fn(u64, Option<&Break>)) -> Result<Found, Failed> {
        let (mut found, mut drifts) = (Found::default(), 0);
        match self.narrow(&mut found, |ppm, breaks| {
            drifts += 1;
            tried(ppm, breaks);
        }) {
            Err(_) if interrupt::asked() && drifts > 0 => found.interrupted_after = Some(drifts),
            ended => ended?,
        }
        Ok(found)
    }

    /// Narrows the edge down in `found`.
    fn narrow(&self, found: &mut Found, mut tried: impl FnMut(u64, Option<&Break>)) -> Result<(), Failed> {
        let mut before = None;
        let mut try_at = |ppm| {
            let seen = self.first_break(ppm, before)?;
            tried(ppm, seen.as_ref());
            before = seen.as_ref().map(|b| b.seed).or(before);
            Ok::<_, Failed>(seen)
        };
        // With clocks far off, nobody may lead, and nothing breaks; a smaller drift may still break.
        let mut wide = PPM_MAX;
        found.breaks = loop {
            match try_at(wide)? {
                None if wide > 0 => wide /= 4,
                seen => break seen,
            }
        };
        if found.breaks.is_none() {
            found.holds_ppm = Some(PPM_MAX);
        }
        if wide > 0 {
            match try_at(0)? {
                None => found.holds_ppm = Some(0),
                seen => found.breaks = seen,
            }
        }
        while let (Some(breaks), Some(holds)) = (&found.breaks, found.holds_ppm) {
            if breaks.ppm - holds <= 1 {
                break;
            }
            let middle = holds + (breaks.ppm - holds) / 2;
            match try_at(middle)? {
                None => found.holds_ppm = Some(middle),
                seen => found.breaks = seen,
            }
        }
        Ok(())
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
