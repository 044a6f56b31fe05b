//! Holds a sweep's figures to a committed baseline: a range per cell and figure.
//!
//! Safety invariants do not notice a protocol that elects twice as often as it must, or renews ten times as often.
//! `sweep … --record-baseline FILE` records the figures of a sweep's cells; later sweeps with the same options are
//! compared with it, and figures far outside their range are reported. A deliberate change records a new baseline, and
//! the commit says why.

mod committed;
mod far;
pub mod marks;
pub mod runs;
mod shares;

use crate::{exact, run::Run};
pub use committed::Unreadable;
pub use far::{FIGURES, Figure};
use reports::{Metrics, invariant::Entry, statistics::quantile};
use serde::{Deserialize, Serialize};
pub use shares::Shares;
use std::collections::{BTreeMap, BTreeSet};

/// The prefix of the figures that count election messages by kind.
const OF_A_KIND: &str = "messages: ";
/// Message counts that differ by at most this never count as moved.
const OF_A_KIND_FLOOR: f64 = 10.0;

/// The figures of a cell's runs by name, in the order of the runs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    #[serde(with = "exact::lists")]
    figures: BTreeMap<String, Vec<f64>>,
    shares: Shares,
    runs: usize,
    #[serde(default)]
    pub(crate) digests: runs::Digests,
}

impl Seen {
    /// Adds a run.
    pub fn add(&mut self, run: &Run) {
        self.add_figures(&run.judgement.metrics);
        self.shares.add(run);
        self.runs += 1;
        runs::add(&mut self.digests, run.plan.seed, run.trace_hash());
    }

    /// Adds runs of the same cell.
    pub fn join(&mut self, more: &Seen) {
        for (figure, values) in &more.figures {
            self.figures.entry(figure.clone()).or_default().extend(values);
        }
        for (name, runs) in &more.shares.0 {
            *self.shares.0.entry(name.clone()).or_default() += runs;
        }
        self.runs += more.runs;
        self.digests.extend(&more.digests);
    }

    fn add_figures(&mut self, metrics: &Metrics) {
        for figure in &FIGURES {
            self.figures.entry(figure.name.to_owned()).or_default().extend((figure.of)(metrics));
        }
        for (kind, messages) in &metrics.messages_by_kind {
            self.figures.entry(format!("{OF_A_KIND}{kind}")).or_default().push(*messages as f64);
        }
    }

    /// The recorded values of a figure. A run that did not count a kind of message sent none of it.
    fn values(&self, figure: &str) -> Vec<f64> {
        let mut values = self.figures.get(figure).cloned().unwrap_or_default();
        if figure.starts_with(OF_A_KIND) {
            values.resize(self.runs, 0.0);
        }
        values
    }
}

/// The distribution of a figure over a cell's recorded runs.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "[f64; 5]", into = "[f64; 5]")]
pub struct Range {
    pub min: f64,
    pub p05: f64,
    pub p50: f64,
    pub p95: f64,
    pub max: f64,
}

impl From<[f64; 5]> for Range {
    fn from([min, p05, p50, p95, max]: [f64; 5]) -> Self {
        Range { min, p05, p50, p95, max }
    }
}

impl From<Range> for [f64; 5] {
    fn from(Range { min, p05, p50, p95, max }: Range) -> Self {
        [min, p05, p50, p95, max]
    }
}

impl Range {
    /// `None` if there are no values.
    fn of(values: &[f64]) -> Option<Range> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |q| quantile(&sorted, q).map(|value| (value * 10.0).round() / 10.0);
        Some(Range { min: at(0.0)?, p05: at(0.05)?, p50: at(0.5)?, p95: at(0.95)?, max: at(1.0)? })
    }
}

/// A figure far outside its recorded range.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Moved {
    /// The cell, as in the baseline: scenario, protocol, candidates.
    pub cell: String,
    pub figure: String,
    /// The recorded range.
    pub was: Range,
    /// The value now.
    pub is: f64,
    /// What the value now is.
    pub by: By,
    /// The number of runs it was measured over.
    pub runs: usize,
}

/// In what way a figure is far outside its range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The median of the runs.
    Median,
    /// One run, far beyond any recorded.
    OneRun,
    /// More runs lie beyond all recorded ones than chance explains.
    Many,
    /// The percentage of runs in which something was seen.
    Share,
}

/// One sentence for people.
impl std::fmt::Display for Moved {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Moved { cell, figure, was, is, by, runs } = self;
        let Range { min, p50, max, .. } = was;
        let what = match by {
            By::Median => "has the median",
            By::OneRun => "reached",
            By::Many => "is far too often as extreme as",
            By::Share => return write!(f, "{cell}: {figure} in {is:.0} % of {runs} runs; it was {p50:.0} %"),
        };
        write!(f, "{cell}: {figure} {what} {is} in {runs} runs; it was {min} to {max}, median {p50}")
    }
}

