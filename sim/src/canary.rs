//! Canaries: plans that must show an effect with a single cause, or the harness is blind to it. Each runs together with
//! the same plan without the cause, which must not show the effect.
//!
//! A full sweep runs them as separate cells. They make sure that every fault has its effect, even one that no scenario
//! depends on.

mod again;
mod groups;
mod node;
mod remedy;
mod sentinels;
mod services;
mod voters;
mod world;

use crate::{
    error::Failed,
    run::{self, Options, Run},
};
use protocols::election::{self, Promise, promise};
use reports::{Judgement, Metrics};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger},
    scenario,
};

/// The most seeds of each canary that a sweep runs.
pub const SEEDS_MAX: u64 = 3;

/// The prefix of the canaries' cell names.
pub const PREFIX: &str = "canary: ";

/// A plan that must show an effect, and the same plan without the cause, which must not.
pub struct Canary {
    pub name: &'static str,
    /// The invariants that must be violated every time.
    pub breaks: &'static [&'static str],
    /// The figure that must exceed its limit every time.
    pub above: Option<Above>,
    /// Whether nothing else may be violated, with the cause or without. What the plan requires must then have arisen,
    /// too.
    pub safe: bool,
    /// Invariants that must hold with the cause and without it.
    pub holds: &'static [&'static str],
    /// A figure that must not exceed its limit, with the cause or without it.
    pub at_most: Option<Above>,
    /// A figure, and the least and largest value that it may have with the cause.
    pub within: Option<(Above, f64, f64)>,
    /// The plan of a seed, with or without the cause.
    pub plan: fn(u64, bool) -> Result<Plan, Failed>,
}

/// A figure and its limit.
#[derive(Clone, Copy)]
pub struct Above {
    pub figure: &'static str,
    /// The figure of a run; 0 if it has none.
    pub of: fn(&Metrics) -> f64,
    pub than: f64,
}

impl Above {
    /// By how much the figure exceeds the limit, in a sentence; `None` if it does not.
    fn exceeded(&self, judgement: &Judgement) -> Option<String> {
        let Above { figure, of, than } = self;
        let is = of(&judgement.metrics);
        (is > *than).then(|| format!("{figure} must be at most {than}, but is {is:.2}"))
    }
}

/// The result of a canary's two runs.
pub struct Looked {
    /// The run with the cause.
    pub run: Run,
    /// The failure in one sentence, with the plan and hash of the run that shows it.
    pub wrong: Option<(String, Plan, String)>,
}

impl Canary {
    /// Runs the plan with the cause and without it.
    ///
    /// # Errors
    /// A plan makes no sense, or the harness failed.
    pub fn look(&self, seed: u64) -> Result<Looked, Failed> {
        let (with, without) = ((self.plan)(seed, true)?, (self.plan)(seed, false)?);
        let run = run::run(&with, Options::default())?;
        let control = run::run(&without, Options::default())?;
        let wrong = self.wrong(&run.judgement, &control.judgement).map(|(of_cause, why)| match of_cause {
            true => (why, with, run.trace_hash().to_owned()),
            false => (why, without, control.trace_hash().to_owned()),
        });
        Ok(Looked { run, wrong })
    }

    /// The failure of the two runs, and whether the run with the cause shows it.
    pub(crate) fn wrong(&self, with: &Judgement, without: &Judgement) -> Option<(bool, String)> {
        let missing = self.missing(with).map(|why| (true, why));
        missing.or_else(|| Some((false, format!("without the cause: {}", self.shown(without)?))))
    }

    /// What is wrong with the run with the cause.
    pub(crate) fn missing(&self, judgement: &Judgement) -> Option<String> {
        let violated = violated(judgement);
        let blind: Vec<&str> = self.breaks.iter().copied().filter(|name| !violated.contains(name)).collect();
        if !blind.is_empty() {
            return Some(format!("expected a violation of {}, got none", blind.join(", ")));
        }
        let more: Vec<&str> = violated.into_iter().filter(|name| !self.breaks.contains(name)).collect();
        if self.safe && !more.is_empty() {
            return Some(format!("violates {}", more.join(", ")));
        }
        if let Some(why) = self.spoilt(judgement) {
            return Some(why);
        }
        let is = |figure: &Above| (figure.of)(&judgement.metrics);
        if let Some((figure, least, most)) =
            self.within.filter(|(figure, least, most)| !(*least..=*most).contains(&is(figure)))
        {
            let (name, is) = (figure.figure, is(&figure));
            return Some(format!("{name} must be from {least} to {most}, but is {is:.2}"));
        }
        let above = self.above.filter(|above| is(above) <= above.than)?;
        Some(format!("{} must be above {}, but is {:.2}", above.figure, above.than, is(&above)))
    }

    /// Also requires the figure to lie in this range with the cause.
    pub(crate) fn within(self, figure: Above, least: f64, most: f64) -> Self {
        Canary { within: Some((figure, least, most)), ..self }
    }

