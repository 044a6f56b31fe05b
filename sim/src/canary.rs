//! The canaries: plans that must show something which has one cause only, or the harness is blind for it. Each is run beside
//! the same plan without the cause, which must not show it.
//!
//! A sweep of everything runs them as cells of their own. Faults that nothing in a scenario depends on would otherwise be
//! free to do nothing.

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

/// So many seeds of each are run by a sweep, at most.
pub const SEEDS_MAX: u64 = 3;

/// What the names of canaries' cells begin with.
pub const PREFIX: &str = "canary: ";

/// A plan that must show something; and what is the same but for the cause, and must not.
pub struct Canary {
    /// What is looked at.
    pub name: &'static str,
    /// What must be violated, every time.
    pub breaks: &'static [&'static str],
    /// What must be above a limit, every time.
    pub above: Option<Above>,
    /// Must nothing be violated but what must be, with the cause or without? Then what its plan requires must have arisen,
    /// too.
    pub safe: bool,
    /// What must hold, with the cause or without, whatever else is violated.
    pub holds: &'static [&'static str],
    /// A figure, and what it must not exceed, with the cause or without.
    pub at_most: Option<Above>,
    /// A figure, and where it must lie with the cause: least and most.
    pub within: Option<(Above, f64, f64)>,
    /// The plan of a seed, with the cause or without it.
    pub plan: fn(u64, bool) -> Result<Plan, Failed>,
}

/// A figure, and a limit that it must exceed.
#[derive(Clone, Copy)]
pub struct Above {
    /// The figure's name.
    pub figure: &'static str,
    /// The figure of a run; none is 0.
    pub of: fn(&Metrics) -> f64,
    /// The limit.
    pub than: f64,
}

impl Above {
    /// By how much the figure is above the limit, in a sentence; `None` when it is not.
    fn exceeded(&self, judgement: &Judgement) -> Option<String> {
        let Above { figure, of, than } = self;
        let is = of(&judgement.metrics);
        (is > *than).then(|| format!("{figure} must be at most {than}, but is {is:.2}"))
    }
}

/// What came of a canary's two runs.
pub struct Looked {
    /// The run with the cause.
    pub run: Run,
    /// What is wrong, in one sentence, and the plan and hash of the run that shows it.
    pub wrong: Option<(String, Plan, String)>,
}

impl Canary {
    /// Runs it with its cause, and without.
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

    /// What is wrong with the two runs, the one with the cause first, and whether it is wrong with that one.
    pub(crate) fn wrong(&self, with: &Judgement, without: &Judgement) -> Option<(bool, String)> {
        let missing = self.missing(with).map(|why| (true, why));
        missing.or_else(|| Some((false, format!("without the cause: {}", self.shown(without)?))))
    }

    /// What the run with the cause does not show.
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

    /// The same, which needs a figure to lie there with the cause.
    pub(crate) fn within(self, figure: Above, least: f64, most: f64) -> Self {
        Canary { within: Some((figure, least, most)), ..self }
    }

    /// What the run without the cause shows all the same.
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

    /// What must not be shown either way.
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

/// What a run violates, but for what makes it vacuous.
fn violated(judgement: &Judgement) -> Vec<&'static str> {
    let broken = judgement.invariants.iter().filter(|i| !i.holds && i.name != "vacuity");
    broken.map(|i| i.name).collect()
}

/// How many canaries are among the cells of these names, in words that follow others; or that there are none, and when there
/// would be.
pub fn summary<'a>(cells: impl Iterator<Item = &'a str>, interrupted: bool) -> String {
    match cells.filter(|cell| cell.starts_with(PREFIX)).count() {
        0 if interrupted => String::new(),
        0 => "; no canaries, which `sweep all` runs unless options other than --nodes and --rate are given".to_owned(),
        1 => ", 1 canary among them".to_owned(),
        canaries => format!(", {canaries} canaries among them"),
    }
}

/// Every canary there is.
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

/// What must break where tokens are not checked.
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

/// A canary of what must be survived.
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

/// A steady run of 20 s in which nothing is required, with faults.
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
