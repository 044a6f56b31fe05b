//! `sweep`: many seeds, a progress bar, a table, artifacts for each failure.

use super::{
    args::jobs_or_cores,
    ends::{self, exit_code},
    exit::Stop,
    junit,
    output::{Show, print},
    plan_file,
    progress::Progress,
    shard::{Open, Place},
    shown::{self, watched},
};
use reports::{
    json::pretty,
    statistics::{count, rounded},
    text::{paragraph, wrap},
    timeline::page::FILE as TIMELINE,
};
use scenarios::plan::SWARM;
use serde_json::json;
use sim::{
    artifacts::{self, Again},
    canary, known,
    merge::{Asked, Shard, Took},
    outcome::{Failure, Group, groups, telling, varied},
    reduce::futures,
    registry::Registry,
    repro,
    sweep::{Cell, Outcome, Sweep},
};
use std::{path::Path, time::Instant};

/// Artifacts are written for this many runs, failures first; others are only listed.
pub(super) const ARTIFACTS_MAX: usize = 20;
/// This many causes are printed; `summary.json` has all.
const GROUPS_MAX: usize = 20;

/// Runs the sweep, prints the outcome, writes its figures to `record` as a baseline, and returns the exit code.
///
/// # Errors
/// The parameters make no sense, there is nothing to run, or a file could not be written.
pub fn run(sweep: &Sweep, show: Show, place: &Place, record: Option<&Path>) -> Result<u8, Stop> {
    sweep.check()?;
    ends::listen()?;
    let asked = Asked::of(sweep);
    let to = place.open(&asked)?;
    let progress = Progress::new(sweep.runs(), show)?;
    let started = Instant::now();
    let mut outcome = sweep.watching(&watched(sweep), |ended| progress.done(ended))?;
    let wall_s = started.elapsed().as_secs_f64();
    progress.finish();
    to.written(keep_artifacts(&mut outcome, sweep.registry, sweep.shard.1 > 1, &to.folder()))?;
    to.name(&mut outcome);
    let jobs = sweep.jobs as u64;
    let took = Took { runs_planned: sweep.runs(), wall_s, jobs, core_s: wall_s * jobs as f64 };
    to.leave(|| Shard::of(sweep.shard, &asked, took, &outcome, to.out()))?;
    if let Some(file) = record {
        let earlier = std::fs::read_to_string(file).unwrap_or_default();
        artifacts::save(file, &sweep.recorded(&outcome, file, &earlier)?)?;
    }
    conclude(&outcome, &Told { asked: &asked, took, shard: sweep.shard }, show, &to)
}

/// A sweep's context for its report.
pub(super) struct Told<'a> {
    /// The sweep's arguments.
    pub asked: &'a Asked,
    /// Its duration and size.
    pub took: Took,
    /// Which part of all runs it did, and of how many parts.
    pub shard: (u64, u64),
}

/// Writes a sweep's files, prints the outcome, and returns the exit code.
///
/// # Errors
/// A file could not be written.
pub(super) fn conclude(outcome: &Outcome, told: &Told, show: Show, to: &Open) -> Result<u8, Stop> {
    let summary = summary(outcome, told);
    to.written(save_files(outcome, &summary, told.took.wall_s, &to.folder()))?;
    to.close()?;
    if show.json {
        print(&summary);
    } else {
        if !show.quiet {
            print(&table(&outcome.cells, show));
        }
        let (causes, bugs) = (causes(outcome, show.width()), shown::lines(&outcome.bugs));
        print(&[causes, moved(outcome), ending(outcome, told.took, to.out()), bugs].concat());
    }
    Ok(exit_code(outcome))
}

