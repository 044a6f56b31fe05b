//! The plan sets and numbers that are committed.

use crate::{error::Failed, registry::Registry};
use protocols::{
    election::{Protocol, rules::Rules},
    fence::checks::Fencing,
    sharding::Placement,
    work::work_set,
};
use reports::experiments::Numbers;
use scenarios::{
    Params,
    plan::{Invalid, Tenure},
    preset::Preset,
    registry::Missing,
    scenario,
};
use serde::Deserialize;
use std::ops::Range;

/// What the leader's death every few seconds is called.
pub const CHURN: &str = "churn";
/// What the sweep over times to live is called.
pub const TTL_SWEEP: &str = "ttl-sweep";
/// What the sweep over renew intervals is called.
pub const RENEWALS: &str = "renewals";

/// What long pauses, one after the other, are called.
pub const PAUSES: &str = "pauses";
/// What answers of `advise` are called.
pub const ADVICE: &str = "advice";

/// The committed plan sets, in the order of their numbers.
const COMMITTED: [&str; 10] = [
    include_str!("../../../reports/experiments/1-clean-kill.json"),
    include_str!("../../../reports/experiments/2-ttl-sweep.json"),
    include_str!("../../../reports/experiments/3-partition.json"),
    include_str!("../../../reports/experiments/4-gc-pause.json"),
    include_str!("../../../reports/experiments/5-fencing-off.json"),
    include_str!("../../../reports/experiments/6-churn.json"),
    include_str!("../../../reports/experiments/7-step-down.json"),
    include_str!("../../../reports/experiments/8-work-set.json"),
    include_str!("../../../reports/experiments/9-shards.json"),
    include_str!("../../../reports/experiments/10-frontiers.json"),
];

/// The committed numbers of the full set.
const NUMBERS: &str = include_str!("../../../reports/experiments/numbers.json");
/// The committed numbers of the reduced set.
const REDUCED: &str = include_str!("../../../reports/experiments/reduced.json");
/// The findings, with places for numbers.
pub const TEMPLATE: &str = include_str!("../../../reports/experiments/FINDINGS.in.md");

/// An experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its number.
    pub number: u8,
    /// Its name, for files.
    pub name: String,
    /// What is asked: one sentence.
    pub question: String,
    /// The runs that answer it.
    pub full: Vec<PlanSet>,
    /// A few of them, for CI.
    pub reduced: Vec<PlanSet>,
    /// Questions to `advise`, as typed; their answers are numbers too.
    #[serde(default)]
    pub advice: Vec<String>,
    /// Are the refused writes of the first seeds listed?
    #[serde(default)]
    pub lists_refusals: bool,
    /// Does its picture of who led when say nothing that others do not?
    #[serde(default)]
    pub without_timeline: bool,
}

/// Runs of one story with one set of parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSet {
    /// A scenario's name, or [`CHURN`], [`TTL_SWEEP`], [`RENEWALS`] or [`PAUSES`].
    pub scenario: String,
    /// What is different from the usual, in words; empty for the usual.
    #[serde(default)]
    pub variant: String,
    /// Protocols by name, or `all`: those that the scenario applies to.
    pub protocols: Vec<String>,
    /// From which seed to before which.
    pub seeds: (u64, u64),
    /// What is asked of the scenario.
    #[serde(default)]
    pub with: With,
    /// Times to live of the sweep, milliseconds.
    #[serde(default)]
    pub ttls_ms: Vec<u64>,
    /// Renew intervals of the sweep over them, milliseconds.
    #[serde(default)]
    pub renews_ms: Vec<u64>,
    /// Where the scenario's safety frontier is searched, instead of running it as it is.
    #[serde(default)]
    pub frontier: Option<Axes>,
    /// From one kill to the next, and for how long, milliseconds, of a churn.
    #[serde(default)]
    pub churn_ms: (u64, u64),
}

/// Which two parameters, and where they are looked at; as on the command line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axes {
    /// Values of the first, as `ttl=1s,3s,10s`.
    pub x: String,
    /// Where the second is searched, as `drift=0..300000ppm`.
    pub y: String,
}

/// Parameters, where they are not the usual ones.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct With {
    /// Candidates.
    pub nodes: Option<u16>,
    /// Requests a second.
    pub rate: Option<u64>,
    /// Does the store fence?
    pub fencing: Option<bool>,
    /// Lease time to live, milliseconds.
    pub lease_ttl_ms: Option<u64>,
    /// From one attempt to acquire to the next, milliseconds.
    pub retry_period_ms: Option<u64>,
    /// An implementation's own timers, by name.
    pub preset: Option<String>,
    /// Raft's pre-vote.
    pub pre_vote: Option<bool>,
    /// How long a run lasts, milliseconds.
    pub duration_ms: Option<u64>,
    /// Contests for one leadership each.
    pub groups: Option<u16>,
    /// Which candidate should lead which of them.
    pub placement: Option<Placement>,
    /// How leaders come into their office, and are sent out of it by mistake.
    #[serde(default)]
    pub tenure: Tenure,
    /// A known bug, by its id.
    pub bug: Option<String>,
    /// What the leader does, where that is not the usual.
    #[serde(default)]
    pub works: Vec<String>,
    /// What its work-set is like.
    #[serde(default)]
    pub work_set: work_set::Asked,
}

