//! Is a setting safe under a hazard, by what margin, and what breaks first?
//!
//! Two answers side by side: what the protocol's timers say ([`scenarios::clearance`]), and what runs show. Runs are made at
//! the value that was asked for, and then to find the lowest value at which somebody takes over, two believe, or a stale write
//! takes effect where the store compares nothing.

mod answer;
mod hazard;
mod search;

pub use answer::{Answer, Assessment, Why};
pub use hazard::{Along, Hazards};
pub use search::{Edge, Event};

use crate::{
    error::Failed,
    registry::Registry,
    run::{self, Options},
    seeds,
};
use protocols::{election::Protocol, fence::checks::Fencing};
use reports::Verdict;
use scenarios::Params;

/// Seeds at the value that was asked for, and at the largest one.
pub const SEEDS: u64 = 12;

/// What is assessed.
#[derive(Clone)]
pub struct Case<'a> {
    /// What runs it.
    pub registry: &'a Registry,
    /// The protocol.
    pub protocol: &'static Protocol,
    /// Its timers, and everything else but the hazards.
    pub params: &'a Params,
    /// What may go wrong.
    pub hazards: Hazards,
    /// Runs at a time.
    pub jobs: usize,
}

/// What a run came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// Did what was planned happen?
    pub struck: bool,
    /// How long after it somebody else, or the same node anew, took effect, milliseconds.
    pub takeover_ms: Option<f64>,
    /// Did two nodes believe to lead at one time?
    pub two_believed: bool,
    /// For how long two believed and ran, milliseconds.
    pub awake_ms: f64,
    /// Writes that the store refused for their token.
    pub refused: u64,
    /// The invariants of safety that it violates.
    pub violated: Vec<&'static str>,
    /// Did nobody lead for longer than the liveness bound?
    pub unled: bool,
    /// Time in which nobody took effect, milliseconds.
    pub dark_ms: f64,
}

impl Outcome {
    /// Did leadership change?
    pub fn took_over(&self) -> bool {
        self.takeover_ms.is_some() || self.two_believed || !self.violated.is_empty()
    }
}

impl Case<'_> {
    /// What margins are measured along; a pause where nothing was given.
    pub fn along(&self) -> Along {
        self.hazards.first().map_or(Along::Pause, |(along, _)| along)
    }

    /// The value of that which was asked for.
    pub fn asked(&self) -> u64 {
        self.hazards.first().map_or(0, |(_, value)| value)
    }

    /// The parameters of its runs with another value of it.
    pub fn with(&self, value: u64) -> Params {
        self.at(value).hazards.params(self.params)
    }

    /// With another value of it.
    fn at(&self, value: u64) -> Self {
        Case { hazards: self.hazards.with(self.along(), value), ..self.clone() }
    }

    /// One run.
    ///
    /// # Errors
    /// The parameters make no sense, or the run could not be finished.
    pub fn one(&self, fencing: Fencing, seed: u64) -> Result<Outcome, Failed> {
        let plan = self.plan(fencing, seed)?;
        let run = run::run(&plan, Options { registry: self.registry.clone(), ..Options::default() })?;
        let metrics = &run.judgement.metrics;
        let is_unsafe = run.judgement.verdict == Verdict::Safety;
        Ok(Outcome {
            seed,
            struck: run.faults > 0,
            takeover_ms: metrics.failover_ms.first().copied(),
            two_believed: metrics.leaders_believing_max > 1,
            awake_ms: metrics.dual_belief_awake_ms,
            refused: metrics.writes_fenced,
            violated: run.judgement.violated().filter(|name| is_unsafe && *name != "vacuity").collect(),
            unled: run.judgement.verdict == Verdict::Liveness,
            dark_ms: metrics.dark_ms.unwrap_or(0.0),
        })
    }

    /// A run of each of so many seeds.
    ///
    /// # Errors
    /// As [`Case::one`].
    pub fn several(&self, fencing: Fencing, number: u64) -> Result<Vec<Outcome>, Failed> {
        seeds::each(0..number, self.jobs, |seed| self.one(fencing, seed), || {})
    }
}