/// The failures, one line per cause, each with a run that shows it.
pub(super) fn causes(outcome: &Outcome, width: usize) -> String {
    let all: Vec<Group> = groups(&outcome.failures).into_iter().chain(groups(&outcome.inconclusive)).collect();
    let line = |group: &Group| {
        let seeds: Vec<String> = group.seeds.iter().map(u64::to_string).collect();
        let more = if group.runs > seeds.len() as u64 { ", …" } else { "" };
        let seed = if group.runs == 1 { "seed" } else { "seeds" };
        let (word, runs, nodes) = (group.outcome.word(), count(group.runs, "run"), count(group.nodes.into(), "node"));
        let (scenario, protocol) = (&group.scenario, &group.protocol);
        let head = format!(
            "{} {scenario} {protocol}, {nodes}: {runs}, {seed} {}{more}\n",
            word.to_uppercase(),
            seeds.join(", ")
        );
        let told = |what: &str, text: &str| match text.is_empty() {
            true => String::new(),
            false => paragraph(&format!("{what}: {text}"), width),
        };
        let page =
            group.artifacts.as_ref().map(|folder| Path::new(folder).join(TIMELINE)).filter(|page| page.is_file());
        let page = page.map_or_else(String::new, |page| format!("  timeline: {}\n", page.display()));
        let cause = told("what happened", group.cause.as_deref().unwrap_or_default());
        let why = if cause.is_empty() { &group.why } else { group.in_short() };
        format!("{head}{cause}{}{page}  run it: {}\n{}", told("why", why), group.repro, explained(group))
    };
    let mut text: String = all.iter().take(GROUPS_MAX).map(line).collect();
    if all.len() > GROUPS_MAX {
        text += &format!("… and {} more causes, in summary.json\n", all.len() - GROUPS_MAX);
    }
    text
}

/// The command that explains a failure of a generated plan, which may have many faults.
fn explained(group: &Group) -> String {
    let capsule = group.artifacts.as_ref().map(|folder| Path::new(folder).join("capsule.json"));
    let capsule = capsule.filter(|file| group.scenario == SWARM && file.is_file());
    capsule.map_or_else(String::new, |file| {
        format!("  explain it: {}\n", repro::command(&["explain".to_owned(), plan_file::whole_path(&file)]))
    })
}

/// The figures far outside the baseline, one line each, and the cells without a baseline.
pub(super) fn moved(outcome: &Outcome) -> String {
    let mut text: String = outcome.moved.iter().take(GROUPS_MAX).map(|moved| format!("MOVED {moved}\n")).collect();
    if outcome.moved.len() > GROUPS_MAX {
        text += &format!("… and {} more figures, in summary.json\n", outcome.moved.len() - GROUPS_MAX);
    }
    if !outcome.without_baseline.is_empty() {
        text +=
            &format!("no baseline yet, to be recorded by --record-baseline: {}\n", outcome.without_baseline.join(", "));
    }
    text
}

/// The last line of the output.
fn ending(outcome: &Outcome, took: Took, out: &Path) -> String {
    let of = |n: fn(&Cell) -> u64| outcome.cells.iter().map(n).sum::<u64>();
    let runs = outcome.runs();
    let done = match outcome.interrupted {
        true => format!("INTERRUPTED after {runs} of {} runs", took.runs_planned),
        false => count(runs, "run"),
    };
    let invalid = match of(|c| c.invalid) {
        0 => String::new(),
        invalid => format!(", {invalid} invalid"),
    };
    let met = outcome.cells.iter().filter(|cell| cell.runs > 0).map(|cell| cell.scenario.as_str());
    let canaries = canary::summary(met, outcome.interrupted);
    let (all, per_core) = (runs as f64 / took.wall_s, runs as f64 / took.core_s);
    format!(
        "{done}: {} kept, {} broken, {} inconclusive{invalid}{canaries}; {}; {all:.1} runs/s, {per_core:.1} per core; summary in {}\n",
        of(|c| c.kept),
        of(|c| c.broken),
        of(|c| c.inconclusive),
        known::summary(&outcome.failures),
        out.join("summary.json").display()
    )
}

