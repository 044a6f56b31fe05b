//! `matrix`: a table of scenarios and protocols, and the reasons for its cells.

use super::{
    args::jobs_or_cores,
    ends::{self, INTERRUPTED},
    exit::Stop,
    measure_args::MatrixArgs,
    notices,
    output::{Show, print},
    parse,
    progress::Progress,
};
use protocols::election::Protocol;
use reports::{json::pretty, statistics::count, text::wrap};
use serde_json::json;
use sim::{
    artifacts::{self, Again},
    matrix::{Came, Cell, Matrix},
    outcome::Ended,
    registry::Registry,
    repro,
};
use std::{cmp::Reverse, collections::BTreeMap, path::Path};

/// Up to this many cells are explained without `--why`.
const WHY_MAX: usize = 40;

/// `--out` keeps the pages of up to this many cells.
const PAGES_MAX: usize = 20;

/// Runs the matrix and prints it.
///
/// # Errors
/// The arguments make no sense, or a run could not be finished.
pub fn run(registry: &Registry, args: &MatrixArgs) -> Result<u8, Stop> {
    if args.plan.nodes().len() > 1 {
        return Err(Stop::usage("--nodes: one number of candidates for a matrix; run it once for each"));
    }
    let params = args.plan.sweep_params()?;
    let matrix = Matrix {
        registry,
        scenarios: parse::scenarios(&args.names)?,
        protocols: parse::protocols(&args.protocol)?,
        seeds: args.seeds.clone(),
        params: &params,
        jobs: jobs_or_cores(args.jobs),
    };
    matrix.check()?;
    ends::listen()?;
    let show = Show::from(&args.show);
    let progress = Progress::new(matrix.plans(), show)?;
    let mut cells = matrix.run(|| progress.done(Ended::Kept))?;
    progress.finish();
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).map_err(|e| Stop::usage(format!("cannot make {}: {e}", out.display())))?;
        keep_pages(&matrix, &mut cells, out)?;
        artifacts::save(&out.join("matrix.json"), &(report(&matrix, &cells) + "\n"))?;
    }
    let text = match (show.json, show.quiet) {
        (true, _) => report(&matrix, &cells),
        (false, true) => summary(&matrix, &cells),
        (false, false) => {
            [table(&matrix, &cells, show), whys(&cells, args.why, show), summary(&matrix, &cells)].concat()
        }
    };
    print(&text);
    if sim::interrupt::asked() { Ok(INTERRUPTED) } else { Ok(0) }
}

/// Writes the pages of some unsafe cells: broken ones first, and one of each scenario before a second of any.
fn keep_pages(matrix: &Matrix, cells: &mut [Cell], out: &Path) -> Result<(), Stop> {
    let mut met = BTreeMap::new();
    let mut places: Vec<(Reverse<Came>, u64, usize)> = Vec::new();
    for (place, cell) in cells.iter().enumerate() {
        let rank = met.entry((cell.outcome, cell.scenario)).or_insert(0);
        *rank += 1;
        places.push((Reverse(cell.outcome), *rank, place));
    }
    places.retain(|(Reverse(came), ..)| *came >= Came::ByFencing);
    places.sort_unstable();
    let pages = if sim::interrupt::asked() { 0 } else { PAGES_MAX };
    for (.., place) in places.into_iter().take(pages) {
        let plan = matrix.plan_of(&cells[place])?;
        let cell = &mut cells[place];
        let again = Again { repro: &cell.show, meaning: None, next: &[] };
        let written = artifacts::show(out, &plan, matrix.registry, again)?;
        cell.artifacts = Some(written.folder.display().to_string());
        cell.cause = Some(written.cause.text());
    }
    Ok(())
}

