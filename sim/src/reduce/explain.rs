//! Finds what a failure needs, and puts it into words: repeats the plan without each of its faults, and with everything
//! else made right.

use super::symptom::{Looked, Symptom};
use crate::{
    error::Failed,
    interrupt,
    parameters::describe,
    pool,
    registry::Registry,
    run::{self, Options, Run},
};
use protocols::{fence::checks::Fencing, point::Point};
use reports::{Judgement, Verdict};
use scenarios::{
    fault::{PlannedFault, Trigger},
    plan::Plan,
};
use std::collections::BTreeSet;

/// One thing made right in a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// The fault at this index is left out.
    Fault(usize),
    /// The store checks everything.
    Fencing,
    /// The known bug with this id is switched off.
    Bug(String),
    /// All wall clocks show true time.
    WallClocks,
    /// All clocks run at the right rate.
    ClockRates,
    /// The network loses nothing, and delivers everything once and in order.
    Network,
    /// Reads go through the store.
    ReadLease,
    /// Health checks do not err.
    HealthChecks,
}

impl Change {
    /// Everything that can be made right in a plan: first its faults, in order.
    pub fn all(plan: &Plan) -> Vec<Change> {
        let mut all: Vec<Change> = (0..plan.faults.len()).map(Change::Fault).collect();
        let network = &plan.network;
        all.extend((plan.fencing != Fencing::On).then_some(Change::Fencing));
        all.extend(plan.bugs.iter().cloned().map(Change::Bug));
        let wrong = [
            (plan.candidates.iter().any(|c| c.wall_offset_ms != 0), Change::WallClocks),
            (plan.candidates.iter().any(|c| c.rate_ppm != 0), Change::ClockRates),
            ([network.loss, network.duplicate, network.reorder].iter().any(|p| *p > 0.0), Change::Network),
            (plan.read_lease, Change::ReadLease),
            (plan.tenure.check_errors_ppm > 0, Change::HealthChecks),
        ];
        all.extend(wrong.into_iter().filter(|(is, _)| *is).map(|(_, change)| change));
        all
    }

    /// The plan with this change.
    pub fn made_in(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        match self {
            Change::Fault(place) => drop(plan.faults.remove(*place)),
            Change::Fencing => plan.fencing = Fencing::On,
            Change::Bug(id) => plan.bugs.retain(|bug| bug != id),
            Change::WallClocks => plan.candidates.iter_mut().for_each(|c| c.wall_offset_ms = 0),
            Change::ClockRates => plan.candidates.iter_mut().for_each(|c| c.rate_ppm = 0),
            Change::Network => {
                (plan.network.loss, plan.network.duplicate, plan.network.reorder) = (0.0, 0.0, 0.0);
            }
            Change::ReadLease => plan.read_lease = false,
            Change::HealthChecks => plan.tenure.check_errors_ppm = 0,
        }
        plan
    }
}

/// The outcome of a changed plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Came {
    Gone(Verdict),
    Same,
    Other(Symptom),
    /// The change does not give a valid plan, for this reason.
    NoPlan(String),
}

/// Whether the faults that are individually needed suffice together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rest {
    /// The plan fails the same way with the needed faults alone.
    DoesNotMatter,
    /// It needs any one of these in addition.
    AnyOf(Vec<usize>),
    /// It needs several of the others in addition.
    Several,
}

/// What a plan needs in order to fail.
pub struct Explained {
    /// The run of the unchanged plan.
    pub run: Run,
    /// How it failed.
    pub symptom: Symptom,
    /// Each change, made alone, and its outcome.
    pub flips: Vec<(Change, Came)>,
    /// The indices of faults without which the failure does not occur.
    pub needed: Vec<usize>,
    /// The indices of faults without which it does.
    pub spare: Vec<usize>,
    /// Whether the needed faults suffice.
    pub rest: Rest,
    /// The number of runs made.
    pub runs: u64,
}

