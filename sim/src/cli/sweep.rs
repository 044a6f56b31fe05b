//! `sweep`: many seeds, a progress bar, a table, artifacts for each failure.

use super::{
    exit::Stop,
    junit,
    output::{Show, print},
    progress::Progress,
};
use crate::{
    artifacts,
    identity::identity,
    sweep::{Cell, Failure, Outcome, Sweep},
};
use serde_json::json;
use std::{ops::RangeInclusive, path::Path, time::Instant};

/// Artifacts are written for so many failures; the others are listed.
const ARTIFACTS_MAX: usize = 20;

/// Runs the sweep; true when every promise was kept.
///
/// # Errors
/// The parameters make no sense, or a file could not be written.
pub fn run(sweep: &Sweep, show: Show, out: &Path) -> Result<bool, Stop> {
    let total = sweep.runs();
    let progress = Progress::new(total, show)?;
    let started = Instant::now();
    let mut outcome = sweep.run(|failed| progress.done(failed)).map_err(Stop::usage)?;
    let seconds = started.elapsed().as_secs_f64();
    progress.finish();
    keep_artifacts(&mut outcome.failures, out)?;
    let summary = summary(&outcome, sweep, seconds);
    save_files(&outcome, &summary, seconds, out)?;
    let per_core = total as f64 / seconds / sweep.jobs as f64;
    if show.json {
        print(&summary);
    } else {
        if !show.quiet {
            print(&table(&outcome.cells));
        }
        list_failures(&outcome.failures, out);
        print(&format!(
            "{total} runs, {} broke a promise; {per_core:.1} runs a second and core; summary in {}",
            outcome.failures.len(),
            out.join("summary.json").display()
        ));
    }
    Ok(outcome.failures.is_empty())
}

/// Lists failures, each with the command that repeats it.
pub(super) fn list_failures(failures: &[Failure], out: &Path) {
    for failure in failures.iter().take(ARTIFACTS_MAX) {
        print(&format!(
            "FAILED {} {} seed {}: {}\n  {}",
            failure.scenario, failure.protocol, failure.seed, failure.why, failure.repro
        ));
        if let Some(folder) = &failure.artifacts {
            print(&format!("  cargo run -- replay {folder}/plan.json"));
        }
    }
    if failures.len() > ARTIFACTS_MAX {
        print(&format!("… and {} more, in {}", failures.len() - ARTIFACTS_MAX, out.display()));
    }
}

/// Writes the artifacts of the first failures.
///
/// # Errors
/// A file could not be written, or a run did not repeat itself.
pub(super) fn keep_artifacts(failures: &mut [Failure], out: &Path) -> Result<(), Stop> {
    for failure in failures.iter_mut().take(ARTIFACTS_MAX) {
        if let Some(plan) = failure.plan.as_ref().filter(|_| failure.verdict != "harness") {
            let folder = artifacts::write(out, plan, &failure.trace_hash).map_err(Stop::harness)?;
            failure.artifacts = Some(folder.display().to_string());
        }
    }
    Ok(())
}

/// Writes what a sweep leaves: `failures.ndjson`, `junit.xml` and `summary.json`.
///
/// # Errors
/// A file could not be written.
pub(super) fn save_files(outcome: &Outcome, summary: &str, seconds: f64, out: &Path) -> Result<(), Stop> {
    std::fs::create_dir_all(out).map_err(|e| Stop::usage(format!("cannot make {}: {e}", out.display())))?;
    let line = |failure: &Failure| serde_json::to_string(failure).unwrap_or_default() + "\n";
    let lines: String = outcome.failures.iter().map(line).collect();
    artifacts::save(&out.join("failures.ndjson"), &lines).map_err(Stop::usage)?;
    artifacts::save(&out.join("junit.xml"), &junit::document(outcome, seconds)).map_err(Stop::usage)?;
    artifacts::save(&out.join("summary.json"), &format!("{summary}\n")).map_err(Stop::usage)
}

fn summary(outcome: &Outcome, sweep: &Sweep, seconds: f64) -> String {
    let identity = identity();
    let runs: u64 = outcome.cells.iter().map(|c| c.runs).sum();
    let summary = json!({
        "schema": 1,
        "version": identity.version,
        "commit": identity.commit,
        "seeds": [sweep.seeds.start, sweep.seeds.end],
        "shard": [sweep.shard.0, sweep.shard.1],
        "fencing": sweep.params.fencing,
        "runs": runs,
        "failures": outcome.failures.len(),
        "wall_s": seconds,
        "jobs": sweep.jobs,
        "runs_per_s_and_core": runs as f64 / seconds / sweep.jobs as f64,
        "cells": outcome.cells,
    });
    serde_json::to_string_pretty(&summary).unwrap_or_default()
}

/// Changes of leadership per run that nothing explains, and beside them those that only a pause does.
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

/// The cells as a table.
fn table(cells: &[Cell]) -> String {
    let head = [
        "scenario",
        "protocol",
        "promise",
        "runs",
        "pass",
        "safety",
        "fenced",
        "false (paused)",
        "two believed",
        "failover ms",
    ];
    let count = |cell: &Cell, verdict: &str| cell.verdicts.get(verdict).copied().unwrap_or(0).to_string();
    let rows = cells.iter().map(|cell| {
        let failover = match (cell.failover_ms_p50, cell.failover_ms_p95) {
            (Some(p50), Some(p95)) => format!("{p50:.0} (p95 {p95:.0})"),
            _ => "–".to_owned(),
        };
        let believed = match cell.dual_belief_runs {
            0 => "never".to_owned(),
            runs => format!("{runs} runs, ≤ {:.0} ms", cell.dual_belief_ms_max),
        };
        let failed = if cell.failures > 0 { " ✗" } else { "" };
        [
            cell.scenario.clone(),
            cell.protocol.clone(),
            format!("{}{failed}", cell.promise),
            cell.runs.to_string(),
            count(cell, "pass"),
            count(cell, "safety"),
            cell.writes_fenced.to_string(),
            needless(cell),
            believed,
            failover,
        ]
    });
    let rows = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    aligned(rows, 3..=7)
}

/// Rows in columns, the first of them the head; numbers, which stand in these columns, to the right, words to the left.
pub(super) fn aligned<const N: usize>(rows: Vec<[String; N]>, numbers: RangeInclusive<usize>) -> String {
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let pad = " ".repeat(width - cell.chars().count());
            if numbers.contains(&column) { format!("{pad}{cell}") } else { format!("{cell}{pad}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