/// A row for each protocol, a column for each scenario; blank for cells that an interrupted matrix did not reach. If
/// the columns do not fit, it splits into several tables.
fn table(matrix: &Matrix, cells: &[Cell], show: Show) -> String {
    let mut signs: BTreeMap<_, _> =
        matrix.pairs().iter().map(|(scenario, protocol)| ((scenario.name, protocol.name), ' ')).collect();
    signs.extend(cells.iter().map(|cell| ((cell.scenario, cell.protocol), cell.outcome.sign())));
    let has = |scenario: &str| signs.keys().any(|(known, _)| *known == scenario);
    let scenarios: Vec<_> = matrix.scenarios.iter().map(|s| s.name).filter(|name| has(name)).collect();
    let width = matrix.protocols.iter().map(|p| p.name.len()).max().unwrap_or(0);
    let at_a_time = show.room().map_or(scenarios.len(), |room| room.saturating_sub(width + 1) / 2).max(1);
    let mut text = String::new();
    for (block, scenarios) in scenarios.chunks(at_a_time).enumerate() {
        let first = block * at_a_time + 1;
        text += &headings(width, first, first + scenarios.len());
        for protocol in &matrix.protocols {
            let sign = |scenario: &&str| signs.get(&(*scenario, protocol.name)).copied().unwrap_or('.');
            let row: String = scenarios.iter().map(|scenario| format!(" {}", sign(scenario))).collect();
            text += format!("{:width$} {row}", protocol.name).trim_end();
            text += "\n";
        }
        text += "\n";
    }
    let signs: Vec<_> = Came::ALL.iter().rev().map(|came| format!("{} {}", came.sign(), came.words())).collect();
    text += &(wrap(&format!("{}, . does not apply", signs.join(", ")), show.width()).join("\n") + "\n");
    let longest = scenarios.iter().map(|name| name.len()).max().unwrap_or(0);
    let numbered = scenarios.iter().enumerate().map(|(n, name)| format!("{:>2} {name:longest$}  ", n + 1));
    let numbered: Vec<_> = numbered.collect();
    for row in numbered.chunks((show.width() / (longest + 5)).clamp(1, 3)) {
        text += &format!("{}\n", row.concat().trim_end());
    }
    text += "\n";
    for sentence in notices::table(&matrix.protocols) {
        text += &(wrap(&sentence, show.width()).join("\n") + "\n");
    }
    text + "\n"
}

/// The numbers of columns `first..end`, with their digits one below the other.
fn headings(width: usize, first: usize, end: usize) -> String {
    let heading = |digit: fn(usize) -> String| -> String {
        let digits = (first..end).map(|number| format!(" {}", digit(number)));
        format!("{:width$} {}", "", digits.collect::<String>()).trim_end().to_owned() + "\n"
    };
    let tens = heading(|number| if number < 10 { " ".to_owned() } else { (number / 10).to_string() });
    let units = heading(|number| (number % 10).to_string());
    if end > 10 { tens + &units } else { units }
}

/// Explains the cells that do not simply hold.
fn whys(cells: &[Cell], all: bool, show: Show) -> String {
    let behind: Vec<_> = cells.iter().filter(|cell| cell.outcome != Came::Holds).collect();
    if behind.len() > WHY_MAX && !all {
        return format!("--why explains {} that do not simply hold.\n", count(behind.len() as u64, "cell"));
    }
    behind.into_iter().map(|cell| why(cell, show)).collect()
}

fn why(cell: &Cell, show: Show) -> String {
    let Cell { scenario, protocol, outcome, seed, why, parts, command, .. } = cell;
    let mut text = format!("{} {scenario}, {protocol}, seed {seed}: {}\n", outcome.sign(), outcome.words());
    if let Some(parts) = parts {
        let seconds = parts.t_us as f64 / 1e6;
        text += &told(&format!("at {seconds:.3} s: {}", parts.fenced), show);
        text += &told(&format!("without fencing: {}", parts.unfenced), show);
    }
    if !why.is_empty() {
        text += &told(why, show);
    }
    // A command is never wrapped, so that it can be copied.
    text + &format!("    {command}\n")
}

/// A sentence below the head of a cell.
fn told(text: &str, show: Show) -> String {
    let lines = wrap(text, show.width() - 6);
    lines.iter().enumerate().map(|(place, line)| format!("{:1$}{line}\n", "", if place == 0 { 4 } else { 6 })).collect()
}

fn summary(matrix: &Matrix, cells: &[Cell]) -> String {
    let of = |came: Came| cells.iter().filter(|cell| cell.outcome == came).count();
    let counts: Vec<_> = Came::ALL.iter().rev().map(|came| format!("{} {}", of(*came), came.words())).collect();
    let all = count(cells.len() as u64, "cell");
    let interrupted = match sim::interrupt::asked() {
        true => {
            format!("INTERRUPTED after {all} of {}; the last cell may lack some of its seeds\n", matrix.pairs().len())
        }
        false => String::new(),
    };
    format!("{interrupted}{all}: {}\n", counts.join(", "))
}

fn report(matrix: &Matrix, cells: &[Cell]) -> String {
    let protocol =
        |protocol: &&'static Protocol| json!({ "name": protocol.name, "notices": notices::as_json(protocol) });
    let protocols: Vec<_> = matrix.protocols.iter().map(protocol).collect();
    pretty(&json!({
        "schema": 1,
        "seeds": [matrix.seeds.start, matrix.seeds.end],
        "nodes": matrix.params.nodes,
        "options": repro::options(matrix.params).join(" "),
        "interrupted": sim::interrupt::asked(),
        "protocols": protocols,
        "cells": cells,
    }))
}
