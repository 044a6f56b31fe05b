//! Searches for the lowest value of a hazard at which an event happens, over some seeds.
//!
//! Every seed first runs at the largest value, which measures how long the others waited. The lowest value is almost
//! surely that of one of the few seeds in which the event came soonest, so only these are examined: the first is
//! bisected, then those of the others that show the event below its result.

use super::{Along, Case, Outcome};
use crate::{error::Failed, interrupt, seeds};
use protocols::fence::checks::Fencing;
use std::collections::BTreeMap;

/// The number of seeds examined below the largest value.
const BISECTED: usize = 3;
/// Values are resolved to this fraction of the largest one.
const PARTS: u64 = 1_000;
/// The search first looks this close to the takeover time seen at the largest value, as a fraction of that value.
const NEAR: u64 = 32;
/// Clocks or packets that are far too slow may let nobody lead, which hides all other events: then the value is
/// quartered at most this many times.
const QUARTERS: u32 = 6;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Event {
    Takeover,
    /// Two nodes believe at once.
    TwoBelieve,
    /// A stale write takes effect, or another safety invariant is violated, while the store checks nothing.
    Violation,
    /// Nobody leads in time.
    Unled,
}

impl Event {
    /// All events, in the order in which they happen.
    pub const ALL: [Event; 4] = [Event::Takeover, Event::TwoBelieve, Event::Violation, Event::Unled];

    /// Whether `outcome` shows the event.
    pub fn is_in(self, outcome: &Outcome) -> bool {
        match self {
            Event::Takeover => outcome.took_over(),
            Event::TwoBelieve => outcome.two_believed,
            Event::Violation => !outcome.violated.is_empty(),
            Event::Unled => outcome.unled || !outcome.struck,
        }
    }
}

/// The lowest value at which an event happens.
#[derive(Clone, PartialEq, Debug)]
pub struct Edge {
    pub at: u64,
    /// The first seed that shows the event at this value.
    pub seed: u64,
    pub outcome: Outcome,
}

/// The result of a search.
pub(super) struct Found {
    /// By event, in the order of [`Event::ALL`].
    pub edges: Vec<Option<Edge>>,
    /// All seeds at the largest value.
    pub at_most: Vec<Outcome>,
    /// The number of runs made.
    pub runs: u64,
}

/// The runs of one seed, by value.
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

    /// The lowest value at which `event` happens, if it happens at `most`. If another seed shows it at `known`, only a
    /// lower value counts, by at least the resolution. If interrupted, the lowest value so far.
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
        while high - low > step && !interrupt::asked() {
            let middle = low + (high - low) / 2;
            let seen = self.look(middle)?;
            if event.is_in(&seen) { (high, at_high) = (middle, seen) } else { low = middle }
        }
        Ok(Some(Edge { at: high, seed: self.seed, outcome: at_high }))
    }
}

/// No edge instead of the failure of a run that was abandoned because the program was asked to end.
fn unless_interrupted(edge: Result<Option<Edge>, Failed>) -> Result<Option<Edge>, Failed> {
    if interrupt::asked() { Ok(edge.unwrap_or(None)) } else { edge }
}

impl Case<'_> {
    /// Fencing for the search: a store that checks tokens would hide the events, so its checks are off.
    fn search_fencing(&self) -> Fencing {
        if self.compares() { Fencing::Off } else { self.params.fencing }
    }

    /// Searches with the store's checks off; `asked` are the runs at the value asked for, and `seen` gets those at the
    /// largest value. If interrupted, returns what was found by then.
    pub(super) fn search(&self, asked: &[Outcome], seen: impl Fn(u64, Fencing, &[Outcome])) -> Result<Found, Failed> {
        let most = self.most();
        let at_most = self.at(most).so_far(self.search_fencing())?;
        if interrupt::asked() {
            let runs = at_most.len() as u64;
            return Ok(Found { edges: Event::ALL.map(|_| None).into(), at_most, runs });
        }
        seen(most, self.search_fencing(), &at_most);
        let mut soonest: Vec<&Outcome> = at_most.iter().collect();
        let when = |outcome: &Outcome| outcome.takeover_ms.unwrap_or(f64::INFINITY);
        soonest.sort_by(|a, b| when(a).total_cmp(&when(b)));
        soonest.truncate(BISECTED);
        let bisected = |place: u64, known: &[Option<Edge>]| {
            let outcome = soonest[place as usize];
            let seen = BTreeMap::from([(most, outcome.clone())]);
            let mut seed = Seed { case: self, seed: outcome.seed, seen };
            let edges = Event::ALL.iter().zip(known).map(|(event, known)| seed.lowest(*event, most, known.as_ref()));
            let edges = edges.map(unless_interrupted).collect::<Result<Vec<_>, Failed>>()?;
            Ok::<_, Failed>((edges, seed.seen.len() as u64 - 1))
        };
        let first = bisected(0, &Event::ALL.map(|_| None))?;
        let others = seeds::so_far(1..soonest.len() as u64, self.jobs, |place| bisected(place, &first.0), || {})?;
        let bisected: Vec<_> = [first].into_iter().chain(others).collect();
        let mut runs = at_most.len() as u64 + bisected.iter().map(|(_, runs)| runs).sum::<u64>();
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

    /// Finds the lowest value of a seed that shows the event at the value asked for, when none of the examined seeds
    /// does.
    fn below_asked(&self, event: Event, shown: &Outcome, edge: &mut Option<Edge>) -> Result<u64, Failed> {
        let mut seed = Seed { case: self, seed: shown.seed, seen: BTreeMap::new() };
        let asked = Edge { at: self.asked(), seed: shown.seed, outcome: shown.clone() };
        let lower = unless_interrupted(seed.lowest(event, self.asked(), None))?;
        *edge = Some(lower.unwrap_or(asked));
        Ok(seed.seen.len() as u64)
    }
}
