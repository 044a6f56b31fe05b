//! Records in how many runs of a cell a coverage mark was reached, an invariant violated, or a figure above a limit,
//! and compares later sweeps with it.
//!
//! A branch that was never taken and now is in every run says more than any figure; so does one that is no longer
//! taken.

use super::marks::{ABOVE, VIOLATES, is_mark};
use crate::run::Run;
use reports::statistics::quantile;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Less likely events are not chance. A full sweep tests some 50,000 shares.
const CHANCE_MIN: f64 = 1e-8;
/// The same for recorded seeds, where chance only decides which of them are run again.
const CHANCE_MIN_KNOWN: f64 = 1e-9;
/// A share of recorded seeds that other seeds would show with at least this probability has not moved.
const LIKE_OTHERS: f64 = 1e-4;

/// The number of runs in which each thing was seen; zeros are omitted.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Shares(pub BTreeMap<String, u64>);

impl Shares {
    pub fn add(&mut self, run: &Run) {
        let marks = run.marks.iter().map(|mark| (*mark).to_owned());
        let broken = run.judgement.invariants.iter().filter(|invariant| !invariant.holds);
        for name in marks.chain(broken.map(|invariant| format!("{VIOLATES}{}", invariant.name))) {
            *self.0.entry(name).or_default() += 1;
        }
    }

    /// The coverage marks seen.
    pub fn marks(&self) -> impl Iterator<Item = &String> {
        self.0.keys().filter(|name| is_mark(name))
    }

    /// The shares with these names.
    #[must_use]
    pub fn of(&self, names: &BTreeSet<String>) -> Shares {
        Shares(self.0.iter().filter(|(name, _)| names.contains(*name)).map(|(name, n)| (name.clone(), *n)).collect())
    }

    /// Adds the number of runs in which each figure exceeds its own 5th, 25th, 50th, 75th and 95th percentile.
    #[must_use]
    pub fn with_limits(&self, figures: &BTreeMap<String, Vec<f64>>) -> Shares {
        let mut all = self.clone();
        for (figure, values) in figures {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            for limit in [0.05, 0.25, 0.5, 0.75, 0.95].into_iter().filter_map(|q| quantile(&sorted, q)) {
                let limit = (limit * 10.0).round() / 10.0;
                all.0.insert(format!("{figure}{ABOVE}{limit}"), above(values, limit));
            }
        }
        all
    }

    /// The names whose share of `runs` runs is far from that of the `was.1` recorded runs, with the old and the new
    /// count. `figures` has the values of the runs, for shares of a figure above a limit. `known` tells whether these
    /// seeds were recorded.
    pub fn moved(
        &self,
        runs: u64,
        figures: &BTreeMap<String, Vec<f64>>,
        was: (&BTreeMap<String, u64>, u64),
        known: bool,
    ) -> Vec<(String, u64, u64)> {
        let (before, of) = was;
        let chance = Chance::new(runs + of);
        let only_now = self.0.keys().filter(|name| !before.contains_key(*name));
        let far = |name: &String| {
            let was = before.get(name).copied().unwrap_or(0);
            let is = match name.split_once(ABOVE).map(|(figure, limit)| (figures.get(figure), limit.parse())) {
                Some((values, Ok(limit))) => above(values.map_or(&[][..], Vec::as_slice), limit),
                _ => self.0.get(name).copied().unwrap_or(0),
            };
            let like_others = chance.of((is, runs), (was, of));
            let far = match known && runs <= of {
                true => like_others < LIKE_OTHERS && chance.among((is, runs), (was, of)) < CHANCE_MIN_KNOWN,
                false => like_others < CHANCE_MIN,
            };
            far.then(|| (text(name), was, is))
        };
        before.keys().chain(only_now).filter_map(far).collect()
    }
}

fn above(values: &[f64], limit: f64) -> u64 {
    values.iter().filter(|value| **value > limit).count() as u64
}

/// The name in words.
pub(super) fn text(name: &str) -> String {
    if is_mark(name) { format!("comes to \"{name}\"") } else { name.to_owned() }
}

/// Fisher's exact test, one-sided.
struct Chance {
    /// The logarithms of factorials.
    log_factorial: Vec<f64>,
}

impl Chance {
    /// For two samples with at most `of` runs together.
    fn new(of: u64) -> Chance {
        let mut log_factorial = vec![0.0];
        for n in 1..=of {
            log_factorial.push(log_factorial[n as usize - 1] + (n as f64).ln());
        }
        Chance { log_factorial }
    }

    fn log_choose(&self, n: u64, k: u64) -> f64 {
        let of = |n: u64| self.log_factorial[n as usize];
        of(n) - of(k) - of(n - k)
    }

