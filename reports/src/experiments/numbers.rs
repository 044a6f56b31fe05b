//! The numbers: the results of runs by experiment, scenario, protocol and variant.

use crate::{
    judge::Judgement,
    statistics::{poisson_interval, quantile, rounded},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The confidence level of all limits.
pub(super) const CONFIDENCE: f64 = 0.95;

/// Schema version of the numbers.
pub const SCHEMA: u32 = 1;

/// All numbers of the experiments, as committed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The commits that measured each experiment, by the part that was measured separately, as `--only` names it; the
    /// empty part is all the rest. Empty for numbers that were never saved.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commits: BTreeMap<u8, BTreeMap<String, String>>,
    /// In order of measurement.
    pub cells: Vec<Cell>,
    /// Refused writes in the first seeds of experiments that list them.
    pub refusals: Vec<Refusal>,
}

/// The results of one protocol's runs of one set of plans.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    pub experiment: u8,
    /// What was run: a scenario's name, or `churn`, or `ttl-sweep`.
    pub scenario: String,
    pub protocol: String,
    /// What differs from the defaults; empty if nothing does.
    pub variant: String,
    /// Does the protocol have tokens?
    pub tokened: bool,
    /// Did the store fence?
    pub fencing: bool,
    pub runs: u64,
    /// A digest of the digests of their plans.
    pub plans: String,
    /// The command that repeats the first run, if a command line can express it; `{seed}` stands for the seed.
    pub command: String,
    /// The number of runs with each verdict: `pass`, `safety`, `liveness`, `vacuous`.
    pub verdicts: BTreeMap<String, u64>,
    /// The number of runs that violated each invariant.
    pub violated: BTreeMap<String, u64>,
    /// Sums over all runs; maxima, if the name ends in `_max`; or parameters.
    pub counts: BTreeMap<String, u64>,
    /// Distributions over all runs, in milliseconds if the name says so.
    pub spreads: BTreeMap<String, Spread>,
}

/// Quantiles of a distribution.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// The number of values.
    pub n: u64,
    pub least: f64,
    pub p5: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub most: f64,
}

/// A refused write of a former leader.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    pub experiment: u8,
    pub protocol: String,
    pub seed: u64,
    /// When it reached the store, microseconds.
    pub t_us: u64,
    /// The writer.
    pub node: String,
    pub resource: String,
    pub seq: u64,
    pub token: u64,
    /// The highest token that the store had seen.
    pub highest: u64,
}

impl Spread {
    /// The distribution of these values; `None` if there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_by(f64::total_cmp);
        let at = |q| quantile(&values, q).map(rounded);
        Some(Spread {
            n: values.len() as u64,
            least: at(0.0)?,
            p5: at(0.05)?,
            p50: at(0.5)?,
            p95: at(0.95)?,
            p99: at(0.99)?,
            most: at(1.0)?,
        })
    }

    /// The quantile or the count with this name.
    pub fn get(&self, name: &str) -> Option<f64> {
        Some(match name {
            "n" => self.n as f64,
            "least" => self.least,
            "p5" => self.p5,
            "p50" => self.p50,
            "p95" => self.p95,
            "p99" => self.p99,
            "most" => self.most,
            _ => return None,
        })
    }
}