/// The experiments of these numbers; all when there are none.
///
/// # Errors
/// There is none of a number, or a committed plan set cannot be read: one sentence.
pub fn find(numbers: &[u8]) -> Result<Vec<Experiment>, Failed> {
    let read =
        |text: &&str| serde_json::from_str(text).map_err(|e| Failed::Harness(format!("a committed plan set: {e}")));
    let all: Vec<Experiment> = COMMITTED.iter().map(read).collect::<Result<_, _>>()?;
    if let Some(unknown) = numbers.iter().find(|number| all.iter().all(|e| e.number != **number)) {
        return Err(Invalid(format!("there is no experiment {unknown}; there are 1 to {}", all.len())).into());
    }
    Ok(all.into_iter().filter(|e| numbers.is_empty() || numbers.contains(&e.number)).collect())
}

/// The committed numbers, of the reduced set or the full one.
///
/// # Errors
/// They cannot be read: one sentence.
pub fn committed(reduced: bool) -> Result<Numbers, Failed> {
    let text = if reduced { REDUCED } else { NUMBERS };
    serde_json::from_str(text).map_err(|e| Failed::Harness(format!("the committed numbers: {e}")))
}

impl Experiment {
    /// The plan sets to run.
    pub fn sets(&self, reduced: bool) -> &[PlanSet] {
        if reduced { &self.reduced } else { &self.full }
    }
}

impl PlanSet {
    /// Its seeds.
    pub fn seeds(&self) -> Range<u64> {
        self.seeds.0..self.seeds.1
    }

    /// Its parameters.
    ///
    /// # Errors
    /// It names a bug or a preset that there is not: one sentence.
    pub fn params(&self, registry: &Registry) -> Result<Params, Missing> {
        let With { nodes, rate, fencing, retry_period_ms, groups, bug, works, work_set, preset, .. } = &self.with;
        let With { lease_ttl_ms, pre_vote, duration_ms, placement, tenure, .. } = self.with;
        let mut params = Params { lease_ttl_ms, pre_vote, duration_ms, placement, tenure, ..Params::default() };
        params.groups = groups.unwrap_or(params.groups);
        params.nodes = nodes.unwrap_or(params.nodes);
        params.rate = rate.unwrap_or(params.rate);
        params.own_ms.retry_period = *retry_period_ms;
        if *fencing == Some(false) {
            params.fencing = Fencing::Off;
        }
        let kind = |name: &String| registry.plans.works.iter().copied().find(|kind| kind.name == *name);
        let none = |what, name: &String| Missing { what, name: name.clone() };
        let kind = |name| kind(name).ok_or_else(|| none("work", name));
        params.works = works.iter().map(kind).collect::<Result<_, _>>()?;
        params.work_set = *work_set;
        if let Some(name) = preset {
            params.preset = Some(Preset::find(name).ok_or_else(|| none("preset", name))?);
        }
        if let Some(id) = bug {
            let known = registry.plans.bugs.iter().copied().find(|known| known.id == id);
            params.bugs = vec![known.ok_or_else(|| none("bug", id))?];
        }
        Ok(params)
    }

    /// Its protocols, in the registry's order where all are meant.
    ///
    /// # Errors
    /// One is not known, or cannot do what the scenario asks for: one sentence.
    pub fn protocols(&self, registry: &Registry) -> Result<Vec<&'static Protocol>, Failed> {
        let told = match self.scenario.as_str() {
            CHURN | TTL_SWEEP => "clean-kill",
            RENEWALS | PAUSES => "steady",
            name => name,
        };
        let scenario = scenario::find(told).ok_or_else(|| Missing { what: "scenario", name: told.to_owned() })?;
        if self.protocols == ["all"] {
            let all = registry.plans.protocols.iter().copied();
            return Ok(all.filter(|protocol| scenario.needs.met_by(protocol)).collect());
        }
        let known = |name: &String| {
            let protocol = registry.plans.protocol(name)?;
            match self.with.preset.is_some() && !Rules::concern(protocol.name) {
                true => Err(Invalid(format!("`{name}` has timers of its own, and takes no preset")).into()),
                false => Ok(protocol),
            }
        };
        self.protocols.iter().map(known).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_committed_plan_set_names_what_there_is() {
        let registry = Registry::default();
        let experiments = find(&[]).unwrap();
        assert_eq!(experiments.iter().map(|e| e.number).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
        for experiment in &experiments {
            for set in experiment.full.iter().chain(&experiment.reduced) {
                assert!(!set.protocols(&registry).unwrap().is_empty() && set.seeds.0 < set.seeds.1);
                set.params(&registry).unwrap();
            }
        }
        assert_eq!(find(&[4, 11]).unwrap_err().to_string(), "there is no experiment 11; there are 1 to 10");
        assert_eq!(find(&[5, 3]).unwrap().len(), 2);
    }

    /// So that nobody edits what is generated, and no number in the prose is another than the committed one.
    #[test]
    fn the_findings_are_the_template_with_the_committed_numbers() {
        let findings = include_str!("../../../reports/FINDINGS.md");
        let numbers = committed(false).unwrap();
        let text = reports::experiments::findings::render(TEMPLATE, &numbers).unwrap();
        assert!(text == findings, "run `cargo run --release -- experiments`: reports/FINDINGS.md is not up to date");
        assert_eq!(reports::experiments::slo::broken(&numbers), [""; 0]);
    }
}
