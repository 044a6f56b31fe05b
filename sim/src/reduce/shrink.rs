//! The smallest plan with the same failure.
//!
//! Works on the plan's JSON, so that every field takes part, including future ones. A smaller plan has fewer faults and
//! candidates and smaller numbers, as in [`scenarios::generate`]. Five moves repeat until none changes anything:
//! shorten lists, drop fields, set `true` to `false`, set numbers to 0 or the smallest round number that works, and cut
//! long numbers to fewer digits. Changes that make runs cheaper come first, and a change that gives no valid plan costs
//! no run. Every move makes the plan smaller, so the search ends; nothing is drawn, so the result is reproducible.
//!
//! Source: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 28(2), 2002, for lists.

mod places;

use super::symptom::{Looked, Symptom};
use crate::{
    error::Failed,
    interrupt,
    registry::Registry,
    run::{self, Options},
};
use scenarios::plan::Plan;
use serde_json::Value;
use std::collections::BTreeSet;

/// Why the search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// No smaller plan that was tried fails the same way.
    Smallest,
    /// The budget of runs is used up.
    Budget,
    /// It was asked to end.
    Interrupted,
}

/// The smallest plan found.
#[derive(Clone, PartialEq, Debug)]
pub struct Shrunk {
    pub plan: Plan,
    /// How it fails, the same way as the original plan.
    pub symptom: Symptom,
    /// The number of runs made, the first included.
    pub runs: u64,
    pub ending: Ending,
}

/// Shrinks `plan`, which is valid in the registry, in at most `budget` runs. Passes to `told`, after each run, the
/// number of runs and the smallest plan so far. If interrupted, returns what it has.
///
/// # Errors
/// The plan itself could not be run.
pub fn shrink(
    plan: &Plan,
    registry: &Registry,
    runs_max: u64,
    told: impl FnMut(u64, &Plan),
) -> Result<Looked<Shrunk>, Failed> {
    let run = run::run(plan, Options { registry: registry.clone(), ..Options::default() })?;
    let Some(symptom) = Symptom::of(&run.judgement) else { return Ok(Looked::Holds(run.judgement.verdict)) };
    let value = serde_json::to_value(plan).map_err(|e| Failed::Harness(e.to_string()))?;
    let tried = BTreeSet::from([plan.digest()]);
    let mut shrinker = Shrinker { registry, symptom, plan: plan.clone(), value, tried, runs: 1, runs_max, told };
    while !shrinker.is_over() {
        let before = shrinker.plan.clone();
        shrinker.round();
        if shrinker.plan == before {
            break;
        }
    }
    let ending = match () {
        () if interrupt::asked() => Ending::Interrupted,
        () if shrinker.is_over() => Ending::Budget,
        () => Ending::Smallest,
    };
    let Shrinker { plan, symptom, runs, .. } = shrinker;
    Ok(Looked::Failed(Shrunk { plan, symptom, runs, ending }))
}

/// A plan being shrunk.
struct Shrinker<'a, T> {
    registry: &'a Registry,
    symptom: Symptom,
    plan: Plan,
    /// The plan as JSON.
    value: Value,
    /// The digests of the plans tried.
    tried: BTreeSet<String>,
    runs: u64,
    runs_max: u64,
    told: T,
}

/// What decides how long a run takes, in the order in which it is reduced.
const DEAR: [&str; 4] = ["/groups", "/load/rate", "/load/reads_per_s", "/duration_ms"];

impl<T: FnMut(u64, &Plan)> Shrinker<'_, T> {
    fn is_over(&self) -> bool {
        self.runs >= self.runs_max || interrupt::asked()
    }

    /// Makes every move once.
    fn round(&mut self) {
        self.shorter("/faults");
        DEAR.iter().for_each(|place| self.smaller(place));
        places::lists(&self.value).iter().for_each(|place| self.shorter(place));
        places::fields(&self.value).iter().for_each(|place| self.without(place));
        places::flags(&self.value).iter().for_each(|place| self.off(place));
        places::numbers(&self.value).iter().for_each(|place| self.smaller(place));
    }

    /// Adopts the plan with another value at this place if it fails the same way.
    fn attempt(&mut self, place: &str, other: Value) -> bool {
        let mut value = self.value.clone();
        let Some(there) = value.pointer_mut(place) else { return false };
        *there = other;
        self.attempt_plan(value)
    }

    fn attempt_plan(&mut self, value: Value) -> bool {
        if self.is_over() {
            return false;
        }
        let Ok(plan) = serde_json::from_value::<Plan>(value) else { return false };
        if self.registry.plans.validate(&plan).is_err() || !self.tried.insert(plan.digest()) {
            return false;
        }
        self.runs += 1;
        let run = run::run(&plan, Options { registry: self.registry.clone(), ..Options::default() });
        // A failure of the harness is not the same failure.
        let same = run.is_ok_and(|run| Symptom::of(&run.judgement).as_ref() == Some(&self.symptom));
        if same {
            // The plan's own form leaves out default values.
            self.value = serde_json::to_value(&plan).unwrap_or_default();
            self.plan = plan;
        }
        (self.told)(self.runs, &self.plan);
        same
    }

    /// Shortens a list: leaves out all entries, then halves, quarters, and so on.
    fn shorter(&mut self, place: &str) {
        let list = |value: &Value| value.pointer(place).and_then(Value::as_array).cloned().unwrap_or_default();
        let mut chunk = list(&self.value).len();
        while chunk > 0 {
            let mut from = 0;
            loop {
                let mut fewer = list(&self.value);
                if from >= fewer.len() {
                    break;
                }
                fewer.drain(from..(from + chunk).min(fewer.len()));
                if !self.attempt(place, Value::Array(fewer)) {
                    from += chunk;
                }
            }
            chunk /= 2;
        }
    }

    /// Leaves out a field.
    fn without(&mut self, place: &str) {
        let mut value = self.value.clone();
        let Some((parent, field)) = place.rsplit_once('/') else { return };
        let left_out = value.pointer_mut(parent).and_then(Value::as_object_mut).and_then(|map| map.remove(field));
        if left_out.is_some() {
            self.attempt_plan(value);
        }
    }

    fn off(&mut self, place: &str) {
        self.attempt(place, Value::Bool(false));
    }

    /// Sets a number to 0, or to the smallest round number that bisection finds to work, or cuts it to fewer digits.
    fn smaller(&mut self, place: &str) {
        let number = |value: &Value| value.pointer(place).filter(|value| value.is_number()).cloned();
        let Some(was) = number(&self.value) else { return };
        let Some(zero) = places::zero(&was) else { return };
        if self.attempt(place, zero) {
            return;
        }
        let round = places::round_below(&was);
        let (mut low, mut high) = (0, round.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.attempt(place, round[middle].clone()) { high = middle } else { low = middle + 1 }
        }
        if number(&self.value).as_ref() == Some(&was) {
            let _ = places::of_fewer_digits(&was).into_iter().any(|fewer| self.attempt(place, fewer));
        }
    }
}
