//! The lowest value of a hazard at which something happens, over some seeds.
//!
//! Every seed runs at the largest value first. The few in which it happened soonest are looked at, since the lowest value is one
//! of theirs, or nearly: what a run of the largest value measures is how long the others waited. The first of them is bisected,
//! and then those of the others that show the event below that.

use super::{Along, Case, Outcome, SEEDS};
use crate::{error::Failed, seeds};
use protocols::fence::checks::Fencing;
use std::collections::BTreeMap;

/// Seeds that are looked at below the largest value.
const BISECTED: usize = 3;
/// Values are told apart to this part of the largest one.
const PARTS: u64 = 1_000;
/// What is soonest at the largest value is looked for so near to it first: this part of the largest value.
const NEAR: u64 = 32;
/// Clocks and packets that are far too wrong may let nobody lead, and then nothing else happens: so many times a quarter of the
/// value is tried.
const QUARTERS: u32 = 6;

/// What may happen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Event {
    /// Leadership changes.
    Takeover,
    /// Two nodes believe to lead at one time.
    TwoBelieve,
    /// A stale write takes effect, or another invariant of safety is violated, as the store compares nothing.
    Violation,
    /// Nobody leads in time.
    Unled,
}

impl Event {
    /// All of them, in the order in which they happen.
    pub const ALL: [Event; 4] = [Event::Takeover, Event::TwoBelieve, Event::Violation, Event::Unled];

    /// Has it happened?
    pub fn is_in(self, outcome: &Outcome) -> bool {
        match self {
            Event::Takeover => outcome.took_over(),
            Event::TwoBelieve => outcome.two_believed,
            Event::Violation => !outcome.violated.is_empty(),
            Event::Unled => outcome.unled || !outcome.struck,
        }
    }
}

/// The lowest value at which a seed shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct Edge {
    /// The value.
    pub at: u64,
    /// The first of the seeds that show it there.
    pub seed: u64,
    /// What that run came to.
    pub outcome: Outcome,
}

/// What was found, and in how many runs.
pub(super) struct Found {
    /// Of each event, in the order of [`Event::ALL`].
    pub edges: Vec<Option<Edge>>,
    /// All seeds, at the largest value.
    pub at_most: Vec<Outcome>,
    /// Runs that were made.
    pub runs: u64,
}

/// One seed's runs.
struct Seed<'a, 'b> {
    case: &'a Case<'b>,
    seed: u64,
    seen: BTreeMap<u64, Outcome>,
}

impl Seed<'_, '_> {
    fn look(&mut self, value: u64) -> Result<Outcome, Failed> {
        if let Some(seen) = self.seen.get(&value) {
            return Ok(seen.clone());
        }
        let outcome = self.case.at(value).one(self.case.search_fencing(), self.seed)?;
        self.seen.insert(value, outcome.clone());
        Ok(outcome)
    }

    /// The lowest value at which it happens, if it does at `most`; only one below `known` by what values are told apart by, if
    /// another seed shows it there.
    fn lowest(&mut self, event: Event, most: u64, known: Option<&Edge>) -> Result<Option<Edge>, Failed> {
        let (step, near) = ((most / PARTS).max(1), (most / NEAR).max(1));
        let mut high = known.map_or(most, |edge| edge.at.saturating_sub(step));
        if high == 0 {
            return Ok(None);
        }
        let mut at_high = self.look(high)?;
        if known.is_some() && !event.is_in(&at_high) {
            return Ok(None);
        }
        let mut quarters = 0;
        while !event.is_in(&at_high) {
            let clocks = !matches!(self.case.along(), Along::Pause | Along::Cut);
            if !clocks || quarters == QUARTERS || high < 4 {
                return Ok(None);
            }
            (high, quarters) = (high / 4, quarters + 1);
            at_high = self.look(high)?;
        }
        let mut low = 0;
        let soonest = at_high.takeover_ms.map(|ms| ms as u64).filter(|_| self.case.along() == Along::Pause);
        for guess in soonest.into_iter().flat_map(|ms| [ms.saturating_sub(near), ms + near]) {
            if guess > low && guess < high {
                let seen = self.look(guess)?;
                if event.is_in(&seen) { (high, at_high) = (guess, seen) } else { low = guess }
            }
        }
        while high - low > step {
            let middle = low + (high - low) / 2;
            let seen = self.look(middle)?;
            if event.is_in(&seen) { (high, at_high) = (middle, seen) } else { low = middle }
        }
        Ok(Some(Edge { at: high, seed: self.seed, outcome: at_high }))
    }
}

impl Case<'_> {
    /// A store that compares tokens hides what would happen without; any other is taken as it is.
    fn search_fencing(&self) -> Fencing {
        if self.compares() { Fencing::Off } else { self.params.fencing }
    }

    /// The lowest values, where the store compares nothing; `asked` are the runs of the value that was asked for.
    pub(super) fn search(&self, asked: &[Outcome]) -> Result<Found, Failed> {
        let most = self.most();
        let at_most = self.at(most).several(self.search_fencing(), SEEDS)?;
        let mut soonest: Vec<&Outcome> = at_most.iter().collect();
        let when = |outcome: &Outcome| outcome.takeover_ms.unwrap_or(f64::INFINITY);
        soonest.sort_by(|a, b| when(a).total_cmp(&when(b)));
        soonest.truncate(BISECTED);
        let bisected = |place: u64, known: &[Option<Edge>]| {
            let outcome = soonest[place as usize];
            let seen = BTreeMap::from([(most, outcome.clone())]);
            let mut seed = Seed { case: self, seed: outcome.seed, seen };
            let edges = Event::ALL.iter().zip(known).map(|(event, known)| seed.lowest(*event, most, known.as_ref()));
            let edges = edges.collect::<Result<Vec<_>, Failed>>()?;
            Ok::<_, Failed>((edges, seed.seen.len() as u64 - 1))
        };
        let first = bisected(0, &Event::ALL.map(|_| None))?;
        let others = seeds::each(1..soonest.len() as u64, self.jobs, |place| bisected(place, &first.0), || {})?;
        let bisected: Vec<_> = [first].into_iter().chain(others).collect();
        let mut runs = SEEDS + bisected.iter().map(|(_, runs)| runs).sum::<u64>();
        let lowest = |place: usize| {
            let of = bisected.iter().filter_map(|(edges, _)| edges[place].clone());
            of.min_by_key(|edge| (edge.at, edge.seed))
        };
        let mut edges: Vec<Option<Edge>> = (0..Event::ALL.len()).map(lowest).collect();
        for (event, edge) in Event::ALL.into_iter().zip(&mut edges) {
            let shown = asked.iter().find(|outcome| event.is_in(outcome));
            if let Some(shown) = shown.filter(|_| edge.as_ref().is_none_or(|edge| edge.at > self.asked())) {
                runs += self.below_asked(event, shown, edge)?;
            }
        }
        Ok(Found { edges, at_most, runs })
    }

    /// A run of the value that was asked for shows what none of the seeds did that were looked at: the lowest value of that seed.
    fn below_asked(&self, event: Event, shown: &Outcome, edge: &mut Option<Edge>) -> Result<u64, Failed> {
        let mut seed = Seed { case: self, seed: shown.seed, seen: BTreeMap::new() };
        let asked = Edge { at: self.asked(), seed: shown.seed, outcome: shown.clone() };
        *edge = Some(seed.lowest(event, self.asked(), None)?.unwrap_or(asked));
        Ok(seed.seen.len() as u64)
    }
}
