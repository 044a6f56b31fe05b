//! The smallest plan with the same failure.
//!
//! The plan is taken as JSON, so that every field that there is takes part, and so will the next. What is smaller is what
//! [`scenarios::generate`] means by it too: fewer faults and candidates, and small numbers. Five moves are made until none
//! changes anything: shorter lists, fields left out, `true` made `false`, numbers made 0 or the smallest round number that will
//! do, and long numbers cut to fewer digits. Whatever makes runs cheap comes first. A change that makes no valid plan costs no
//! run. Every move makes the plan smaller, so it ends; nothing is drawn, so the same plan gives the same.
//!
//! Source: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 28(2), 2002, for lists.

mod numbers;
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

/// Why it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// No smaller plan that was tried fails the same way.
    Smallest,
    /// All runs that it was given are used up.
    Budget,
    /// It was asked to end.
    Interrupted,
}

/// The smallest plan that was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Shrunk {
    /// The plan.
    pub plan: Plan,
    /// How it fails, as the plan that it was made of does.
    pub symptom: Symptom,
    /// How many runs that took, the first included.
    pub runs: u64,
    /// Why it ended.
    pub ending: Ending,
}

/// Shrinks `plan`, which is valid in the registry, with at most so many runs, and tells `told` of each: how many there were, and
/// the smallest plan so far. Interrupted, it gives what it has.
///
/// # Errors
/// The plan itself could not be run: one sentence.
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

/// A plan that is being shrunk.
struct Shrinker<'a, T> {
    registry: &'a Registry,
    symptom: Symptom,
    plan: Plan,
    /// The same as JSON.
    value: Value,
    /// The digests of the plans that were tried.
    tried: BTreeSet<String>,
    runs: u64,
    runs_max: u64,
    told: T,
}

/// What decides how long a run takes, in the order in which it is made small.
const DEAR: [&str; 4] = ["/groups", "/load/rate", "/load/reads_per_s", "/duration_ms"];

impl<T: FnMut(u64, &Plan)> Shrinker<'_, T> {
    fn is_over(&self) -> bool {
        self.runs >= self.runs_max || interrupt::asked()
    }

    /// Every move once.
    fn round(&mut self) {
        self.shorter("/faults");
        DEAR.iter().for_each(|place| self.smaller(place));
        places::lists(&self.value).iter().for_each(|place| self.shorter(place));
        places::fields(&self.value).iter().for_each(|place| self.without(place));
        places::flags(&self.value).iter().for_each(|place| self.off(place));
        places::numbers(&self.value).iter().for_each(|place| self.smaller(place));
    }

    /// Takes the plan with another value in this place, if it fails the same way.
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
        // A plan under which the harness fails does not fail the same way.
        let same = run.is_ok_and(|run| Symptom::of(&run.judgement).as_ref() == Some(&self.symptom));
        if same {
            // As the plan writes itself: what is left at its default is left out.
            self.value = serde_json::to_value(&plan).unwrap_or_default();
            self.plan = plan;
        }
        (self.told)(self.runs, &self.plan);
        same
    }

    /// A list with fewer entries: without all of them, then without halves, quarters, and so on.
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

    /// The plan without a field.
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

    /// A number made 0, or else the smallest round one that will do, as far as halving finds it; or else of fewer digits.
    fn smaller(&mut self, place: &str) {
        let number = |value: &Value| value.pointer(place).filter(|value| value.is_number()).cloned();
        let Some(was) = number(&self.value) else { return };
        let Some(zero) = numbers::zero(&was) else { return };
        if self.attempt(place, zero) {
            return;
        }
        let round = numbers::round_below(&was);
        let (mut low, mut high) = (0, round.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.attempt(place, round[middle].clone()) { high = middle } else { low = middle + 1 }
        }
        if number(&self.value).as_ref() == Some(&was) {
            let _ = numbers::of_fewer_digits(&was).into_iter().any(|fewer| self.attempt(place, fewer));
        }
    }
}