    /// What is wrong with the run without the cause.
    pub(crate) fn shown(&self, judgement: &Judgement) -> Option<String> {
        let violated = violated(judgement);
        if (self.safe || !self.breaks.is_empty()) && !violated.is_empty() {
            return Some(format!("violates {}", violated.join(", ")));
        }
        if let Some(why) = self.spoilt(judgement) {
            return Some(why);
        }
        self.above.and_then(|limit| limit.exceeded(judgement))
    }

    /// What is wrong with either run.
    fn spoilt(&self, judgement: &Judgement) -> Option<String> {
        let violated = violated(judgement);
        let broken: Vec<&str> = self.holds.iter().copied().filter(|name| violated.contains(name)).collect();
        if !broken.is_empty() {
            return Some(format!("violates {}", broken.join(", ")));
        }
        let vacuous = judgement.invariant("vacuity").filter(|vacuity| self.safe && !vacuity.holds);
        if let Some(vacuity) = vacuous {
            return Some(format!("vacuous: {}", vacuity.detail));
        }
        self.at_most.and_then(|limit| limit.exceeded(judgement))
    }
}

/// The violated invariants, except vacuity.
fn violated(judgement: &Judgement) -> Vec<&'static str> {
    let broken = judgement.invariants.iter().filter(|i| !i.holds && i.name != "vacuity");
    broken.map(|i| i.name).collect()
}

/// The number of canaries among the named cells, as the end of a sentence; if there are none, when they would run.
pub fn summary<'a>(cells: impl Iterator<Item = &'a str>, interrupted: bool) -> String {
    match cells.filter(|cell| cell.starts_with(PREFIX)).count() {
        0 if interrupted => String::new(),
        0 => "; no canaries, which `sweep all` runs unless options other than --nodes and --rate are given".to_owned(),
        1 => ", 1 canary among them".to_owned(),
        canaries => format!(", {canaries} canaries among them"),
    }
}

pub fn canaries() -> Vec<Canary> {
    let all = [
        world::canaries(),
        again::canaries(),
        services::canaries(),
        sentinels::canaries(),
        voters::canaries(),
        node::canaries(),
        groups::canaries(),
        remedy::canaries(),
    ];
    all.into_iter().flatten().collect()
}

const SERVED: Above = figure("served_after_ms", |m| m.served_after_ms.unwrap_or_default());
pub(crate) const ELECTIONS: Above = figure("elections", |m| m.elections as f64);
const REQUESTS: Above = figure("requests_to_service", |m| m.requests_to_service.unwrap_or_default() as f64);
const AVAILABILITY: Above = figure("availability", |m| m.availability.unwrap_or_default());
const DARK: Above = figure("dark_ms", |m| m.dark_ms.unwrap_or_default());

const fn figure(figure: &'static str, of: fn(&Metrics) -> f64) -> Above {
    Above { figure, of, than: 0.0 }
}

/// The invariants that break if tokens are not checked.
const UNCHECKED: &[&str] = match promise::UNCHECKED {
    Promise::Breaks(names) => names,
    _ => &[],
};

type MakePlan = fn(u64, bool) -> Result<Plan, Failed>;

pub(crate) fn breaks(name: &'static str, breaks: &'static [&'static str], plan: MakePlan) -> Canary {
    Canary { name, breaks, above: None, safe: false, holds: &[], at_most: None, within: None, plan }
}

fn above(name: &'static str, above: Above, than: f64, plan: MakePlan) -> Canary {
    Canary { above: Some(Above { than, ..above }), ..breaks(name, &[], plan) }
}

/// A canary whose cause must be survived.
fn survives(name: &'static str, figure: Above, than: f64, plan: MakePlan) -> Canary {
    Canary { safe: true, ..above(name, figure, than, plan) }
}

fn compiled(scenario: &str, protocol: &str, seed: u64, params: &Params) -> Result<Plan, Failed> {
    let scenario = scenario::find(scenario).ok_or("no such scenario")?;
    Ok(scenario.compile(params, election::find(protocol).ok_or("no such protocol")?, seed)?)
}

fn light() -> Params {
    Params { rate: 100, ..Params::default() }
}

/// A steady run of 20 s with the given faults, and without requirements.
fn steady(protocol: &str, seed: u64, faults: Vec<(f64, Fault)>) -> Result<Plan, Failed> {
    let params = Params { duration_ms: Some(20_000), read_lease: Some(false), ..light() };
    let mut plan = compiled("steady", protocol, seed, &params)?;
    plan.faults = faults.into_iter().map(|(ms, what)| at_ms(ms, what)).collect();
    plan.requires.clear();
    Ok(plan)
}

fn at_ms(ms: f64, what: Fault) -> PlannedFault {
    PlannedFault { when: Trigger::At { ms }, what, group: 0 }
}