/// A run's lists of figures, by name, from which distributions are made.
pub fn lists(judgement: &Judgement) -> [(&'static str, Vec<f64>); 9] {
    let m = &judgement.metrics;
    [
        ("failover_ms", m.failover_ms.clone()),
        ("election_latency_ms", m.election_latency_ms.clone()),
        ("election_time_ms", m.election_time_ms.clone()),
        ("handoff_effect_gap_ms", m.handoff_effect_gap_ms.clone()),
        ("handoff_intent_gap_ms", m.handoff_intent_gap_ms.clone()),
        ("stop_after_loss_ms", m.stop_after_loss_ms.clone()),
        ("dark_ms", m.dark_ms.into_iter().collect()),
        ("refused_per_run", vec![m.writes_fenced as f64]),
        ("seq_reused_per_run", vec![m.seq_reused as f64]),
    ]
}

/// A run's counts, by name. Those that end in `_max` are not summed over runs.
pub fn counts(judgement: &Judgement) -> [(&'static str, u64); 11] {
    let m = &judgement.metrics;
    let acting = |name: &str| judgement.violated().any(|violated| violated == name);
    let twice = m.leaders_acting_by_effect_max > 1;
    let incident = twice || ["tokens_monotone", "no_stale_write"].into_iter().any(acting);
    [
        ("double_leader_runs", u64::from(incident)),
        ("leaders_acting_by_effect_max", m.leaders_acting_by_effect_max),
        ("leaders_believing_max", m.leaders_believing_max),
        ("writes_accepted", m.writes_accepted),
        ("writes_fenced", m.writes_fenced),
        ("stale_accepted_runs", u64::from(acting("no_stale_write"))),
        ("seq_reused", m.seq_reused),
        ("elections", m.elections),
        ("false_failovers", m.false_failovers),
        ("avoidable_failovers", m.avoidable_failovers),
        ("failover_censored", m.failover_censored),
    ]
}

impl Cell {
    /// Its key: `1/clean-kill/etcd-election`, then a slash and the variant if there is one.
    pub fn key(&self) -> String {
        let key = format!("{}/{}/{}", self.experiment, self.scenario, self.protocol);
        if self.variant.is_empty() { key } else { format!("{key}/{}", self.variant) }
    }

    /// Adds a run's counts.
    pub fn count<'a>(&mut self, counts: impl IntoIterator<Item = (&'a str, u64)>) {
        for (name, n) in counts {
            let sum = self.counts.entry(name.to_owned()).or_default();
            *sum = if name.ends_with("_max") { n.max(*sum) } else { *sum + n };
        }
    }

    fn paused_hours(&self) -> Option<f64> {
        Some(*self.counts.get("paused_minutes")? as f64 / 60.0)
    }

    /// The rate of failovers without a crash, per hour, or a limit of its 95 % confidence interval.
    fn failovers_per_hour(&self, name: &str) -> Option<f64> {
        let (seen, hours) = (*self.counts.get("pause_failovers")?, self.paused_hours()?);
        let (least, most) = poisson_interval(seen, CONFIDENCE);
        let number = match name {
            "failovers_per_hour" => seen as f64,
            "failovers_per_hour_least" => least,
            "failovers_per_hour_most" => most,
            _ => return None,
        };
        Some(number / hours)
    }

    /// A lower bound of the runs in which writes of former leaders reached the store, from the distribution of their
    /// count.
    fn stale_met_at_least(&self) -> Option<u64> {
        let refused = self.spreads.get("refused_per_run")?;
        if refused.most == 0.0 {
            return Some(0);
        }
        let quantiles =
            [(0.0, refused.least), (0.05, refused.p5), (0.5, refused.p50), (0.95, refused.p95), (0.99, refused.p99)];
        let runs = refused.n as f64;
        // All values from the first positive quantile on are positive; and no run had more than the maximum.
        let from = |q: f64| runs - (q * runs).ceil().max(1.0) + 1.0;
        let above = quantiles.into_iter().find(|(_, value)| *value > 0.0).map_or(1.0, |(q, _)| from(q));
        let shared = (self.figure("writes_fenced")? / refused.most).ceil();
        Some(above.max(shared) as u64)
    }

    /// The figure with this name: a count, a quantile (`failover_ms.p50`), or the number of runs that violated an
    /// invariant (`violated.records`) or ended with a verdict (`verdict.pass`), which is 0 if nothing is recorded.
    pub fn figure(&self, name: &str) -> Option<f64> {
        let whole = |n: u64| n as f64;
        match name.split_once('.') {
            Some(("violated", invariant)) => Some(whole(self.violated.get(invariant).copied().unwrap_or(0))),
            Some(("verdict", verdict)) => Some(whole(self.verdicts.get(verdict).copied().unwrap_or(0))),
            Some((spread, of)) => self.spreads.get(spread)?.get(of),
            None if name == "runs" => Some(whole(self.runs)),
            None if name == "stale_met_at_least" => self.stale_met_at_least().map(whole),
            None if name == "expected_per_hour" => Some(self.figure("expected_failovers")? / self.paused_hours()?),
            None if name.starts_with("failovers_per_hour") => self.failovers_per_hour(name),
            None if name == "edge_over_bound" => Some(self.figure("violates_at")? / self.figure("bound")?),
            None => self.counts.get(name).copied().map(whole),
        }
    }
}

impl Numbers {
    /// The cells that match a pattern: `experiments/scenarios/protocols/variant`, each part with alternatives separated
    /// by commas, or `*` for all. `@tokened` and `@tokenless` select protocols; without a variant, the usual one
    /// matches.
    pub fn matching<'a>(&'a self, pattern: &'a str) -> impl Iterator<Item = &'a Cell> {
        let mut parts = pattern.split('/');
        let [experiment, scenario, protocol, variant] =
            ["*", "*", "*", ""].map(|otherwise| parts.next().unwrap_or(otherwise));
        let among = |value: String, wanted: &str| wanted == "*" || wanted.split(',').any(|one| one == value);
        let is = move |cell: &Cell, wanted: &str| match wanted {
            "@tokened" => cell.tokened,
            "@tokenless" => !cell.tokened,
            names => among(cell.protocol.clone(), names),
        };
        self.cells.iter().filter(move |cell| {
            among(cell.experiment.to_string(), experiment)
                && among(cell.scenario.clone(), scenario)
                && is(cell, protocol)
                && among(cell.variant.clone(), variant)
        })
    }

