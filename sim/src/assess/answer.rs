//! What follows from the timers and the runs together.

use super::{Along, Case, Edge, Event, Outcome, SEEDS, search::Found};
use crate::error::Failed;
use protocols::{election::Promise, fence::checks::Fencing};
use scenarios::{clearance, scenario};

/// Is it safe?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// No two leaders take effect.
    Safe,
    /// Two do.
    NotSafe,
    /// Neither was shown.
    Unknown,
}

/// Why that is the answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Why {
    /// A run violates safety at this value, which is not above the one asked for.
    Violated {
        /// The value.
        at: u64,
        /// The seed that does.
        seed: u64,
    },
    /// It ends before anybody can take over, by the timers.
    NobodyTakesOver,
    /// The holder keeps what it holds however long its process stops.
    Outlasts,
    /// The store refuses what a former leader writes.
    Refused,
    /// A leader that cannot renew stops believing before another can be elected, so much earlier, milliseconds.
    StopsInTime(f64),
    /// The protocol promises it of whatever happens to its leader, without the store's help.
    Promised,
    /// Nobody took over at this value, nor at twice that, and the timers say nothing.
    FarFromEdge,
    /// What was planned happened in no run: nobody led.
    NothingStruck,
    /// The timers do not exclude it, and no run shows it.
    NotExcluded,
}

/// A setting under a hazard.
#[derive(Clone, PartialEq, Debug)]
pub struct Assessment {
    /// The answer.
    pub answer: Answer,
    /// Why.
    pub why: Why,
    /// What the timers say.
    pub clearance: clearance::Clearance,
    /// By how much a leader that cannot renew stops believing before another can be elected, milliseconds; negative: for how long
    /// two may believe. `None`: without a bound.
    pub belief_ms: Option<f64>,
    /// The largest drift of clocks at which two cannot believe after a cut, parts per million; `None`: they can with perfect ones.
    pub drift_ppm: Option<u64>,
    /// Runs at the value that was asked for, with what the store compares.
    pub asked: Vec<Outcome>,
    /// The lowest values at which something happens where the store compares nothing, in the order of [`Event::ALL`].
    pub edges: Vec<Option<Edge>>,
    /// Runs at the largest value that was looked at, where the store compares nothing.
    pub at_most: Vec<Outcome>,
    /// That value.
    pub most: u64,
    /// All runs that were made.
    pub runs: u64,
}

impl Assessment {
    /// The lowest value at which that happens.
    pub fn edge(&self, event: Event) -> Option<&Edge> {
        let place = Event::ALL.iter().position(|other| *other == event)?;
        self.edges.get(place)?.as_ref()
    }

    /// The longest that nobody took effect after the hazard struck, in the runs of the value asked for, milliseconds.
    pub fn takeover_ms(&self) -> Option<f64> {
        self.asked.iter().filter_map(|outcome| outcome.takeover_ms).max_by(f64::total_cmp)
    }
}

impl Case<'_> {
    /// Does the store keep a former leader's writes out?
    pub fn compares(&self) -> bool {
        self.protocol.tokened && matches!(self.params.fencing, Fencing::On | Fencing::Token)
    }

    /// Assesses.
    ///
    /// # Errors
    /// The parameters make no sense, or a run could not be finished; in one sentence.
    pub fn assess(&self) -> Result<Assessment, Failed> {
        let params = self.hazards.params(self.params);
        // Of a leader that is cut off and does not sleep.
        let cut = Case { hazards: super::Hazards { pause_ms: None, ..self.hazards }, ..self.clone() };
        let cut = cut.plan(Fencing::Off, 0)?;
        let asked = self.several(self.params.fencing, SEEDS)?;
        let Found { edges, at_most, runs } = self.search(&asked)?;
        let mut assessment = Assessment {
            answer: Answer::Unknown,
            why: Why::NotExcluded,
            clearance: clearance::of(&params, self.protocol),
            belief_ms: clearance::belief_ms(&cut, self.protocol, params.clock_drift_ppm),
            drift_ppm: clearance::drift_ppm(&cut, self.protocol),
            asked,
            edges,
            at_most,
            most: self.most(),
            runs: runs + SEEDS,
        };
        (assessment.answer, assessment.why) = self.answer(&assessment)?;
        Ok(assessment)
    }

    fn answer(&self, seen: &Assessment) -> Result<(Answer, Why), Failed> {
        let value = self.asked();
        if let Some(outcome) = seen.asked.iter().find(|outcome| !outcome.violated.is_empty()) {
            return Ok((Answer::NotSafe, Why::Violated { at: value, seed: outcome.seed }));
        }
        // A hazard of so much is one of up to so much.
        let without = !self.compares();
        if let Some(edge) = seen.edge(Event::Violation).filter(|edge| without && edge.at <= value) {
            return Ok((Answer::NotSafe, Why::Violated { at: edge.at, seed: edge.seed }));
        }
        if !seen.asked.iter().any(|outcome| outcome.struck) {
            return Ok((Answer::Unknown, Why::NothingStruck));
        }
        let ends_in_time = match self.along() {
            Along::Pause if self.hazards.cut_ms.is_none() => seen.clearance.pause_ms,
            Along::Cut => seen.clearance.cut_ms,
            _ => None,
        };
        let none_took_over = seen.asked.iter().all(|outcome| !outcome.took_over());
        if none_took_over && ends_in_time.is_some_and(|most_ms| value as f64 <= most_ms) {
            return Ok((Answer::Safe, Why::NobodyTakesOver));
        }
        if none_took_over && self.protocol.service.outlasts_pauses && self.along() == Along::Pause {
            return Ok((Answer::Safe, Why::Outlasts));
        }
        if scenario::promise(self.scenario()?, self.protocol, &self.promised_params()) == Promise::Holds {
            let why = if self.compares() { Why::Refused } else { Why::Promised };
            return Ok((Answer::Safe, why));
        }
        // What is sent just before the belief ends is to arrive before another is elected. A network that loses packets may
        // bring it long after.
        let network = self.hazards.params(self.params).network();
        let trip_ms = network.one_way_max_us() as f64 / 1e3;
        let late = network.loss > 0.0 || network.bandwidth_mbps > 0;
        if let Some(ms) = seen.belief_ms.filter(|ms| *ms >= trip_ms && !late && self.hazards.pause_ms.is_none()) {
            return Ok((Answer::Safe, Why::StopsInTime(ms)));
        }
        let far = |event| seen.edge(event).is_none_or(|edge| edge.at >= 2 * value);
        let clear = none_took_over && far(Event::Takeover) && far(Event::Violation) && ends_in_time.is_none();
        let length = matches!(self.along(), Along::Pause | Along::Cut);
        if clear && length && seen.edge(Event::Takeover).is_some() {
            // Runs alone prove nothing, however far from the edge they are.
            return Ok((Answer::Unknown, Why::FarFromEdge));
        }
        Ok((Answer::Unknown, Why::NotExcluded))
    }

    /// The parameters that promises go by: a pause is one whatever its length.
    fn promised_params(&self) -> scenarios::Params {
        scenarios::Params { pause_ms: None, ..self.hazards.params(self.params) }
    }
}
