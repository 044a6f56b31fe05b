//! The outcome of a sweep's run, in one of four words.
//!
//! | word | means |
//! |---|---|
//! | kept | what was promised of the run held |
//! | broken | what was promised of the run did not hold |
//! | inconclusive | the situation under test never arose, so nothing was tried |
//! | invalid | no plan could be made from the parameters, so nothing ran |

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    Kept,
    Broken,
    Inconclusive,
    Invalid,
}

impl Ended {
    pub const fn word(self) -> &'static str {
        match self {
            Ended::Kept => "kept",
            Ended::Broken => "broken",
            Ended::Inconclusive => "inconclusive",
            Ended::Invalid => "invalid",
        }
    }
}

/// A run whose outcome is not [`Ended::Kept`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Failure {
    pub scenario: String,
    pub protocol: String,
    /// The number of candidates.
    pub nodes: u16,
    pub seed: u64,
    pub fencing: protocols::fence::checks::Fencing,
    pub outcome: Ended,
    /// `pass`, `safety`, `vacuous`, `liveness`, or `harness`.
    pub verdict: String,
    pub violated: Vec<String>,
    /// Why the promise is broken, or why nothing was tried: one sentence.
    pub why: String,
    pub trace_hash: String,
    /// The command that repeats it.
    pub repro: String,
    /// Its artifacts, if written.
    pub artifacts: Option<String>,
    /// What happened, in a few sentences, if its artifacts were written.
    pub cause: Option<String>,
    #[serde(skip)]
    pub plan: Option<Box<scenarios::plan::Plan>>,
}

/// Failed runs with probably one cause: in one cell, with the same invariants, and with sentences that differ only in
/// numbers.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Group {
    pub scenario: String,
    pub protocol: String,
    /// The number of candidates.
    pub nodes: u16,
    pub outcome: Ended,
    /// The number of runs.
    pub runs: u64,
    /// The first few seeds.
    pub seeds: Vec<u64>,
    /// The first seed's reason.
    pub why: String,
    /// What happened in the first seed's run, in a few sentences, if determined.
    pub cause: Option<String>,
    /// The first seed's artifacts, if written.
    pub artifacts: Option<String>,
    /// The command that repeats the first seed.
    pub repro: String,
}

impl Group {
    /// The reason without the judge's findings: for use where the cause is told, which says more.
    pub fn in_short(&self) -> &str {
        self.why.split_once(": ").map_or(&self.why, |(why, _)| why)
    }
}

/// The most seeds listed for a group.
const SEEDS_MAX: usize = 3;

/// The indices of the failures, the first of each cause before all others.
pub fn telling(failures: &[Failure]) -> Vec<usize> {
    let mut causes = BTreeSet::new();
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for (place, failure) in failures.iter().enumerate() {
        if causes.insert(cause(failure)) { first.push(place) } else { others.push(place) }
    }
    first.extend(others);
    first
}

/// Keeps a run that is permitted to be unsafe, if no run of its cell has violated the same before.
pub fn note(known: &mut Vec<Failure>, run: Failure) {
    let cell = |of: &Failure| (of.scenario.clone(), of.protocol.clone(), of.nodes, of.violated.clone());
    // Runs of one cell are adjacent.
    let mut before = known.iter().rev().take_while(|before| before.scenario == run.scenario);
    if before.all(|before| cell(before) != cell(&run)) {
        known.push(run);
    }
}

/// The indices of the runs, one of each scenario before a second of any.
pub fn varied(runs: &[Failure]) -> Vec<usize> {
    let mut met = BTreeMap::new();
    let rank = |run: &Failure| {
        let rank = met.entry(run.scenario.clone()).or_insert(0);
        *rank += 1;
        *rank
    };
    let ranks: Vec<u64> = runs.iter().map(rank).collect();
    let mut places: Vec<usize> = (0..runs.len()).collect();
    places.sort_by_key(|place| ranks[*place]);
    places
}

/// What failures of one cause have in common.
fn cause(failure: &Failure) -> (&str, &str, u16, Ended, String) {
    let cause = format!("{} {} {}", failure.verdict, failure.violated.join(","), shape(&failure.why));
    (failure.scenario.as_str(), failure.protocol.as_str(), failure.nodes, failure.outcome, cause)
}

/// The failures grouped by cause, largest groups first.
pub fn groups(failures: &[Failure]) -> Vec<Group> {
    let mut places: BTreeMap<(&str, &str, u16, Ended, String), usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for failure in failures {
        let place = *places.entry(cause(failure)).or_insert_with(|| {
            groups.push(Group {
                scenario: failure.scenario.clone(),
                protocol: failure.protocol.clone(),
                nodes: failure.nodes,
                outcome: failure.outcome,
                runs: 0,
                seeds: Vec::new(),
                why: failure.why.clone(),
                cause: failure.cause.clone(),
                artifacts: failure.artifacts.clone(),
                repro: failure.repro.clone(),
            });
            groups.len() - 1
        });
        groups[place].runs += 1;
        if groups[place].seeds.len() < SEEDS_MAX {
            groups[place].seeds.push(failure.seed);
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.runs));
    groups
}

/// A sentence without what varies by seed: numbers with their units, and node numbers.
fn shape(sentence: &str) -> String {
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let mut words: Vec<String> = Vec::new();
    for word in sentence.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let unit = ["s", "ms", "µs", "min"].contains(&bare) && words.last().is_some_and(|last| last == "#");
        if unit {
            continue;
        }
        if is_number(bare) {
            words.push("#".to_owned());
        } else {
            words.push(word.chars().filter(|c| !c.is_ascii_digit()).collect());
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(seed: u64, verdict: &str, why: &str) -> Failure {
        Failure {
            scenario: "gc-pause".into(),
            protocol: "a".into(),
            nodes: 3,
            seed,
            fencing: true.into(),
            outcome: if verdict == "vacuous" { Ended::Inconclusive } else { Ended::Broken },
            verdict: verdict.into(),
            violated: Vec::new(),
            why: why.into(),
            trace_hash: String::new(),
            repro: format!("--seed {seed}"),
            artifacts: None,
            cause: None,
            plan: None,
        }
    }

    #[test]
    fn failures_of_one_cause_are_one_group() {
        let two =
            "2 incarnations took effect on sequence at once: n1 (token 5) and n3 (token 9), from 4.1 s for 812 µs";
        let other =
            "2 incarnations took effect on sequence at once: n2 (token 7) and n1 (token 8), from 12 s for 1.5 ms";
        let failures = [failure(4, "safety", "a number twice"), failure(7, "safety", two), failure(9, "safety", other)];
        let groups = groups(&failures);
        assert_eq!(
            groups.iter().map(|g| (g.runs, g.seeds.clone())).collect::<Vec<_>>(),
            [(2, vec![7, 9]), (1, vec![4])]
        );
        assert_eq!((groups[0].why.as_str(), groups[0].repro.as_str()), (two, "--seed 7"));
        let again = [failures[1].clone(), failures[2].clone(), failures[0].clone()];
        assert_eq!(telling(&again), [0, 2, 1], "the first of each cause, then the others");
    }
}