/// Runs `plan`, which is valid in the registry, unchanged and then once for each [`Change`], `jobs` runs at a time.
///
/// # Errors
/// A run could not be finished.
pub fn explain(plan: &Plan, registry: &Registry, jobs: usize) -> Result<Looked<Box<Explained>>, Failed> {
    let options = Options { registry: registry.clone(), timeline: true, page: true, ..Options::default() };
    let run = run::run(plan, options)?;
    let Some(symptom) = Symptom::of(&run.judgement) else { return Ok(Looked::Holds(run.judgement.verdict)) };
    let trials = Trials { registry, symptom: &symptom, jobs };
    let changes = Change::all(plan);
    let plans: Vec<Plan> = changes.iter().map(|change| change.made_in(plan)).collect();
    let Some(came) = trials.all(&plans)? else { return Ok(Looked::Interrupted) };
    let flips: Vec<(Change, Came)> = changes.into_iter().zip(came).collect();
    let mut runs = 1 + plans.len() as u64;
    let (mut needed, mut spare) = (Vec::new(), Vec::new());
    for (change, came) in &flips {
        if let Change::Fault(place) = change {
            if *came == Came::Same { spare.push(*place) } else { needed.push(*place) }
        }
    }
    let mut rest = Rest::DoesNotMatter;
    // A single spare fault was already left out alone.
    if spare.len() > 1 {
        let only = only_with(plan, &needed.iter().copied().collect());
        let Some(came) = trials.all(&[only])? else { return Ok(Looked::Interrupted) };
        runs += 1;
        if came != [Came::Same] {
            let with = |one: &usize| only_with(plan, &needed.iter().chain([one]).copied().collect());
            let plans: Vec<Plan> = spare.iter().map(with).collect();
            let Some(came) = trials.all(&plans)? else { return Ok(Looked::Interrupted) };
            runs += plans.len() as u64;
            let enough = spare.iter().zip(came).filter(|(_, came)| *came == Came::Same).map(|(one, _)| *one);
            let enough: Vec<usize> = enough.collect();
            rest = if enough.is_empty() { Rest::Several } else { Rest::AnyOf(enough) };
        }
    }
    Ok(Looked::Failed(Box::new(Explained { run, symptom, flips, needed, spare, rest, runs })))
}

/// The plan with only the faults at these indices.
fn only_with(plan: &Plan, places: &BTreeSet<usize>) -> Plan {
    let faults = plan.faults.iter().enumerate().filter(|(place, _)| places.contains(place));
    let faults: Vec<PlannedFault> = faults.map(|(_, fault)| fault.clone()).collect();
    Plan { faults, ..plan.clone() }
}

/// Compares plans with one failure.
struct Trials<'a> {
    registry: &'a Registry,
    symptom: &'a Symptom,
    jobs: usize,
}

impl Trials<'_> {
    /// The outcome of each plan; `None` if asked to end.
    fn all(&self, plans: &[Plan]) -> Result<Option<Vec<Came>>, Failed> {
        let mut came = Vec::new();
        let work = |place: u64| self.one(&plans[place as usize]);
        pool::each(plans.len() as u64, self.jobs, work, |_, one| {
            came.push(one);
            !interrupt::asked()
        });
        if came.len() < plans.len() {
            return Ok(None);
        }
        came.into_iter().collect::<Result<Vec<_>, _>>().map(Some)
    }

    fn one(&self, plan: &Plan) -> Result<Came, Failed> {
        if let Err(why) = self.registry.plans.validate(plan) {
            return Ok(Came::NoPlan(why.0));
        }
        let run = run::run(plan, Options { registry: self.registry.clone(), ..Options::default() })?;
        Ok(self.came(&run.judgement))
    }

    fn came(&self, judgement: &Judgement) -> Came {
        match Symptom::of(judgement) {
            None => Came::Gone(judgement.verdict),
            Some(symptom) if symptom == *self.symptom => Came::Same,
            Some(symptom) => Came::Other(symptom),
        }
    }
}

