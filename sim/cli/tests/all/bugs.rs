//! Known bugs: the command that `list bugs` names finds each of them, and the same runs hold without it; and `mutants`.
//!
//! `FENCEPOST_UPDATE=1` writes the missing cases of bugs under `seeds/`.

#[path = "../../examples/bugs/shown.rs"]
mod shown;

use protocols::{
    bug::{Bug, ByDesign},
    by_design, known_bugs,
};
use reports::Judgement;
use scenarios::{Case, Plan, capsule::Mended};
use serde_json::Value;
use shown::{each, found, judged, plan};
use sim::shown::shows;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Output},
};

#[test]
#[ignore = "long: .ci/run runs it"]
fn every_bug_is_found_by_its_command_and_by_it_alone() {
    let checked = each(&known_bugs::ALL, |bug: &&'static Bug| {
        let seeds = 0..bug.shown.seeds;
        let with = found(bug, &bug.shown, true, seeds.clone());
        let without = found(bug, &bug.shown, false, seeds);
        (with == 0 || without > 0).then(|| format!("{}: {with} with it, {without} without", bug.id))
    });
    let wrong: Vec<String> = checked.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_wrong_by_design_is_shown_and_so_is_what_is_not() {
    let checked = each(&by_design::ALL, |design: &&'static ByDesign| {
        let ByDesign { bug, mended } = design;
        let with = found(bug, &bug.shown, false, 0..bug.shown.seeds);
        let without = found(bug, mended, false, 0..mended.seeds);
        (with == 0 || without > 0).then(|| format!("{}: {with} of its own, {without} of the mended", bug.id))
    });
    let wrong: Vec<String> = checked.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn seeds_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../seeds")
}

/// The outcome of a plan: its verdict and the violated invariants.
fn outcome(judgement: &Judgement) -> (String, Vec<String>) {
    let violated = judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.name.to_owned()).collect();
    (judgement.verdict.name().to_owned(), violated)
}

#[test]
fn every_bug_has_a_case() {
    let updating = std::env::var_os("FENCEPOST_UPDATE").is_some_and(|v| v == "1");
    each(&known_bugs::ALL, |bug: &&'static Bug| {
        let file = seeds_folder().join(format!("{}.json", bug.id));
        if file.exists() || !updating {
            assert!(file.exists(), "{} is missing; FENCEPOST_UPDATE=1 writes it", file.display());
            return;
        }
        let plans = (0..bug.shown.seeds).map(|seed| plan(&bug.shown, Some(bug), seed));
        let broken = plans.map(|plan| (judged(&plan), plan)).find(|(seen, _)| shows(bug, seen));
        let (judgement, plan) = broken.expect("its command finds it");
        let mended = judged(&Plan { bugs: Vec::new(), ..plan.clone() });
        let ((verdict, violated), (mended_verdict, mended_violated)) = (outcome(&judgement), outcome(&mended));
        let figures = |judgement: &Judgement| {
            let figure = bug.violation.strip_prefix("metrics.");
            let metrics = serde_json::to_value(&judgement.metrics).expect("figures are JSON");
            let value = figure.and_then(|figure| Some((figure.to_owned(), metrics[figure].as_f64()?)));
            value.into_iter().collect::<BTreeMap<_, _>>()
        };
        let story = format!("{} ({}.) Without it the same plan is what `mended` says.", bug.what, bug.source);
        let (figures, mended_figures) = (figures(&judgement), figures(&mended));
        let mended = Some(Mended { verdict: mended_verdict, violated: mended_violated, figures: mended_figures });
        let case = Case { story, verdict, violated, figures, mended, plan };
        let text = serde_json::to_string_pretty(&case).expect("a case is JSON") + "\n";
        std::fs::write(&file, text).expect("the case can be written");
    });
}

// `mutants`: known bugs are detected, and one that is not makes the exit code 1.

fn fencepost(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.env("NO_COLOR", "1").env_remove("CARGO").env_remove("COLUMNS").current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.args(arguments.split(' ')).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_bug_is_detected_in_every_protocol_that_has_it() {
    let output = fencepost("mutants k8s-own-duration kraft-no-check-quorum mixed-locks --json");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code(), Some(0), "{found:#}");
    let mutants = found["mutants"].as_array().expect("a list");
    let named: Vec<_> = mutants.iter().map(|m| (m["id"].as_str(), m["protocol"].as_str())).collect();
    assert!(named.contains(&(Some("mixed-locks"), Some("redis-lease"))), "{named:?}");
    assert!(named.contains(&(Some("mixed-locks"), Some("redis-fenced"))), "{named:?}");
    assert_eq!(mutants.len(), 4, "{named:?}");
    for mutant in mutants {
        assert!(mutant["seeds_to_detection"].as_u64().is_some_and(|seeds| (1..=5).contains(&seeds)), "{mutant:#}");
        assert!(mutant["violated"].as_array().is_some_and(|violated| !violated.is_empty()), "{mutant:#}");
        // The store's fencing hides from the other protocol what the bug does in its own.
        let own = mutant["protocol"] != "redis-fenced";
        assert_eq!(mutant["detected_by"] == mutant["violation"], own, "{mutant:#}");
    }
}

/// Among seeds that do not show the bug, it survives.
#[test]
fn a_survivor_is_named_and_fails() {
    let silent = (0..30).find(|seed| {
        let seeds = format!("{seed}..{}", seed + 1);
        fencepost(&format!("mutants consul-renewal-not-retried --quiet --seeds {seeds}")).status.code() == Some(1)
    });
    let seed = silent.expect("it takes five seeds to find, as the median");
    let output = fencepost(&format!("mutants consul-renewal-not-retried --seeds {seed}..{}", seed + 1));
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("SURVIVED consul-renewal-not-retried in consul-session: none of 1 seed shows"), "{told}");
    assert!(told.ends_with(": 0 detected, 1 survived\n"), "{told}");
}

#[test]
fn an_unknown_bug_gets_the_nearest_and_64() {
    let output = fencepost("mutants mixed-lock");
    let told = text(&output.stderr);
    assert_eq!((output.status.code(), told.contains("did you mean `mixed-locks`?")), (Some(64), true), "{told}");
}
