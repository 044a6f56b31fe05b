//! The answer that timers and runs together give.

use super::{Along, Case, Edge, Event, Outcome, search::Found};
use crate::{error::Failed, interrupt};
use protocols::{election::Promise, fence::checks::Fencing};
use scenarios::{clearance, scenario};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// No two leaders take effect.
    Safe,
    /// Two leaders take effect.
    NotSafe,
    /// Neither was shown.
    Unknown,
}

/// The reason for the answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Why {
    /// A run at this value, which is not above the one asked for, violates safety.
    Violated {
        at: u64,
        /// The first such seed.
        seed: u64,
    },
    /// By the timers, the hazard ends before another node can take over.
    NobodyTakesOver,
    /// The leader keeps its lock however long its process stops.
    Outlasts,
    /// The store refuses a former leader's writes.
    Refused,
    /// A leader that cannot renew stops believing this many milliseconds before another can be elected.
    StopsInTime(f64),
    /// The protocol promises safety under the hazard, without the store's help.
    Promised,
    /// Nobody took over below twice this value, and the timers do not decide.
    FarFromEdge,
    /// The planned fault struck in no run: nobody led.
    NothingStruck,
    /// The timers do not exclude a violation, and no run shows one.
    NotExcluded,
    /// The program was asked to end before the runs could decide.
    Interrupted,
}

/// The result for a setting under a hazard.
#[derive(Clone, PartialEq, Debug)]
pub struct Assessment {
    pub answer: Answer,
    pub why: Why,
    pub clearance: clearance::Clearance,
    /// How long before another election a leader that cannot renew stops believing, in milliseconds. If negative, how
    /// long two may believe; if `None`, without bound.
    pub belief_ms: Option<f64>,
    /// The largest clock drift, in parts per million, at which a cut causes no dual belief; `None` if perfect clocks do
    /// not prevent it.
    pub drift_ppm: Option<u64>,
    /// Runs at the value asked for, with the store's checks as configured.
    pub asked: Vec<Outcome>,
    /// The lowest value of each event if the store checks nothing, in the order of [`Event::ALL`].
    pub edges: Vec<Option<Edge>>,
    /// Runs at the largest value examined, with no checks in the store.
    pub at_most: Vec<Outcome>,
    /// The largest value examined.
    pub most: u64,
    /// The number of runs made.
    pub runs: u64,
    /// Whether the program was asked to end first. Then there may be fewer runs, and edges may be lower than found.
    pub interrupted: bool,
}

impl Assessment {
    /// The lowest value at which `event` happens.
    pub fn edge(&self, event: Event) -> Option<&Edge> {
        let place = Event::ALL.iter().position(|other| *other == event)?;
        self.edges.get(place)?.as_ref()
    }

    /// The longest time without a leader in effect after the hazard, in the runs at the value asked for, in
    /// milliseconds.
    pub fn takeover_ms(&self) -> Option<f64> {
        self.asked.iter().filter_map(|outcome| outcome.takeover_ms).max_by(f64::total_cmp)
    }
}

impl Case<'_> {
    /// Whether the store keeps out a former leader's writes.
    pub fn compares(&self) -> bool {
        self.protocol.tokened && matches!(self.params.fencing, Fencing::On | Fencing::Token)
    }

    /// Makes the runs and draws the conclusion, or tells what is known when the program is asked to end. `seen` gets the
    /// runs at each of the two values at which every seed runs: that asked for, and the largest.
    ///
    /// # Errors
    /// The parameters make no sense, a run could not be finished, or the program was asked to end before the first one
    /// was.
    pub fn assess(&self, seen: impl Fn(u64, Fencing, &[Outcome])) -> Result<Assessment, Failed> {
        let params = self.hazards.params(self.params);
        // The margins assume a leader that is cut off but not paused.
        let cut = Case { hazards: super::Hazards { pause_ms: None, ..self.hazards }, ..self.clone() };
        let cut = cut.plan(Fencing::Off, 0)?;
        let asked = self.so_far(self.params.fencing)?;
        if asked.is_empty() {
            return Err(Failed::Unfinished);
        }
        seen(self.asked(), self.params.fencing, &asked);
        let Found { edges, at_most, runs } = self.search(&asked, seen)?;
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
            runs,
            interrupted: interrupt::asked(),
        };
        assessment.runs += assessment.asked.len() as u64;
        (assessment.answer, assessment.why) = self.answer(&assessment)?;
        Ok(assessment)
    }

    fn answer(&self, seen: &Assessment) -> Result<(Answer, Why), Failed> {
        let value = self.asked();
        if let Some(outcome) = seen.asked.iter().find(|outcome| !outcome.violated.is_empty()) {
            return Ok((Answer::NotSafe, Why::Violated { at: value, seed: outcome.seed }));
        }
        // A hazard of a given size includes all smaller ones.
        let without = !self.compares();
        if let Some(edge) = seen.edge(Event::Violation).filter(|edge| without && edge.at <= value) {
            return Ok((Answer::NotSafe, Why::Violated { at: edge.at, seed: edge.seed }));
        }
        // Everything below follows from all runs together.
        if seen.interrupted {
            return Ok((Answer::Unknown, Why::Interrupted));
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
        // A message sent just before the belief ends must arrive before another leader is elected. A network with
        // losses or limited bandwidth may deliver it much later.
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

    /// Parameters for looking up promises, which do not depend on the length of a pause.
    fn promised_params(&self) -> scenarios::Params {
        scenarios::Params { pause_ms: None, ..self.hazards.params(self.params) }
    }
}
