//! Known answers: before a sweep runs anything, it lets its judge judge histories with known verdicts, and checks those
//! verdicts against promises whose answer is known. While the code is correct, no run could reveal that the judge has
//! gone blind.
//!
//! It likewise checks constants, which bounds computed from them would follow (`facts.rs`); laws that electors and
//! members of services obey (`laws.rs`); models of services (`models.rs`); faults, each of which must have its full
//! effect and then end (`faults.rs`); and how long a leader that is cut off believes (`edges.rs`).

mod edges;
mod facts;
mod faults;
mod laws;
mod models;

use crate::{
    artifacts, canary,
    error::FileError,
    outcome::{Ended, Failure},
    promise::{ended, not_kept},
    repro,
    sweep::Cell,
};
use protocols::{
    election::{Bounds, Promise},
    fence::checks::Fencing,
};
use reports::{
    Judgement, Metrics, Verdict,
    invariant::{self, Class, InvariantResult},
    known::{self, Known},
};
use scenarios::scenario::{Live, Promised};
use std::path::Path;

/// The prefix of these cells' names.
pub const PREFIX: &str = "known ";
/// The prefix of the histories' cell names.
const HISTORY: &str = "known history: ";

/// The verdict of a failure that is a wrong answer of the judge.
pub const VERDICT: &str = "known";

/// The number of known histories.
pub fn count() -> u64 {
    known::ALL.len() as u64
}

/// How many histories were judged, and how many of them wrongly, in words.
pub fn summary(failures: &[Failure]) -> String {
    let wrong = |of_histories| {
        let known = failures.iter().filter(|failure| failure.verdict == VERDICT);
        known.filter(|failure| failure.scenario.starts_with(HISTORY) == of_histories).count()
    };
    let judge = match wrong(true) {
        0 => format!("the judge itself passed its {} known histories", count()),
        wrong => format!("THE JUDGE ITSELF FAILED on {wrong} of {} known histories", count()),
    };
    match wrong(false) {
        0 => judge,
        1 => format!("{judge}, and a known constant or law does not hold"),
        others => format!("{judge}, and {others} known constants or laws do not hold"),
    }
}

/// A cell and a failure for each history that is judged wrongly.
pub fn wrong() -> Vec<(Cell, Failure)> {
    let wrong = |known: &Known| {
        let (judged, why) = match known.judge() {
            Ok(judgement) => {
                let why = known.differs(&judgement).or_else(|| misjudged(&judgement));
                let why = why.or_else(|| misjudged(&also_unsafe(judgement.clone())))?;
                (Some(judgement), why)
            }
            Err(why) => (None, format!("it cannot be read: {why}")),
        };
        Some(cell(known, judged.as_ref(), why))
    };
    known::ALL.iter().filter_map(wrong).chain(facts::wrong().map(other)).chain(laws::wrong().map(other)).collect()
}

/// The same for faults and margins.
pub fn wrong_runs() -> Vec<(Cell, Failure)> {
    faults::wrong().chain(edges::wrong()).map(other).collect()
}

/// The cell and the failure of a constant or a law.
fn other((name, why): (String, String)) -> (Cell, Failure) {
    let (mut cell, mut failure) = failed(format!("{PREFIX}{name}"), "harness", why);
    cell.protocol = "all".to_owned();
    failure.protocol.clone_from(&cell.protocol);
    failure.repro = again();
    (cell, failure)
}

/// The command that repeats all these checks.
fn again() -> String {
    repro::command(&["sweep", "steady", "--seeds", "0..1"].map(str::to_owned))
}

fn cell(known: &Known, judged: Option<&Judgement>, why: String) -> (Cell, Failure) {
    let verdict = judged.map_or("harness", |judgement| judgement.verdict.name());
    let (cell, mut failure) = failed(format!("{HISTORY}{}.jsonl", known.name), verdict, why);
    failure.repro = again();
    failure.violated = judged.into_iter().flat_map(Judgement::violated).map(str::to_owned).collect();
    (cell, failure)
}

fn failed(scenario: String, verdict: &str, why: String) -> (Cell, Failure) {
    let cell = Cell {
        scenario: scenario.clone(),
        protocol: "the judge".to_owned(),
        promise: VERDICT.to_owned(),
        runs: 1,
        broken: 1,
        failures: 1,
        verdicts: [(verdict.to_owned(), 1)].into(),
        ..Cell::default()
    };
    let failure = Failure {
        scenario,
        protocol: cell.protocol.clone(),
        nodes: 0,
        seed: 0,
        fencing: Fencing::On,
        outcome: Ended::Broken,
        verdict: VERDICT.to_owned(),
        violated: Vec::new(),
        why,
        trace_hash: String::new(),
        repro: String::new(),
        artifacts: None,
        cause: None,
        plan: None,
    };
    (cell, failure)
}

