//! `sweep swarm`: generated plans, a table per protocol, and the coverage marks that no run reached.

use super::{
    ends::{self, exit_code},
    exit::Stop,
    output::{Show, print},
    progress::Progress,
    sweep::{aligned, causes, keep_artifacts, moved, save_files},
};
use reports::statistics::{count, rounded};
use serde_json::{Value, json};
use sim::{
    artifacts,
    baseline::marks::rare,
    identity::identity,
    known,
    swarm::{QUIET_RUNS, Swarm, Swept},
};
use std::{collections::BTreeMap, path::Path, time::Instant};

/// Runs the plans, prints the outcome, and returns the exit code.
///
/// # Errors
/// There is nothing to run, a file could not be written, or a run was not deterministic.
pub fn run(swarm: &Swarm, show: Show, out: &Path, record: Option<&Path>) -> Result<u8, Stop> {
    if swarm.runs() == 0 {
        return Err(Stop::usage("nothing to run: this shard has no seeds"));
    }
    ends::listen()?;
    let progress = Progress::new(swarm.runs(), show)?;
    let started = Instant::now();
    let mut swept = swarm.run(|ended| progress.done(ended))?;
    let seconds = started.elapsed().as_secs_f64();
    progress.finish();
    keep_artifacts(&mut swept.outcome, &swarm.registry, swarm.shard.1 > 1, out)?;
    let summary = summary(&swept, swarm, seconds);
    save_files(&swept.outcome, &summary, seconds, out)?;
    if let Some(file) = record {
        artifacts::save(file, &swarm.baseline(&swept).to_json())?;
    }
    if show.json {
        print(&summary);
        return Ok(exit_code(&swept.outcome));
    }
    if !show.quiet {
        print(&table(&swept));
        print(&never(&swept, swarm));
    }
    print(&(causes(&swept.outcome, show.width()) + &moved(&swept.outcome) + &ending(&swept, swarm, seconds, out)));
    Ok(exit_code(&swept.outcome))
}

/// The last line of the output.
fn ending(swept: &Swept, swarm: &Swarm, seconds: f64, out: &Path) -> String {
    let stable = if swept.stable {
        format!(" Stable: every mark was reached, and {QUIET_RUNS} runs in a row showed nothing new.")
    } else if swarm.until_stable {
        format!(" Not stable yet: {} runs in a row showed nothing new, of {QUIET_RUNS}.", swept.coverage.quiet())
    } else {
        String::new()
    };
    let done = match swept.outcome.interrupted {
        true => format!("INTERRUPTED after {} of {} runs", swept.runs, swarm.runs()),
        false => count(swept.runs, "run"),
    };
    let failures = &swept.outcome.failures;
    let known = known::summary(failures);
    let broken = failures.iter().filter(|failure| failure.verdict != known::VERDICT).count();
    let all = swept.runs as f64 / seconds;
    let (kept, per_core) = (swept.runs - broken as u64, all / swarm.jobs as f64);
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
fn never(swept: &Swept, swarm: &Swarm) -> String {
    let silent = swept.coverage.silent(&swept.possible);
    // A protocol that was not recorded has only those that it reached.
    let of = silent.len() + swept.coverage.marks.len();
    let line = |mark: &&str| {
        let why = rare(mark).map(|why| format!(" (rare: {why})")).unwrap_or_default();
        format!("\n  {mark}{why}")
    };
    let lines: String = silent.iter().map(line).collect();
    let reached = swept.coverage.marks.len();
    match (silent.len(), swarm.until_stable) {
        (0, _) => format!("coverage: {reached} of {of} marks"),
        (_, true) => format!("coverage: {reached} of {of} marks; never:{lines}"),
        (never, false) => {
            format!(
                "coverage: {reached} of {of} marks; {never} were never reached: --until-stable lists them, and summary.json has them"
            )
        }
    }
}

fn summary(swept: &Swept, swarm: &Swarm, seconds: f64) -> String {
    let identity = identity();
    let summary: Value = json!({
        "schema": 1,
        "version": identity.version,
        "commit": identity.commit,
        "seeds": [swarm.seeds.start, swarm.seeds.end],
        "shard": [swarm.shard.0, swarm.shard.1],
        "fencing": swarm.choice.fencing,
        "runs": swept.runs,
        "known_histories": known::count(),
        "failures": swept.outcome.failures.len(),
        "moved": swept.outcome.moved,
        "without_baseline": swept.outcome.without_baseline,
        "wall_s": rounded(seconds),
        "jobs": swarm.jobs,
        "runs_per_s_and_core": rounded(swept.runs as f64 / seconds / swarm.jobs as f64),
        "interrupted": swept.outcome.interrupted,
        "exit": exit_code(&swept.outcome),
        "cells": swept.outcome.cells,
        "liveness_could_fail": swept.live,
        "faults": swept.kinds.iter().map(|(kind, plans)| (kind.name(), plans)).collect::<BTreeMap<_, _>>(),
        "marks": swept.coverage.marks,
        "marks_never": swept.coverage.silent(&swept.possible),
        "stable": swept.stable,
        "quiet_runs": swept.coverage.quiet(),
    });
    serde_json::to_string_pretty(&summary).unwrap_or_default()
}
