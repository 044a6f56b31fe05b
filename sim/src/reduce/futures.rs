//! The point of no return: a failing run is repeated up to a moment, and drawn anew from there on. The share of such
//! futures that fail, moment by moment, shows when the failure became inevitable.

use super::Symptom;
use crate::{
    error::Failed,
    interrupt, pool,
    registry::Registry,
    run::{self, Options, Run},
};
use rand_core::RngCore;
use reports::{Judgement, timeline::page::Futures};
use scenarios::{
    fault::Trigger,
    plan::{Branch, Plan},
    streams,
};
use serde::Serialize;

/// At how many moments a run is branched at most.
const MOMENTS: usize = 20;
/// At how many if the share hardly changes.
const FLAT: usize = 8;
/// How many futures of a sweep's failure are drawn at each moment.
const IN_SWEEP: u32 = 20;
/// Moments are not closer than this, microseconds.
const CLOSEST_US: u64 = 1_000;
/// Neighbouring moments whose shares differ by at most one in this many are alike.
const ALIKE: u32 = 20;

/// How many of a run's futures fail from one moment on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Moment {
    pub at_us: u64,
    pub failed: u32,
}

/// A failing run's moments, in order, and how many of its futures fail from each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Curve {
    pub moments: Vec<Moment>,
    /// The number of futures drawn at each moment.
    pub futures: u32,
}

impl Curve {
    /// When the failure became inevitable, in a sentence.
    pub fn sentence(&self) -> String {
        let futures = self.futures;
        let many = |failed: u32| match failed {
            0 => format!("none of {futures} futures fails"),
            1 => format!("1 of {futures} futures fails"),
            failed => format!("{failed} of {futures} futures fail"),
        };
        match self.no_return() {
            Some((Some(before), first)) => format!(
                "Until {}, {} this way; from {} on, all of them do.",
                seconds(before.at_us),
                many(before.failed),
                seconds(first.at_us)
            ),
            Some((None, first)) => {
                let from = if first.at_us == 0 { "the start".to_owned() } else { seconds(first.at_us) };
                format!(
                    "All of {futures} futures fail this way from {from} on: as far as they show, the plan alone decides it."
                )
            }
            None => {
                let last = self.moments.last().map_or(0, |moment| moment.failed);
                format!("There is no such point: {} this way even from the last moment on.", many(last))
            }
        }
    }

    /// The curve as a page draws it.
    pub fn drawn(&self) -> Futures {
        let moments = self.moments.iter().map(|moment| (moment.at_us, moment.failed)).collect();
        Futures { drawn: self.futures, moments, words: self.sentence() }
    }

    /// The number of runs that it took.
    pub fn runs(&self) -> u64 {
        self.moments.len() as u64 * u64::from(self.futures)
    }

    /// The earliest moment from which on all futures fail, and the last moment before it, if any.
    pub fn no_return(&self) -> Option<(Option<Moment>, Moment)> {
        let spared = self.moments.iter().rposition(|moment| moment.failed < self.futures);
        let first = *self.moments.get(spared.map_or(0, |last| last + 1))?;
        Some((spared.map(|last| self.moments[last]), first))
    }
}

/// The same for a run, if it failed.
///
/// # Errors
/// A run could not be finished.
pub fn of_failed(run: &Run, futures: u32, registry: &Registry, jobs: usize) -> Result<Option<Curve>, Failed> {
    match Symptom::of(&run.judgement) {
        Some(symptom) => curve(&run.plan, (&symptom, &run.judgement), futures, registry, jobs),
        None => Ok(None),
    }
}

/// Adds to a failed run what its page shows of its futures. Returns a sentence to follow others, empty if it did not
/// fail.
///
/// # Errors
/// A run could not be finished.
pub fn add_to(run: &mut Run, registry: &Registry, jobs: usize) -> Result<String, Failed> {
    let curve = of_failed(run, IN_SWEEP, registry, jobs)?;
    run.futures = curve.as_ref().map(Curve::drawn);
    Ok(curve.map_or_else(String::new, |curve| format!(" {}", curve.sentence())))
}

/// Draws `futures` futures at each of some twenty moments of a run of `plan`, which failed with this symptom.
///
/// Returns `None` if the program was asked to end.
///
/// # Errors
/// A run could not be finished.
pub fn curve(
    plan: &Plan,
    (symptom, judgement): (&Symptom, &Judgement),
    futures: u32,
    registry: &Registry,
    jobs: usize,
) -> Result<Option<Curve>, Failed> {
    let end_us = plan.duration_ms * 1_000;
    let violated = judgement.invariants.iter().filter(|result| symptom.violated.contains(result.name));
    let violated = violated.filter_map(|result| result.violated_us).min();
    // A branch at the instant itself comes before what happens then.
    let last = violated.map_or(end_us, |at| (at + 1).min(end_us));
    let mut seeds = streams::stream(plan.seed, "futures");
    let seeds: Vec<u64> = (0..futures).map(|_| seeds.next_u64()).collect();
    let search = Search { plan, symptom, seeds, registry, jobs };
    let mut moments = Vec::new();
    for at_us in starts(plan, last) {
        let Some(moment) = search.at(at_us)? else { return Ok(None) };
        moments.push(moment);
    }
    while moments.len() < MOMENTS
        && let Some((place, at_us)) = next(&moments, futures)
    {
        let Some(moment) = search.at(at_us)? else { return Ok(None) };
        moments.insert(place, moment);
    }
    Ok(Some(Curve { moments, futures }))
}