/// Writes misjudged histories below `out`, so that any `fencepost` can `check` them.
///
/// # Errors
/// A file could not be written.
pub fn keep(failures: &mut [Failure], out: &Path) -> Result<(), FileError> {
    for failure in failures.iter_mut().filter(|failure| failure.verdict == VERDICT) {
        let name = failure.scenario.trim_start_matches(HISTORY);
        let Some(known) = name.strip_suffix(".jsonl").and_then(known::find) else {
            continue;
        };
        let folder = out.join("known");
        std::fs::create_dir_all(&folder).map_err(FileError::of("make", &folder))?;
        let file = std::path::absolute(folder.join(name)).map_err(FileError::of("make", Path::new(name)))?;
        artifacts::save(&file, known.text)?;
        failure.repro = repro::command(&["check".to_owned(), file.display().to_string()]);
        failure.artifacts = Some(file.display().to_string());
    }
    Ok(())
}

/// The same judgement with a safety violation added, which no promise about liveness may excuse.
fn also_unsafe(mut judgement: Judgement) -> Judgement {
    let safety = judgement.invariants.iter_mut().find(|seen| seen.class == Class::Safety);
    if let Some(seen) = safety.filter(|_| judgement.verdict != Verdict::Vacuous) {
        (seen.holds, judgement.verdict) = (false, Verdict::Safety);
    }
    judgement
}

/// The first promise about which a sweep would draw the wrong conclusion from this judgement, in one sentence.
fn misjudged(judgement: &Judgement) -> Option<String> {
    let (none, is) = (Bounds::default(), judgement.verdict);
    let mut wrong = Vec::new();
    let mut holds = |what: &str, safety, liveness, bounds: &Bounds, broken: bool| {
        let must = match (is, broken) {
            (Verdict::Vacuous, _) => Ended::Inconclusive,
            (_, true) => Ended::Broken,
            (_, false) => Ended::Kept,
        };
        let (is, _) = ended(Promised { safety, liveness }, bounds, judgement);
        if is != must {
            wrong.push(format!("{what} must end {}, and ends {}", must.word(), is.word()));
        }
    };
    let violated = |class| judgement.invariants.iter().filter(move |seen| !seen.holds && seen.class == class);
    let is_unsafe = violated(Class::Safety).next().is_some();
    let acts = violated(Class::Liveness).all(|seen| seen.name != "liveness");
    let placed = violated(Class::Liveness).all(|seen| seen.name == "liveness");
    let half_heard = violated(Class::Liveness).all(|seen| seen.while_half_heard);
    let late = is == Verdict::Liveness;
    holds("a promise that it holds", Promise::Holds, Live::Holds, &none, is_unsafe || late);
    holds("a promise of neither", Promise::May, Live::Holds, &none, late);
    holds("a promise not to notice", Promise::May, Live::UnlessHalfHeard, &none, late && !half_heard);
    holds("a promise that nobody acts", Promise::Holds, Live::Breaks, &none, is_unsafe || acts || !placed);
    holds("a promise of nothing", Promise::May, Live::May, &none, late && !placed);
    for seen in judgement.invariants.iter().filter(|seen| seen.class == Class::Safety) {
        let Some(entry) = invariant::ALL.iter().find(|entry| entry.name == seen.name) else { continue };
        let must_break = Promise::Breaks(std::slice::from_ref(&entry.name));
        holds(&format!("a promise to violate {}", seen.name), must_break, Live::Holds, &none, seen.holds);
    }
    if is == Verdict::Pass {
        // Promises about figures apply to each group.
        let most = |figure: fn(&Metrics) -> u64| {
            let groups = judgement.groups.iter().map(|group| figure(&group.metrics)).max();
            groups.unwrap_or_else(|| figure(&judgement.metrics))
        };
        let (elections, false_failovers) = (most(|m| m.elections), most(|m| m.false_failovers));
        let (writes_fenced, writes_duplicate) = (most(|m| m.writes_fenced), most(|m| m.writes_duplicate));
        let all = Bounds {
            elections: Some(elections),
            false_failovers: Some(false_failovers),
            writes_fenced: Some(writes_fenced),
            writes_duplicate: Some(writes_duplicate),
        };
        holds("a promise of as much as there was", Promise::Holds, Live::Holds, &all, false);
        let less = |figure: u64| figure.checked_sub(1);
        for (figure, bounds) in [
            (elections, Bounds { elections: less(elections), ..none }),
            (false_failovers, Bounds { false_failovers: less(false_failovers), ..none }),
            (writes_fenced, Bounds { writes_fenced: less(writes_fenced), ..none }),
            (writes_duplicate, Bounds { writes_duplicate: less(writes_duplicate), ..none }),
        ] {
            holds("a promise of less than there was", Promise::Holds, Live::Holds, &bounds, figure > 0);
        }
    }
    wrong.into_iter().next().or_else(|| of_plans(judgement))
}