/// Writes the artifacts of some failures, the first of each cause before all others, and then the pages of some runs
/// that were unsafe as their promise allows. Forgets the others of these.
///
/// # Errors
/// A file could not be written, or a run was not deterministic.
pub(super) fn keep_artifacts(seen: &mut Outcome, registry: &Registry, shard: bool, out: &Path) -> Result<(), Stop> {
    known::keep(&mut seen.failures, out)?;
    // An interrupted one must end without more runs.
    let artifacts = if seen.interrupted { 0 } else { ARTIFACTS_MAX };
    for place in telling(&seen.failures).into_iter().take(artifacts) {
        let failure = &mut seen.failures[place];
        if let Some(plan) = failure.plan.as_ref().filter(|_| failure.verdict != "harness") {
            let mut run = artifacts::repeat(plan, registry, &failure.trace_hash, None)?;
            let inevitable = futures::add_to(&mut run, registry, jobs_or_cores(None))?;
            let again = Again { repro: &failure.repro, meaning: None, next: &[] };
            let written = artifacts::leave(out, &run, again)?;
            failure.artifacts = Some(written.folder.display().to_string());
            // A run that passes broke a promise about figures, or one to break: its events do not explain that.
            failure.cause = (failure.verdict != "pass").then(|| written.cause.text() + &inevitable);
        }
    }
    // A shard cannot tell which runs the whole sweep would have shown.
    let artifacts = if shard { 0 } else { artifacts };
    let left = artifacts - seen.failures.len().min(artifacts);
    let mut runs = std::mem::take(&mut seen.unsafe_runs);
    for place in varied(&runs).into_iter().take(left) {
        let run = &mut runs[place];
        if let Some(plan) = &run.plan {
            let again = Again { repro: &run.repro, meaning: None, next: &[] };
            let written = artifacts::show(out, plan, registry, again)?;
            run.artifacts = Some(written.folder.display().to_string());
            run.cause = Some(written.cause.text());
        }
    }
    seen.unsafe_runs = runs.into_iter().filter(|run| run.artifacts.is_some()).collect();
    Ok(())
}

/// Writes `failures.ndjson`, `inconclusive.ndjson`, `junit.xml` and `summary.json`.
///
/// # Errors
/// A file could not be written.
pub(super) fn save_files(outcome: &Outcome, summary: &str, seconds: f64, out: &Path) -> Result<(), Stop> {
    std::fs::create_dir_all(out).map_err(|e| Stop::usage(format!("cannot make {}: {e}", out.display())))?;
    let line = |failure: &Failure| serde_json::to_string(failure).unwrap_or_default() + "\n";
    for (name, listed) in [("failures.ndjson", &outcome.failures), ("inconclusive.ndjson", &outcome.inconclusive)] {
        let lines: String = listed.iter().map(line).collect();
        artifacts::save(&out.join(name), &lines)?;
    }
    artifacts::save(&out.join("junit.xml"), &junit::document(outcome, seconds))?;
    artifacts::save(&out.join("summary.json"), &format!("{summary}\n")).map_err(Stop::from)
}

fn summary(outcome: &Outcome, told: &Told) -> String {
    let (Asked { version, commit, compared, nodes, fencing, rate, bug, options, .. }, took) = (told.asked, told.took);
    let runs = outcome.runs();
    let of = |n: fn(&Cell) -> u64| outcome.cells.iter().map(n).sum::<u64>();
    let summary = json!({
        "schema": 1,
        "version": version,
        "commit": commit,
        "seeds": compared.seeds,
        "shard": [told.shard.0, told.shard.1],
        "nodes": nodes,
        "fencing": fencing,
        "rate": rate,
        "bug": bug,
        "options": options,
        "runs": runs,
        "runs_planned": took.runs_planned,
        "known_histories": known::count(),
        "interrupted": outcome.interrupted,
        "kept": of(|c| c.kept),
        "broken": of(|c| c.broken),
        "inconclusive": of(|c| c.inconclusive),
        "invalid": of(|c| c.invalid),
        "failures": outcome.failures.len(),
        "exit": exit_code(outcome),
        "wall_s": rounded(took.wall_s),
        "jobs": took.jobs,
        "runs_per_s": rounded(runs as f64 / took.wall_s),
        "runs_per_s_and_core": rounded(runs as f64 / took.core_s),
        "cells": outcome.cells,
        "unsafe_runs": outcome.unsafe_runs,
        "bugs": outcome.bugs,
        "moved": outcome.moved,
        "without_baseline": outcome.without_baseline,
        "causes": groups(&outcome.failures).into_iter().chain(groups(&outcome.inconclusive)).collect::<Vec<_>>(),
    });
    pretty(&summary)
}

/// Unexplained changes of leadership per run, and those that only a pause explains.
fn needless(cell: &Cell) -> String {
    let per_run = |changes: u64| match changes {
        0 => "0".to_owned(),
        changes => format!("{:.2}", changes as f64 / cell.runs as f64),
    };
    match cell.avoidable_failovers {
        0 => per_run(cell.false_failovers),
        paused => format!("{} ({})", per_run(cell.false_failovers), per_run(paused)),
    }
}