/// The moments to begin with, in order: both ends, and the times of the plan's faults.
fn starts(plan: &Plan, last: u64) -> Vec<u64> {
    let faults = plan.faults.iter().filter_map(|fault| match fault.when {
        Trigger::At { ms } => Some((ms * 1e3) as u64),
        Trigger::Passage { .. } => None,
    });
    let mut starts: Vec<u64> = faults.filter(|at| (CLOSEST_US..last).contains(at)).collect();
    starts.sort_unstable();
    starts.dedup_by(|later, earlier| *later < *earlier + CLOSEST_US);
    starts.truncate(MOMENTS / 3);
    [0].into_iter().chain(starts).chain([last]).collect()
}

/// The next moment and its place: where the share changes most, or, where it hardly changes, in the longest gap. `None`
/// if more moments would show nothing: all futures fail from the start, or the changes are known to a millisecond.
fn next(moments: &[Moment], futures: u32) -> Option<(usize, u64)> {
    if moments.iter().all(|moment| moment.failed == futures) {
        return None;
    }
    let gaps = moments.windows(2).enumerate().map(|(place, pair)| {
        let change = pair[0].failed.abs_diff(pair[1].failed);
        (if change * ALIKE > futures { change } else { 0 }, pair[1].at_us - pair[0].at_us, place)
    });
    // Of equal ones, the latest: the failure is near.
    let (change, length, place) = gaps.filter(|(_, length, _)| *length >= 2 * CLOSEST_US).max()?;
    (change > 0 || moments.len() < FLAT).then(|| (place + 1, moments[place].at_us + length / 2))
}

/// A time as sentences have it.
pub fn seconds(us: u64) -> String {
    format!("{:.3} s", us as f64 / 1e6)
}

struct Search<'a> {
    plan: &'a Plan,
    symptom: &'a Symptom,
    seeds: Vec<u64>,
    registry: &'a Registry,
    jobs: usize,
}

impl Search<'_> {
    /// Counts the futures from this moment on that fail; `None` if asked to end.
    fn at(&self, at_us: u64) -> Result<Option<Moment>, Failed> {
        let (mut failed, mut seen, mut stopped) = (0, 0, None);
        let work = |place: u64| self.fails(Branch { at_us, seed: self.seeds[place as usize] });
        pool::each(self.seeds.len() as u64, self.jobs, work, |_, one| {
            seen += 1;
            match one {
                Ok(fails) => failed += u32::from(fails),
                Err(error) => stopped = Some(error),
            }
            stopped.is_none() && !interrupt::asked()
        });
        match stopped {
            Some(error) => Err(error),
            None => Ok((seen == self.seeds.len()).then_some(Moment { at_us, failed })),
        }
    }

    /// Whether the run with this branch has the symptom's verdict and violates one of its invariants.
    fn fails(&self, branch: Branch) -> Result<bool, Failed> {
        let mut plan = self.plan.clone();
        // What the plan decides otherwise later is the future, too.
        plan.branches.retain(|earlier| earlier.at_us < branch.at_us);
        plan.branches.push(branch);
        let run = run::run(&plan, Options { registry: self.registry.clone(), ..Options::default() })?;
        let symptom = Symptom::of(&run.judgement);
        Ok(symptom.is_some_and(|symptom| symptom.resembles(self.symptom)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(of: &[(u64, u32)]) -> Vec<Moment> {
        of.iter().map(|(at_us, failed)| Moment { at_us: *at_us, failed: *failed }).collect()
    }

    #[test]
    fn the_gap_with_the_largest_change_is_halved_and_a_flat_curve_where_it_is_longest() {
        let steep = moments(&[(0, 30), (8_000_000, 35), (9_000_000, 100)]);
        assert_eq!(next(&steep, 100), Some((2, 8_500_000)));
        let flat = moments(&[(0, 30), (8_000_000, 31), (9_000_000, 33)]);
        assert_eq!(next(&flat, 100), Some((1, 4_000_000)));
        assert_eq!(next(&moments(&[(0, 0), (CLOSEST_US, 100)]), 100), None);
    }

    #[test]
    fn there_is_no_return_once_no_later_moment_spares_a_future() {
        let curve = |of: &[(u64, u32)]| Curve { moments: moments(of), futures: 100 };
        let at = |curve: Curve| curve.no_return().map(|(before, first)| (before.map(|m| m.at_us), first.at_us));
        assert_eq!(at(curve(&[(0, 30), (5, 100), (6, 99), (7, 100), (9, 100)])), Some((Some(6), 7)));
        assert_eq!(at(curve(&[(0, 100), (9, 100)])), Some((None, 0)));
        assert_eq!(at(curve(&[(0, 30), (9, 99)])), None);
    }

    #[test]
    fn a_curve_says_until_when_it_could_have_ended_well() {
        let said = |of: &[(u64, u32)]| Curve { moments: moments(of), futures: 100 }.sentence();
        assert_eq!(
            said(&[(0, 31), (9_520_000, 31), (9_600_000, 100), (9_700_000, 100)]),
            "Until 9.520 s, 31 of 100 futures fail this way; from 9.600 s on, all of them do."
        );
        assert!(said(&[(0, 0), (9_600_000, 100)]).starts_with("Until 0.000 s, none of 100 futures fails"));
        assert!(said(&[(0, 100), (9_600_000, 100)]).contains("from the start on"));
        assert!(said(&[(0, 100), (9_600_000, 99)]).starts_with("There is no such point: 99 of 100"));
    }
}