/// The same for canaries and generated plans.
fn of_plans(judgement: &Judgement) -> Option<String> {
    let violated: Vec<&str> = judgement.violated().filter(|name| *name != "vacuity").collect();
    let canary = |name| canary::breaks("", std::slice::from_ref(name), |_, _| Err("".into()));
    for entry in invariant::ALL.iter().filter(|entry| entry.name != "vacuity") {
        let canary = canary(&entry.name);
        if canary.missing(judgement).is_some() == violated.contains(&entry.name) {
            return Some(format!("a canary that must violate {} takes it for the opposite", entry.name));
        }
        if canary.shown(judgement).is_some() == violated.is_empty() {
            return Some("a canary without its cause takes it for the opposite".to_owned());
        }
    }
    let held = |safety, liveness, excused: fn(&str) -> bool| {
        not_kept(judgement, Promised { safety, liveness }, excused).map(|kept| kept.0)
    };
    let verdict = |safety, excused| held(safety, Live::Holds, excused);
    let unnoticed = |i: &InvariantResult| !i.holds && i.class == Class::Liveness && i.while_half_heard;
    let unnoticed = judgement.invariants.iter().any(unnoticed);
    let dark = |i: &InvariantResult| !i.holds && i.class == Class::Liveness;
    let liveness = judgement.invariants.iter().any(dark).then_some("liveness");
    let safety = (judgement.verdict == Verdict::Safety).then_some("safety");
    let wrong = verdict(Promise::Holds, |_| false) != safety.or(liveness)
        || verdict(Promise::May, |_| false) != liveness
        || verdict(Promise::Holds, |_| true) != liveness
        || held(Promise::May, Live::UnlessHalfHeard, |_| false) != liveness.filter(|_| !unnoticed);
    let of_plans = wrong.then(|| "a generated plan takes it for something else".to_owned());
    of_plans.or_else(|| laws::misjudged(judgement))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Outcome;

    fn of(name: &str) -> &'static Known {
        known::find(name).expect("a known history")
    }

    #[test]
    fn the_judge_of_this_program_is_right() {
        assert_eq!(wrong(), Vec::new());
        assert!(count() > 150);
    }

    #[test]
    fn a_wrong_answer_is_a_failed_cell_with_a_line_that_repeats_it() {
        let known = of("tokens_monotone-bad");
        let mut blind = known.judge().expect("it can be read");
        blind.invariants.iter_mut().filter(|seen| seen.name == "tokens_monotone").for_each(|seen| seen.holds = true);
        let why = known.differs(&blind).expect("it differs");
        let mut outcome = Outcome::default();
        outcome.judged_wrong(vec![cell(known, Some(&blind), why)]);
        let out = std::env::temp_dir().join(format!("fencepost-known-{}", std::process::id()));
        keep(&mut outcome.failures, &out).expect("the folder can be written");
        let kept = std::fs::read_to_string(out.join("known/tokens_monotone-bad.jsonl")).expect("it was written");
        std::fs::remove_dir_all(&out).expect("it can be removed");
        assert_eq!(kept, known.text);
        let failure = &outcome.failures[0];
        assert!(failure.why.starts_with("the judge must say “✗ tokens_monotone: at 0.003 s"), "{}", failure.why);
        assert!(
            failure.repro.contains(" check ") && failure.repro.contains("tokens_monotone-bad.jsonl"),
            "{failure:?}"
        );
        assert!(summary(&outcome.failures).contains("FAILED on 1 of "));
    }

    #[test]
    fn a_verdict_that_promises_take_for_another_is_told() {
        let judged = |name: &str| of(name).judge().expect("it can be read");
        let mut blind = judged("tokens_monotone-bad");
        blind.verdict = Verdict::Pass;
        assert!(misjudged(&blind).is_some());
        for name in ["tokens_monotone-bad", "liveness-bad", "vacuity-bad", "gc-pause"] {
            assert_eq!(misjudged(&judged(name)), None, "{name}");
        }
    }
}