/// The recorded ranges, and the options they were recorded with.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The version of this format: 3.
    pub schema: u32,
    /// The options of the recorded sweep, without seeds; other sweeps are not comparable.
    pub options: String,
    /// The seed range of every cell that is not in `seeds_of`.
    pub seeds: [u64; 2],
    /// The seed ranges of cells recorded with other seeds.
    #[serde(default)]
    pub seeds_of: BTreeMap<String, [u64; 2]>,
    /// Ranges by cell and figure.
    pub cells: BTreeMap<String, BTreeMap<String, Range>>,
    /// By cell, the number of runs that reached each coverage mark or violated each invariant. Names with zero runs are
    /// omitted.
    pub shares: BTreeMap<String, BTreeMap<String, u64>>,
    /// The number of runs by cell.
    pub runs: BTreeMap<String, u64>,
    /// The number of runs that had a figure, by cell and figure, if not all had it.
    #[serde(default)]
    pub values: BTreeMap<String, BTreeMap<String, u64>>,
    /// The coverage marks and invariants that existed at the time, seen or not.
    #[serde(default)]
    pub knows: BTreeSet<String>,
}

impl Baseline {
    /// Records the results of a sweep. `knows` has the invariants, and marks that no run may have reached.
    pub fn record<'a>(
        options: String,
        seeds: [u64; 2],
        knows: BTreeSet<String>,
        cells: impl IntoIterator<Item = (String, &'a Seen)>,
    ) -> Baseline {
        let ranges = |seen: &Seen| {
            let ranges = seen.figures.keys().filter_map(|name| Some((name.clone(), Range::of(&seen.values(name))?)));
            ranges.collect()
        };
        let mut baseline = Baseline { schema: 3, options, seeds, knows, ..Baseline::default() };
        for (name, seen) in cells {
            baseline.knows.extend(seen.shares.marks().cloned());
            baseline.cells.insert(name.clone(), ranges(seen));
            baseline.shares.insert(name.clone(), seen.shares.0.clone());
            let some = seen.figures.keys().map(|figure| (figure.clone(), seen.values(figure).len() as u64));
            let some: BTreeMap<_, _> = some.filter(|(_, values)| *values != seen.runs as u64).collect();
            if !some.is_empty() {
                baseline.values.insert(name.clone(), some);
            }
            baseline.runs.insert(name, seen.runs as u64);
        }
        baseline
    }

    /// The seed range of a cell.
    fn seeds_of(&self, cell: &str) -> [u64; 2] {
        self.seeds_of.get(cell).copied().unwrap_or(self.seeds)
    }

    /// Records the results of a swarm. Its plans have little in common, so its figures have no range; instead, the
    /// share of runs in which a figure exceeds a limit is recorded.
    pub fn record_swarm<'a>(
        options: String,
        seeds: [u64; 2],
        knows: BTreeSet<String>,
        cells: impl IntoIterator<Item = (String, &'a Seen)>,
    ) -> Baseline {
        let mut baseline = Baseline { schema: 3, options, seeds, knows, ..Baseline::default() };
        for (name, seen) in cells {
            baseline.knows.extend(seen.shares.marks().cloned());
            baseline.cells.insert(name.clone(), BTreeMap::new());
            baseline.shares.insert(name.clone(), seen.shares.with_limits(&seen.figures).0);
            baseline.runs.insert(name, seen.runs as u64);
        }
        baseline
    }

    /// The committed form: one line per cell, so that changes are readable.
    pub fn to_json(&self) -> String {
        let Baseline { schema, options, seeds, seeds_of, cells, shares, runs, values, knows } = self;
        let parts = [
            ("schema", text(schema)),
            ("options", text(options)),
            ("seeds", text(seeds)),
            ("seeds_of", text(seeds_of)),
            ("cells", lines(cells)),
            ("shares", lines(shares)),
            ("runs", lines(runs)),
            ("values", lines(values)),
            ("knows", text(knows)),
        ];
        let parts = parts.map(|(name, part)| format!("  \"{name}\": {part}"));
        format!("{{\n{}\n}}\n", parts.join(",\n"))
    }

    /// The coverage marks seen and the given invariants that did not exist when this was recorded, in words: their
    /// usual frequency is unknown.
    pub fn unrecorded<'a>(
        &self,
        invariants: &[&'static Entry],
        seen: impl IntoIterator<Item = &'a Seen>,
    ) -> Vec<String> {
        let reached = seen.into_iter().flat_map(|seen| seen.shares.marks()).cloned();
        let now: BTreeSet<String> = reached.chain(marks::invariants(invariants)).collect();
        now.difference(&self.knows).map(|name| shares::text(name)).collect()
    }

