//! The committed plan sets and numbers.

use crate::{error::Failed, registry::Registry};
use protocols::{copies::Copies, election::Protocol, fence::checks::Fencing, sharding::Placement, work::work_set};
use reports::experiments::Numbers;
use scenarios::{
    Params,
    plan::{Invalid, Tenure},
    registry::Missing,
    scenario,
};
use serde::Deserialize;
use std::ops::Range;

/// The name of the set in which the leader dies every few seconds.
pub const CHURN: &str = "churn";
/// The name of the sweep over times to live.
pub const TTL_SWEEP: &str = "ttl-sweep";
/// The name of the sweep over renew intervals.
pub const RENEWALS: &str = "renewals";

/// The name of the set of long pauses, one after the other.
pub const PAUSES: &str = "pauses";
/// The name of the answers of `advise`.
pub const ADVICE: &str = "advice";

/// The committed plan sets, by number.
const COMMITTED: [&str; 11] = [
    include_str!("../../data/experiments/1-clean-kill.json"),
    include_str!("../../data/experiments/2-ttl-sweep.json"),
    include_str!("../../data/experiments/3-partition.json"),
    include_str!("../../data/experiments/4-gc-pause.json"),
    include_str!("../../data/experiments/5-fencing-off.json"),
    include_str!("../../data/experiments/6-churn.json"),
    include_str!("../../data/experiments/7-step-down.json"),
    include_str!("../../data/experiments/8-work-set.json"),
    include_str!("../../data/experiments/9-shards.json"),
    include_str!("../../data/experiments/10-frontiers.json"),
    include_str!("../../data/experiments/11-read-leases.json"),
];

/// The committed numbers of the full set.
const NUMBERS: &str = include_str!("../../data/experiments/numbers.json");
/// The committed numbers of the reduced set.
const REDUCED: &str = include_str!("../../data/experiments/reduced.json");
/// The findings, with placeholders for numbers.
pub const TEMPLATE: &str = include_str!("../../data/experiments/FINDINGS.in.md");

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    pub number: u8,
    /// The name used for files.
    pub name: String,
    /// One sentence.
    pub question: String,
    /// The runs that answer the question.
    pub full: Vec<PlanSet>,
    /// A few of the runs, for CI.
    pub reduced: Vec<PlanSet>,
    /// Questions to `advise`, as typed; their answers are numbers too.
    #[serde(default)]
    pub advice: Vec<String>,
    /// Whether the refused writes of the first seeds are listed.
    #[serde(default)]
    pub lists_refusals: bool,
    /// Whether its leadership strips show nothing that others do not.
    #[serde(default)]
    pub without_timeline: bool,
}

/// Runs of one scenario with one set of parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSet {
    /// A scenario's name, or [`CHURN`], [`TTL_SWEEP`], [`RENEWALS`] or [`PAUSES`].
    pub scenario: String,
    /// How it differs from the usual, in words; empty for the usual.
    #[serde(default)]
    pub variant: String,
    /// Protocols by name, or `all` that the scenario applies to.
    pub protocols: Vec<String>,
    /// The first seed, and the one after the last.
    pub seeds: (u64, u64),
    #[serde(default)]
    pub with: With,
    /// The sweep's times to live, in milliseconds.
    #[serde(default)]
    pub ttls_ms: Vec<u64>,
    /// The sweep's renew intervals, in milliseconds.
    #[serde(default)]
    pub renews_ms: Vec<u64>,
    /// The search range of the scenario's safety frontier; if given, the scenario is not run as it is.
    #[serde(default)]
    pub frontier: Option<Axes>,
    /// For churn: the time between kills, and the duration, in milliseconds.
    #[serde(default)]
    pub churn_ms: (u64, u64),
}

/// The two parameters of a frontier and their values, as on the command line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axes {
    /// Values of the first parameter, as `ttl=1s,3s,10s`.
    pub x: String,
    /// The search range of the second parameter, as `drift=0..300000ppm`.
    pub y: String,
}

/// Parameters that differ from the defaults.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct With {
    pub nodes: Option<u16>,
    /// Requests per second.
    pub rate: Option<u64>,
    /// Whether the store fences.
    pub fencing: Option<bool>,
    /// In milliseconds.
    pub lease_ttl_ms: Option<u64>,
    /// The range, in milliseconds.
    pub election_timeout_ms: Option<(u64, u64)>,
    /// How far wall clocks are off at most, in milliseconds.
    pub clock_skew_ms: Option<u64>,
    /// Whether every node has a copy of the data, and when the leader's copy acknowledges.
    pub copies: Option<Copies>,
    /// Whether a leader answers reads by its lease.
    pub read_lease: Option<bool>,
    /// Reads per second.
    pub reads_per_s: Option<u64>,
    /// Between attempts to acquire, in milliseconds.
    pub retry_period_ms: Option<u64>,
    /// Parameters of one protocol or work, as for `--set`.
    #[serde(default)]
    pub set: Vec<String>,
    /// The duration of a run, in milliseconds.
    pub duration_ms: Option<u64>,
    /// The number of separate leaderships.
    pub groups: Option<u16>,
    /// Which candidate should lead which group.
    pub placement: Option<Placement>,
    /// The warm-up of new leaders, and their removal by mistake.
    #[serde(default)]
    pub tenure: Tenure,
    /// The id of a known bug.
    pub bug: Option<String>,
    /// The leader's works, unless they are the usual ones.
    #[serde(default)]
    pub works: Vec<String>,
    /// The size of its work-set.
    #[serde(default)]
    pub work_set: work_set::Asked,
}

