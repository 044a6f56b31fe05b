//! `sweep swarm`: generated plans, a table per protocol, and the coverage marks that no run reached.

use super::{
    ends::{self, exit_code},
    exit::Stop,
    output::{Show, print},
    progress::Progress,
    shard::{Open, Place},
    sweep::{Told, aligned, causes, keep_artifacts, moved, save_files},
};
use reports::statistics::{count, rounded};
use serde_json::{Value, json};
use sim::{
    artifacts,
    baseline::marks::rare,
    known,
    merge::{Asked, Shard, Took},
    swarm::{QUIET_RUNS, Swarm, Swept},
};
use std::{collections::BTreeMap, path::Path, time::Instant};

/// Runs the plans, prints the outcome, and returns the exit code.
///
/// # Errors
/// There is nothing to run, a file could not be written, or a run was not deterministic.
pub fn run(swarm: &Swarm, show: Show, place: &Place, record: Option<&Path>) -> Result<u8, Stop> {
    if swarm.runs() == 0 {
        return Err(Stop::usage("nothing to run: this shard has no seeds"));
    }
    ends::listen()?;
    let asked = Asked::of_swarm(swarm);
    let to = place.open(&asked)?;
    let progress = Progress::new(swarm.runs(), show)?;
    let started = Instant::now();
    let mut swept = swarm.run(|ended| progress.done(ended))?;
    let seconds = started.elapsed().as_secs_f64();
    progress.finish();
    to.written(keep_artifacts(&mut swept.outcome, &swarm.registry, swarm.shard.1 > 1, &to.folder()))?;
    to.name(&mut swept.outcome);
    let jobs = swarm.jobs as u64;
    let took = Took { runs_planned: swarm.runs(), wall_s: seconds, jobs, core_s: seconds * jobs as f64 };
    // Shards that end when they like are not the parts of a whole.
    if !swarm.until_stable {
        to.leave(|| Shard::of(swarm.shard, &asked, took, &swept.outcome, to.out()).of_swarm(&swept))?;
    }
    if let Some(file) = record {
        artifacts::save(file, &swarm.baseline(&swept).to_json())?;
    }
    conclude(&swept, &Told { asked: &asked, took, shard: swarm.shard }, swarm.until_stable, show, &to)
}

/// Writes a swarm's files, prints the outcome, and returns the exit code.
///
/// # Errors
/// A file could not be written.
pub(super) fn conclude(swept: &Swept, told: &Told, until_stable: bool, show: Show, to: &Open) -> Result<u8, Stop> {
    let (outcome, summary) = (&swept.outcome, summary(swept, told));
    to.written(save_files(outcome, &summary, told.took.wall_s, &to.folder()))?;
    to.close()?;
    if show.json {
        print(&summary);
        return Ok(exit_code(outcome));
    }
    if !show.quiet {
        print(&table(swept));
        print(&never(swept, until_stable));
    }
    let ending = ending(swept, told.took, until_stable, to.out());
    print(&(causes(outcome, show.width()) + &moved(outcome) + &ending));
    Ok(exit_code(outcome))
}

/// The last line of the output.
fn ending(swept: &Swept, took: Took, until_stable: bool, out: &Path) -> String {
    let stable = if swept.stable {
        format!(" Stable: every mark was reached, and {QUIET_RUNS} runs in a row showed nothing new.")
    } else if until_stable {
        format!(" Not stable yet: {} runs in a row showed nothing new, of {QUIET_RUNS}.", swept.coverage.quiet())
    } else {
        String::new()
    };
    let done = match swept.outcome.interrupted {
        true => format!("INTERRUPTED after {} of {} runs", swept.runs, took.runs_planned),
        false => count(swept.runs, "run"),
    };
    let failures = &swept.outcome.failures;
    let known = known::summary(failures);
    let broken = failures.iter().filter(|failure| failure.verdict != known::VERDICT).count();
    let kept = swept.runs - broken as u64;
    let (all, per_core) = (swept.runs as f64 / took.wall_s, swept.runs as f64 / took.core_s);
    let summary = out.join("summary.json");
    format!(
        "{done}: {kept} kept, {broken} broken; {known}; {all:.1} runs/s, {per_core:.1} per core; summary in {}.{stable}\n",
        summary.display()
    )
}

/// The protocols as a table.
fn table(swept: &Swept) -> String {
    let head = ["protocol", "promise", "runs", "pass", "safety", "liveness", "could fail", "elections", "fenced"];
    let row = |cell: &sim::sweep::Cell| {
        let count = |verdict: &str| cell.verdicts.get(verdict).copied().unwrap_or(0).to_string();
        let failed = if cell.failures > 0 { " ✗" } else { "" };
        [
            cell.protocol.clone(),
            format!("{}{failed}", cell.promise),
            cell.runs.to_string(),
            count("pass"),
            count("safety"),
            count("liveness"),
            swept.live.get(&cell.protocol).copied().unwrap_or(0).to_string(),
            cell.elections.to_string(),
            cell.writes_fenced.to_string(),
        ]
    };
    let rows = std::iter::once(head.map(str::to_owned)).chain(swept.outcome.cells.iter().map(row)).collect();
    aligned(rows, |column| column >= 2)
}

/// The number of marks that were never reached; with `--until-stable`, a line for each.
fn never(swept: &Swept, until_stable: bool) -> String {
    let silent = swept.coverage.silent(&swept.possible);
    // A protocol that was not recorded has only those that it reached.
    let of = silent.len() + swept.coverage.marks.len();
    let line = |mark: &&str| {
        let why = rare(mark).map(|why| format!(" (rare: {why})")).unwrap_or_default();
        format!("\n  {mark}{why}")
    };
    let lines: String = silent.iter().map(line).collect();
    let reached = swept.coverage.marks.len();
    match (silent.len(), until_stable) {
        (0, _) => format!("coverage: {reached} of {of} marks"),
        (_, true) => format!("coverage: {reached} of {of} marks; never:{lines}"),
        (never, false) => {
            format!(
                "coverage: {reached} of {of} marks; {never} were never reached: --until-stable lists them, and summary.json has them"
            )
        }
    }
}

fn summary(swept: &Swept, told: &Told) -> String {
    let (Asked { version, commit, compared, fencing, .. }, took) = (told.asked, told.took);
    let summary: Value = json!({
        "schema": 1,
        "version": version,
        "commit": commit,
        "seeds": compared.seeds,
        "shard": [told.shard.0, told.shard.1],
        "fencing": fencing,
        "runs": swept.runs,
        "known_histories": known::count(),
        "failures": swept.outcome.failures.len(),
        "moved": swept.outcome.moved,
        "without_baseline": swept.outcome.without_baseline,
        "wall_s": rounded(took.wall_s),
        "jobs": took.jobs,
        "runs_per_s_and_core": rounded(swept.runs as f64 / took.core_s),
        "interrupted": swept.outcome.interrupted,
        "exit": exit_code(&swept.outcome),
        "cells": swept.outcome.cells,
        "liveness_could_fail": swept.live,
        "faults": swept.kinds.iter().map(|(kind, plans)| (kind.name(), plans)).collect::<BTreeMap<_, _>>(),
        "marks": swept.coverage.marks.keys().collect::<Vec<_>>(),
        "marks_never": swept.coverage.silent(&swept.possible),
        "stable": swept.stable,
        "quiet_runs": swept.coverage.quiet(),
    });
    serde_json::to_string_pretty(&summary).unwrap_or_default()
}