    /// The figures of a cell that lie far outside the record; none for a cell that was not recorded.
    pub fn moved(&self, cell: &str, seeds: &std::ops::Range<u64>, seen: &Seen) -> Vec<Moved> {
        let (Some(ranges), Some(shares), Some(runs)) =
            (self.cells.get(cell), self.shares.get(cell), self.runs.get(cell))
        else {
            return Vec::new();
        };
        let [from, to] = self.seeds_of(cell);
        let known = from <= seeds.start && seeds.end <= to;
        let values = |figure: &str| self.values.get(cell).and_then(|of| of.get(figure)).copied().unwrap_or(*runs);
        let mut moved = match ranges.is_empty() {
            true => Vec::new(),
            false => far::out_of_range(cell, ranges, &far::Recorded { known, values: &values }, seen),
        };
        let shares_of = seen.shares.of(&self.knows);
        for (figure, was, is) in shares_of.moved(seen.runs as u64, &seen.figures, (shares, *runs), known) {
            let percent = |n: u64, of: u64| n as f64 * 100.0 / of.max(1) as f64;
            let (was, is) = ([percent(was, *runs); 5].into(), percent(is, seen.runs as u64));
            moved.push(Moved { cell: cell.to_owned(), figure, was, is, by: By::Share, runs: seen.runs });
        }
        moved
    }
}

/// One line per cell.
fn lines(cells: &BTreeMap<String, impl Serialize>) -> String {
    let lines: Vec<String> = cells.iter().map(|(name, cell)| format!("    {}: {}", text(name), text(cell))).collect();
    format!("{{\n{}\n  }}", lines.join(",\n"))
}

/// Compact JSON.
fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a baseline has string keys and finite numbers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use reports::invariant;

    fn seen(values: impl IntoIterator<Item = f64>) -> Seen {
        let values: Vec<f64> = values.into_iter().collect();
        let figures = BTreeMap::from([("dark_ms".to_owned(), values.clone())]);
        Seen { runs: values.len(), figures, ..Seen::default() }
    }

    fn baseline() -> Baseline {
        let runs = seen((0..100).map(|n| 400.0 + f64::from(n)));
        Baseline::record(
            "--rate 200".into(),
            [0, 100],
            marks::invariants(&invariant::ALL).collect(),
            [("steady raft 3".to_owned(), &runs)],
        )
    }

    fn moved(values: impl IntoIterator<Item = f64>) -> Vec<Moved> {
        baseline().moved("steady raft 3", &(0..20), &seen(values))
    }

    #[test]
    fn what_lies_within_the_range_has_not_moved() {
        assert_eq!(moved((0..20).map(|n| 380.0 + f64::from(n) * 10.0)), []);
        assert_eq!(baseline().moved("steady raft 5", &(0..20), &seen([9_999.0; 20])), []);
    }

    #[test]
    fn a_median_far_outside_is_told_with_what_it_was() {
        let moved = moved([700.0; 20]);
        assert_eq!(moved.len(), 1);
        let text = "steady raft 3: dark_ms has the median 700 in 20 runs; it was 400 to 499, median 449";
        assert_eq!(moved[0].to_string(), text);
        assert!(!self::moved([200.0; 20]).is_empty(), "too little is as strange as too much");
    }

    #[test]
    fn one_run_much_farther_out_than_any_before_is_told() {
        let mut values = vec![450.0; 20];
        values[7] = 5_000.0;
        assert_eq!(moved(values.clone())[0].by, By::OneRun);
        let new = baseline().moved("steady raft 3", &(90..110), &seen(values.clone()));
        assert_eq!(new, [], "seeds from 100 on were not recorded");
        values[7] = 560.0;
        assert_eq!(moved(values), []);
    }

    #[test]
    fn what_there_was_not_when_it_was_recorded_is_said_and_has_not_moved() {
        let violated = |runs| Shares(BTreeMap::from([("violates liveness".to_owned(), runs)]));
        let seen = |runs| Seen { runs: 20, shares: violated(runs), ..Seen::default() };
        let mut baseline = Baseline::record(
            String::new(),
            [0, 20],
            marks::invariants(&invariant::ALL).collect(),
            [("steady raft 3".to_owned(), &seen(0))],
        );
        assert_eq!(baseline.unrecorded(&invariant::ALL, []), Vec::<String>::new());
        assert_eq!(baseline.moved("steady raft 3", &(0..20), &seen(20)).len(), 1);
        baseline.knows.remove("violates liveness");
        assert_eq!(baseline.unrecorded(&invariant::ALL, []), ["violates liveness"]);
        assert_eq!(baseline.moved("steady raft 3", &(0..20), &seen(20)), []);
    }

    #[test]
    fn what_was_written_is_read_again() {
        let text = baseline().to_json();
        assert_eq!(serde_json::from_str::<Baseline>(&text).unwrap(), baseline());
        for committed in [Baseline::committed(), Baseline::committed_swarm()] {
            assert!(!committed.expect("it is a baseline").cells.is_empty());
        }
    }
}
