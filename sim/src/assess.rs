//! Is a setting safe under a hazard, by what margin, and what breaks first?
//!
//! Combines two answers: what the protocol's timers say ([`scenarios::clearance`]) and what runs show. Runs are made at
//! the value asked for, and then to find the lowest value at which a takeover, a dual belief, or a stale write happens
//! while the store checks nothing.

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

/// The number of seeds at the value asked for, and at the largest one.
pub const SEEDS: u64 = 12;

/// The question.
#[derive(Clone)]
pub struct Case<'a> {
    pub registry: &'a Registry,
    pub protocol: &'static Protocol,
    /// The timers, and everything else except the hazards.
    pub params: &'a Params,
    pub hazards: Hazards,
    /// The number of parallel runs.
    pub jobs: usize,
}

/// The result of one run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    pub seed: u64,
    /// Whether the planned fault struck.
    pub struck: bool,
    /// How long after the fault another node, or the same one again, took effect, in milliseconds.
    pub takeover_ms: Option<f64>,
    /// Whether two nodes believed at once.
    pub two_believed: bool,
    /// How long two nodes believed while running, in milliseconds.
    pub awake_ms: f64,
    /// The number of writes that the store refused for their token.
    pub refused: u64,
    /// The safety invariants violated.
    pub violated: Vec<&'static str>,
    /// Whether nobody led for longer than the liveness bound.
    pub unled: bool,
    /// The time without a leader in effect, in milliseconds.
    pub dark_ms: f64,
}

impl Outcome {
    /// Whether leadership changed.
    pub fn took_over(&self) -> bool {
        self.takeover_ms.is_some() || self.two_believed || !self.violated.is_empty()
    }
}

impl Case<'_> {
    /// The hazard along which margins are measured; a pause if none is given.
    pub fn along(&self) -> Along {
        self.hazards.first().map_or(Along::Pause, |(along, _)| along)
    }

    /// The value asked for.
    pub fn asked(&self) -> u64 {
        self.hazards.first().map_or(0, |(_, value)| value)
    }

    /// The parameters of runs at another value.
    pub fn with(&self, value: u64) -> Params {
        self.at(value).hazards.params(self.params)
    }

    /// The same case at another value.
    fn at(&self, value: u64) -> Self {
        Case { hazards: self.hazards.with(self.along(), value), ..self.clone() }
    }

    /// Makes one run.
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

    /// Makes a run of each of the first `number` seeds.
    ///
    /// # Errors
    /// As [`Case::one`].
    pub fn several(&self, fencing: Fencing, number: u64) -> Result<Vec<Outcome>, Failed> {
        seeds::each(0..number, self.jobs, |seed| self.one(fencing, seed), || {})
    }

    /// Makes a run of each seed, or of as many as end before the program is asked to.
    fn so_far(&self, fencing: Fencing) -> Result<Vec<Outcome>, Failed> {
        seeds::so_far(0..SEEDS, self.jobs, |seed| self.one(fencing, seed), || {})
    }
}