    /// The smaller tail probability that a part `some` (count, runs) of the known runs `all` shows it as often as it
    /// does; zero if that is impossible.
    fn among(&self, some: (u64, u64), all: (u64, u64)) -> f64 {
        let ((is, runs), (seen, of)) = (some, all);
        let (least, most) = ((runs + seen).saturating_sub(of), seen.min(runs));
        if !(least..=most).contains(&is) {
            return 0.0;
        }
        let whole = self.log_choose(of, runs);
        let exactly = |n: u64| (self.log_choose(seen, n) + self.log_choose(of - seen, runs - n) - whole).exp();
        let (fewer, more) = ((least..=is).map(exactly).sum::<f64>(), (is..=most).map(exactly).sum::<f64>());
        fewer.min(more)
    }

    /// The probability that two samples from one distribution differ at least as much as `a` and `b` (count, runs).
    fn of(&self, a: (u64, u64), b: (u64, u64)) -> f64 {
        let (seen, of) = (a.0 + b.0, a.1 + b.1);
        let all = self.log_choose(of, a.1);
        let exactly = |n: u64| (self.log_choose(seen, n) + self.log_choose(of - seen, a.1 - n) - all).exp();
        let more = a.0 * of > seen * a.1;
        let (least, most) = ((a.1 + seen).saturating_sub(of), seen.min(a.1));
        let mut sum = 0.0;
        let mut n = a.0;
        loop {
            let this = exactly(n);
            sum += this;
            // Terms decrease from here on.
            if n == if more { most } else { least } || this < sum * 1e-9 {
                return sum;
            }
            n = if more { n + 1 } else { n - 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved_if(known: bool, is: u64, runs: u64, was: u64) -> bool {
        let name = || "kraft: the leader has lost its quorum".to_owned();
        let now = Shares(BTreeMap::from([(name(), is)]));
        !now.moved(runs, &BTreeMap::new(), (&BTreeMap::from([(name(), was)]), 60), known).is_empty()
    }

    fn moved(is: u64, runs: u64, was: u64) -> bool {
        moved_if(false, is, runs, was)
    }

    #[test]
    fn runs_that_were_recorded_say_more_than_others() {
        // A mark that no recorded run had, and one that all had.
        assert!(moved_if(true, 5, 12, 0) && !moved(5, 12, 0));
        assert!(moved_if(true, 7, 12, 60) && !moved(7, 12, 60));
        // Any selection of the recorded runs.
        for (is, runs, was) in [(12, 12, 20), (0, 12, 40), (15, 20, 20), (3, 3, 3), (1, 12, 0), (4, 12, 0)] {
            assert!(!moved_if(true, is, runs, was), "{is} of {runs}, and {was} of 60 recorded");
        }
    }

    #[test]
    fn a_share_that_chance_explains_has_not_moved() {
        for (is, runs, was) in [(1, 1, 0), (0, 1, 60), (4, 4, 0), (2, 5, 10), (0, 5, 20), (60, 60, 60), (150, 300, 30)]
        {
            assert!(!moved(is, runs, was), "{is} of {runs}, and {was} of 60 before");
        }
    }

    #[test]
    fn a_share_that_chance_does_not_explain_has() {
        for (is, runs, was) in [(10, 12, 0), (0, 10, 60), (60, 60, 30), (0, 60, 30), (300, 300, 30)] {
            assert!(moved(is, runs, was), "{is} of {runs}, and {was} of 60 before");
        }
    }

    #[test]
    fn what_was_never_seen_is_told_by_its_text() {
        let now = Shares(BTreeMap::from([
            ("kraft: the leader has lost its quorum".to_owned(), 12),
            ("violates liveness".to_owned(), 12),
        ]));
        let told = now.moved(12, &BTreeMap::new(), (&BTreeMap::new(), 60), false);
        let mark = "comes to \"kraft: the leader has lost its quorum\"".to_owned();
        assert_eq!(told, [(mark, 0, 12), ("violates liveness".to_owned(), 0, 12)]);
    }

    #[test]
    fn a_figure_above_its_limits_more_often_has_moved() {
        let figures =
            |values: std::ops::Range<u32>| BTreeMap::from([("dark_ms".to_owned(), values.map(f64::from).collect())]);
        let was = Shares::default().with_limits(&figures(0..1_000));
        assert_eq!(was.0.get("dark_ms above 499"), Some(&500));
        let moved = |values| Shares::default().moved(100, &figures(values), (&was.0, 1_000), false);
        assert_eq!(
            moved(450..550),
            [("dark_ms above 249".to_owned(), 750, 100), ("dark_ms above 749".to_owned(), 250, 0)]
        );
        assert_eq!(moved(900..1_000).len(), 4);
    }

    #[test]
    fn the_test_of_fisher_is_exact() {
        // The lady tasting tea: 3 of 4 and 1 of 4, or worse, has probability 17/70.
        assert!((Chance::new(8).of((3, 4), (1, 4)) - 17.0 / 70.0).abs() < 1e-12);
        assert!((Chance::new(8).of((0, 4), (4, 4)) - 1.0 / 70.0).abs() < 1e-12);
    }
}