// What a failure needs, in words.

impl Change {
    /// What is made right, in a few words.
    pub fn words(&self, plan: &Plan) -> String {
        match self {
            Change::Fault(place) => format!("without {}", describe(&plan.faults[*place])),
            Change::Fencing => "with fencing on".to_owned(),
            Change::Bug(id) => format!("without the bug {id}"),
            Change::WallClocks => "with all wall clocks right".to_owned(),
            Change::ClockRates => "with all clocks at the right rate".to_owned(),
            Change::Network => "without loss, duplicates and detours in the network".to_owned(),
            Change::ReadLease => "with reads through the store".to_owned(),
            Change::HealthChecks => "without mistaken health checks".to_owned(),
        }
    }
}

impl Explained {
    /// What the failure needs, in a sentence or two.
    pub fn conclusion(&self, plan: &Plan) -> String {
        let Explained { needed, spare, rest, .. } = self;
        let named = |places: &[usize], and: &str| listed(places.iter().map(|place| name(plan, *place)).collect(), and);
        let others = match (spare.len(), needed.is_empty()) {
            (1, _) => "the other fault does not matter".to_owned(),
            (others, _) => format!("the other {others} faults do not matter"),
        };
        let faults = match (rest, needed.is_empty(), spare.is_empty()) {
            (_, true, true) => "The plan has no faults.".to_owned(),
            (Rest::DoesNotMatter, false, true) if needed.len() == 1 => format!("It takes {}.", named(needed, "and")),
            (Rest::DoesNotMatter, false, true) => format!("It takes all {} faults.", needed.len()),
            (Rest::DoesNotMatter, false, false) => format!("It takes {}; {others}.", named(needed, "and")),
            (Rest::DoesNotMatter, true, false) => "The faults do not matter: it fails without any.".to_owned(),
            (Rest::AnyOf(enough), true, _) => {
                format!("No single fault is to blame: any of {} is enough.", named(enough, "and"))
            }
            (Rest::AnyOf(enough), false, _) => {
                format!("It takes {}, and any of {}.", named(needed, "and"), named(enough, "and"))
            }
            (Rest::Several, true, _) => "No single fault is to blame, and none alone is enough.".to_owned(),
            (Rest::Several, false, _) => format!("It takes {}, and several of the others.", named(needed, "and")),
        };
        let cures = self
            .flips
            .iter()
            .filter(|(change, came)| matches!(came, Came::Gone(Verdict::Pass)) && !matches!(change, Change::Fault(_)));
        let cures: Vec<String> = cures.map(|(change, _)| change.words(plan)).collect();
        match cures.is_empty() {
            true => faults,
            false => format!("{faults} It passes {}.", listed(cures, "or")),
        }
    }
}

/// A fault's short name; its full description if another fault has the same name.
fn name(plan: &Plan, place: usize) -> String {
    let short = |fault: &PlannedFault| {
        let kind = fault.what.kind().name().replace('-', " ");
        match &fault.when {
            Trigger::At { ms } => format!("the {kind} at {:.3} s", ms / 1e3),
            Trigger::Passage { point, .. } if point == Point::BeforeSend.name() => format!("the {kind} before a send"),
            Trigger::Passage { point, .. } => format!("the {kind} at `{point}`"),
        }
    };
    let fault = &plan.faults[place];
    let named = short(fault);
    match plan.faults.iter().filter(|fault| short(fault) == named).count() {
        1 => named,
        _ => format!("fault {} ({})", place + 1, describe(fault)),
    }
}

/// `a, b and c`.
fn listed(mut words: Vec<String>, and: &str) -> String {
    let Some(last) = words.pop() else { return String::new() };
    if words.is_empty() { last } else { format!("{} {and} {last}", words.join(", ")) }
}
