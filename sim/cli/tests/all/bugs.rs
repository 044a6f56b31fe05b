//! Every known bug is found by the command that `list bugs` names, and the same runs without it hold.
//!
//! `FENCEPOST_UPDATE=1` writes a case for each under `seeds/`; `cargo test -p sim-cli --test all measured -- --ignored
//! --nocapture` measures how many seeds each takes.

use clap::Parser;
use protocols::{
    bug::{Bug, ByDesign, Shown},
    by_design, known_bugs,
};
use reports::Judgement;
use scenarios::{Params, Plan, scenario};
use serde::Serialize;
use sim::run::{self, Options};
use sim_cli::{
    commands::args::{Cli, Command},
    terminal::parse,
};
use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// What the words of a command mean, with a bug or without.
fn params(shown: &Shown, bug: Option<&Bug>) -> Params {
    let command = shown.command();
    let switch = bug.map_or(Vec::new(), |bug| vec!["--bug", bug.id]);
    let words = ["fencepost"].into_iter().chain(command.split(' ')).chain(switch);
    let cli = Cli::try_parse_from(words).unwrap_or_else(|e| panic!("{command}: {e}"));
    let Command::Sweep { shared, protocol, names, .. } = cli.command else { panic!("{command} is no sweep") };
    let protocols = parse::protocols(&protocol).expect("protocols");
    assert_eq!((names, protocols[0].name), (vec![shown.scenario.to_owned()], shown.protocol));
    shared.plan.sweep_params().unwrap_or_else(|e| panic!("{command}: {e}"))
}

fn plan(shown: &Shown, bug: Option<&Bug>, seed: u64) -> Plan {
    let scenario = scenario::find(shown.scenario).expect("a scenario");
    let protocol = protocols::election::find(shown.protocol).expect("a protocol");
    let command = shown.command();
    scenario.compile(&params(shown, bug), protocol, seed).unwrap_or_else(|e| panic!("{command}: {e}"))
}

fn judged(plan: &Plan) -> Judgement {
    run::run(plan, Options::default()).expect("the run ends").judgement
}

/// Does a run show what the bug is said to do?
fn shows(bug: &Bug, above: u64, judgement: &Judgement) -> bool {
    let Some(figure) = bug.violation.strip_prefix("metrics.") else {
        return judgement.invariants.iter().any(|i| i.name == bug.violation && !i.holds);
    };
    let metrics = serde_json::to_value(&judgement.metrics).expect("figures are JSON");
    metrics[figure].as_f64().unwrap_or_else(|| panic!("{}: there is no figure `{figure}`", bug.id)) > above as f64
}

/// How many of the seeds show it.
fn found(bug: &Bug, shown: &Shown, switch: bool, seeds: Range<u64>) -> u64 {
    let plans = seeds.map(|seed| plan(shown, switch.then_some(bug), seed));
    plans.filter(|plan| shows(bug, bug.shown.above, &judged(plan))).count() as u64
}

/// Does something with each, on two threads; gives back what it says.
fn each<T: Sync, R: Send>(of: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(one) = of.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(one);
                    done.lock().expect("no thread has panicked").push(result);
                }
            });
        }
    });
    done.into_inner().expect("no thread has panicked")
}

#[test]
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

/// A case as `sim/tests/all/seeds.rs` reads it.
#[derive(Serialize)]
struct Case {
    story: String,
    verdict: &'static str,
    violated: Vec<&'static str>,
    mended: Mended,
    plan: Plan,
}

#[derive(Serialize)]
struct Mended {
    verdict: &'static str,
    violated: Vec<&'static str>,
}

fn seeds_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../seeds")
}

/// What a plan comes to: its verdict, and what it violates.
fn outcome(judgement: &Judgement) -> (&'static str, Vec<&'static str>) {
    let violated = judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.name).collect();
    (judgement.verdict.name(), violated)
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
        let broken = plans.map(|plan| (judged(&plan), plan)).find(|(seen, _)| shows(bug, bug.shown.above, seen));
        let (judgement, plan) = broken.expect("its command finds it");
        let mended = judged(&Plan { bugs: Vec::new(), ..plan.clone() });
        let ((verdict, violated), (mended_verdict, mended_violated)) = (outcome(&judgement), outcome(&mended));
        let figure = bug.violation.strip_prefix("metrics.").map_or(String::new(), |figure| {
            let of = |judgement: &Judgement| serde_json::to_value(&judgement.metrics).expect("JSON")[figure].clone();
            format!(" What it moves is `{figure}`: {} with it, {} without.", of(&judgement), of(&mended))
        });
        let story = format!("{} ({}.) Without it the same plan is what `mended` says.{figure}", bug.what, bug.source);
        let mended = Mended { verdict: mended_verdict, violated: mended_violated };
        let case = Case { story, verdict, violated, mended, plan };
        let text = serde_json::to_string_pretty(&case).expect("a case is JSON") + "\n";
        std::fs::write(&file, text).expect("the case can be written");
    });
}

/// Sweeps that have no seed in common.
const SWEEPS: u64 = 20;
/// Seeds of each at most.
const SWEEP_SEEDS: u64 = 50;
/// Seeds that the fixed form is to hold over.
const CLEAN: u64 = 1_000;

#[test]
#[ignore = "takes long: it is for the record"]
fn measured() {
    let only = std::env::var("FENCEPOST_BUGS").unwrap_or_default();
    let clean: u64 = std::env::var("FENCEPOST_CLEAN").ok().and_then(|n| n.parse().ok()).unwrap_or(CLEAN);
    let chosen = known_bugs::ALL.iter().filter(|bug| only.is_empty() || only.split(',').any(|id| id == bug.id));
    each(&chosen.collect::<Vec<_>>(), |bug| {
        let first = |sweep: u64| {
            let mut seeds = sweep * SWEEP_SEEDS..(sweep + 1) * SWEEP_SEEDS;
            let place = seeds.position(|seed| found(bug, &bug.shown, true, seed..seed + 1) > 0);
            place.map_or(u64::MAX, |place| place as u64 + 1)
        };
        let mut taken: Vec<u64> = (0..SWEEPS).map(first).collect();
        taken.sort_unstable();
        let median = taken[taken.len() / 2];
        let missed = taken.iter().filter(|seeds| **seeds == u64::MAX).count();
        let most = taken.iter().filter(|seeds| **seeds != u64::MAX).max();
        let unclean = found(bug, &bug.shown, false, 0..clean);
        println!(
            "{} | {} | median {median} | most {most:?} | {missed} of {SWEEPS} sweeps of {SWEEP_SEEDS} miss | without: \
             {unclean} of {clean}",
            bug.id, bug.violation
        );
    });
}