/// The columns to leave out first if the table does not fit; without the number of nodes, rows would repeat.
const LEFT_OUT: [usize; 7] = [10, 11, 9, 12, 4, 7, 5];

/// The meaning of columns whose names do not tell, by index.
const LEGEND: [(usize, &str); 7] = [
    (3, "promise: safety holds, breaks, or may do either; dark: nobody acts in time"),
    (5, "kept, broken: runs that kept that promise, and runs that did not"),
    (8, "unsafe: runs that violated safety, whatever was promised"),
    (9, "fenced: writes refused"),
    (10, "false (paused): needless failovers per run, and how many of them a pause caused"),
    (11, "dual belief: runs in which two nodes believed at once, and the longest overlap"),
    (12, "failover ms: median and 95th percentile"),
];

/// The cells with runs as a table, with as many columns as fit, and the columns' meaning.
fn table(cells: &[Cell], show: Show) -> String {
    let head = [
        "scenario",
        "protocol",
        "nodes",
        "promise",
        "runs",
        "kept",
        "broken",
        "inconclusive",
        "unsafe",
        "fenced",
        "false (paused)",
        "dual belief",
        "failover ms",
    ];
    // An interrupted or partial sweep has cells without runs.
    let rows = cells.iter().filter(|cell| cell.runs > 0).map(|cell| {
        let failover = match (cell.failover_ms_p50, cell.failover_ms_p95) {
            (Some(p50), Some(p95)) => format!("{p50:.0} (p95 {p95:.0})"),
            _ => "–".to_owned(),
        };
        let believed = match cell.dual_belief_runs {
            0 => "never".to_owned(),
            runs => format!("{}, ≤ {:.0} ms", count(runs, "run"), cell.dual_belief_ms_max),
        };
        let failed = match (cell.failures, cell.inconclusive) {
            (0, 0) => "",
            (0, _) => " ?",
            _ => " ✗",
        };
        [
            cell.scenario.clone(),
            cell.protocol.clone(),
            cell.nodes.to_string(),
            format!("{}{failed}", cell.promise),
            cell.runs.to_string(),
            cell.kept.to_string(),
            cell.failures.to_string(),
            cell.inconclusive.to_string(),
            cell.verdicts.get("safety").copied().unwrap_or(0).to_string(),
            cell.writes_fenced.to_string(),
            needless(cell),
            believed,
            failover,
        ]
    });
    let rows: Vec<_> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    let is_number = |column| column == 2 || (4..=10).contains(&column);
    let (table, missing) = fitted(rows, is_number, &LEFT_OUT, show.room());
    let legend = LEGEND.iter().filter(|(column, _)| !missing.contains(column)).map(|(_, meaning)| *meaning);
    let legend = wrap(&legend.collect::<Vec<_>>().join("; "), show.width()).join("\n");
    let missing: Vec<&str> = missing.iter().map(|column| head[*column]).collect();
    let missing = match missing.is_empty() {
        true => String::new(),
        false => format!("no room for {}; summary.json has all\n", missing.join(", ")),
    };
    format!("{table}{missing}{legend}\n")
}

/// [`aligned`], without the first few of the `left_out` columns if the others would not fit; and the omitted columns.
fn fitted<const N: usize>(
    mut rows: Vec<[String; N]>,
    is_number: impl Fn(usize) -> bool,
    left_out: &[usize],
    room: Option<usize>,
) -> (String, Vec<usize>) {
    let mut out: Vec<usize> = Vec::new();
    loop {
        let text = aligned(rows.clone(), &is_number);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let more = left_out.get(out.len()).filter(|_| room.is_some_and(|room| widest > room));
        let Some(more) = more else { return (text, out) };
        rows.iter_mut().for_each(|row| row[*more].clear());
        out.push(*more);
    }
}

/// Aligns rows in columns; the first row is the head. Numbers are aligned right, words left.
pub(super) fn aligned<const N: usize>(rows: Vec<[String; N]>, is_number: impl Fn(usize) -> bool) -> String {
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let pad = " ".repeat(width - cell.chars().count());
            if is_number(column) { format!("{pad}{cell}") } else { format!("{cell}{pad}") }
        });
        // An empty column is left out.
        let cells = cells.zip(&widths).filter(|(_, width)| **width > 0).map(|(cell, _)| cell);
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