/// The experiments with these numbers; all if `numbers` is empty.
///
/// # Errors
/// A number is unknown, or a committed plan set cannot be read.
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
/// They cannot be read.
pub fn committed(reduced: bool) -> Result<Numbers, Failed> {
    let text = if reduced { REDUCED } else { NUMBERS };
    serde_json::from_str(text).map_err(|e| Failed::Harness(format!("the committed numbers: {e}")))
}

impl Experiment {
    pub fn sets(&self, reduced: bool) -> &[PlanSet] {
        if reduced { &self.reduced } else { &self.full }
    }
}

impl PlanSet {
    pub fn seeds(&self) -> Range<u64> {
        self.seeds.0..self.seeds.1
    }

    /// The set's parameters.
    ///
    /// # Errors
    /// It names an unknown work, bug or parameter.
    pub fn params(&self, registry: &Registry) -> Result<Params, Missing> {
        let With { nodes, rate, fencing, retry_period_ms, groups, bug, works, work_set, set, .. } = &self.with;
        let With { lease_ttl_ms, election_timeout_ms, duration_ms, placement, tenure, .. } = self.with;
        let With { copies, read_lease, reads_per_s, clock_skew_ms, .. } = self.with;
        let mut params = Params {
            lease_ttl_ms,
            election_timeout_ms,
            duration_ms,
            placement,
            tenure,
            copies,
            read_lease,
            reads_per_s,
            ..Params::default()
        };
        params.clock_skew_ms = clock_skew_ms.unwrap_or(params.clock_skew_ms);
        params.groups = groups.unwrap_or(params.groups);
        params.nodes = nodes.unwrap_or(params.nodes);
        params.rate = rate.unwrap_or(params.rate);
        params.retry_period_ms = *retry_period_ms;
        if *fencing == Some(false) {
            params.fencing = Fencing::Off;
        }
        let kind = |name: &String| registry.plans.works.iter().copied().find(|kind| kind.name == *name);
        let none = |what, name: &String| Missing { what, name: name.clone() };
        let kind = |name| kind(name).ok_or_else(|| none("work", name));
        params.works = works.iter().map(kind).collect::<Result<_, _>>()?;
        params.work_set = *work_set;
        let setting = |text: &String| registry.plans.setting(text).map_err(|_| none("parameter", text));
        params.set = set.iter().map(setting).collect::<Result<_, _>>()?;
        if let Some(id) = bug {
            let known = registry.plans.bugs.iter().copied().find(|known| known.id == id);
            params.bugs = vec![known.ok_or_else(|| none("bug", id))?];
        }
        Ok(params)
    }

    /// The set's protocols; `all` gives them in the registry's order.
    ///
    /// # Errors
    /// A protocol is unknown, or cannot do what the scenario asks for.
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
        self.protocols.iter().map(|name| Ok(registry.plans.protocol(name)?)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_committed_plan_set_names_what_there_is() {
        let registry = Registry::default();
        let experiments = find(&[]).unwrap();
        assert_eq!(experiments.iter().map(|e| e.number).collect::<Vec<_>>(), (1..=11).collect::<Vec<_>>());
        for experiment in &experiments {
            for set in experiment.full.iter().chain(&experiment.reduced) {
                assert!(!set.protocols(&registry).unwrap().is_empty() && set.seeds.0 < set.seeds.1);
                set.params(&registry).unwrap();
            }
        }
        assert_eq!(find(&[4, 12]).unwrap_err().to_string(), "there is no experiment 12; there are 1 to 11");
        assert_eq!(find(&[5, 3]).unwrap().len(), 2);
    }

    /// Generated text must not be edited by hand, and the prose must quote the committed numbers.
    #[test]
    fn the_findings_are_the_template_with_the_committed_numbers() {
        let findings = include_str!("../../../reports/FINDINGS.md");
        let numbers = committed(false).unwrap();
        let text = reports::experiments::findings::render(TEMPLATE, &numbers).unwrap();
        assert!(text == findings, "run `cargo run --release -- experiments`: reports/FINDINGS.md is not up to date");
        assert_eq!(reports::experiments::slo::broken(&numbers), [""; 0]);
    }
}