    /// The first number that differs from the committed ones, in words. Only experiments in both are compared.
    pub fn difference(&self, committed: &Numbers) -> Option<String> {
        let of_ours = |experiment: u8| self.cells.iter().any(|cell| cell.experiment == experiment);
        let theirs: BTreeMap<String, &Cell> =
            committed.cells.iter().filter(|c| of_ours(c.experiment)).map(|c| (c.key(), c)).collect();
        let ours: BTreeMap<String, &Cell> = self.cells.iter().map(|c| (c.key(), c)).collect();
        for cell in &self.cells {
            let key = cell.key();
            let Some(known) = theirs.get(&key) else { return Some(format!("{key} is not among the committed")) };
            let values = [*known, cell].map(|c| serde_json::to_value(c).unwrap_or_default());
            if let Some(what) = differs("", &values[0], &values[1]) {
                return Some(format!("{key}: {what}"));
            }
        }
        theirs
            .keys()
            .find(|key| !ours.contains_key(*key))
            .map(|key| format!("{key} is committed, and was not measured"))
    }
}

/// The first difference between two values.
fn differs(path: &str, committed: &Value, now: &Value) -> Option<String> {
    match (committed, now) {
        (Value::Object(before), Value::Object(after)) => {
            let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
            names.into_iter().find_map(|name| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                differs(&path, before.get(name).unwrap_or(&Value::Null), after.get(name).unwrap_or(&Value::Null))
            })
        }
        _ if committed == now => None,
        _ => Some(format!("{path} was {committed}, and is {now}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(protocol: &str, variant: &str) -> Cell {
        let (scenario, protocol, variant) = ("clean-kill".to_owned(), protocol.to_owned(), variant.to_owned());
        let mut cell = Cell { experiment: 1, scenario, tokened: protocol == "a", protocol, variant, ..Cell::default() };
        cell.spreads.extend(Spread::of(vec![3.0, 1.0, 2.0]).map(|spread| ("failover_ms".to_owned(), spread)));
        cell
    }

    fn numbers(cells: Vec<Cell>) -> Numbers {
        Numbers { schema: SCHEMA, cells, ..Numbers::default() }
    }

    #[test]
    fn a_pattern_names_cells_and_a_name_a_figure() {
        let numbers = numbers(vec![cell("a", ""), cell("b", ""), cell("b", "slow")]);
        let keys = |pattern: &str| numbers.matching(pattern).map(Cell::key).collect::<Vec<_>>();
        assert_eq!(keys("1"), ["1/clean-kill/a", "1/clean-kill/b"]);
        assert_eq!(keys("*/clean-kill/b,c/*"), ["1/clean-kill/b", "1/clean-kill/b/slow"]);
        assert_eq!(keys("1/*/@tokened"), ["1/clean-kill/a"]);
        assert!(keys("2").is_empty());
        let figures = ["failover_ms.p50", "failover_ms.most", "verdict.pass", "failover_ms.p42", "nothing"];
        assert_eq!(figures.map(|f| numbers.cells[0].figure(f)), [Some(2.0), Some(3.0), Some(0.0), None, None]);
    }

    #[test]
    fn what_is_added_up_and_what_is_not() {
        let mut sum = Cell::default();
        sum.count([("writes", 2), ("leaders_max", 2)]);
        sum.count([("writes", 3), ("leaders_max", 1)]);
        assert_eq!((sum.figure("writes"), sum.figure("leaders_max")), (Some(5.0), Some(2.0)));
    }

    #[test]
    fn the_first_difference_is_named() {
        let committed = numbers(vec![cell("a", ""), cell("b", "")]);
        assert_eq!(committed.difference(&committed), None);
        let mut now = committed.clone();
        now.cells[1].spreads.get_mut("failover_ms").unwrap().p50 = 2.5;
        let says = "1/clean-kill/b: spreads.failover_ms.p50 was 2.0, and is 2.5";
        assert_eq!(now.difference(&committed).as_deref(), Some(says));
        let fewer = numbers(vec![cell("a", "")]);
        let says = "1/clean-kill/b is committed, and was not measured";
        assert_eq!(fewer.difference(&committed).as_deref(), Some(says));
        assert_eq!(committed.difference(&fewer).as_deref(), Some("1/clean-kill/b is not among the committed"));
    }
}
