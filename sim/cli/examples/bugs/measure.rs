//! Sweeps for each bug, and a table of what they came to.

use crate::shown::{each, found};
use protocols::{bug::Bug, known_bugs};
use std::process::ExitCode;

/// Sweeps with disjoint seeds.
const SWEEPS: u64 = 20;
/// Most seeds per sweep.
const SWEEP_SEEDS: u64 = 50;
/// Default number of seeds without the bug.
const CLEAN: u64 = 1_000;

pub fn main() -> ExitCode {
    let mut ids = Vec::new();
    let (mut clean, mut words) = (CLEAN, std::env::args().skip(1));
    while let Some(word) = words.next() {
        match word.as_str() {
            "--clean" => match words.next().and_then(|number| number.parse().ok()) {
                Some(number) => clean = number,
                None => return refused("--clean takes a number of seeds"),
            },
            id if known_bugs::ALL.iter().any(|bug| bug.id == id) => ids.push(word),
            id => return refused(&format!("there is no bug `{id}`; see `fencepost list bugs`")),
        }
    }
    let chosen = |bug: &&&'static Bug| ids.is_empty() || ids.iter().any(|id| id == bug.id);
    let bugs: Vec<_> = known_bugs::ALL.iter().filter(chosen).collect();
    println!("| bug | shows | seeds, median | most | sweeps that miss | of seeds without it |");
    println!("|---|---|---:|---:|---:|---:|");
    each(&bugs, |bug| println!("{}", measured(bug, clean)));
    ExitCode::SUCCESS
}

fn refused(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(64)
}

/// A row of the table.
fn measured(bug: &Bug, clean: u64) -> String {
    let first = |sweep: u64| {
        let mut seeds = sweep * SWEEP_SEEDS..(sweep + 1) * SWEEP_SEEDS;
        seeds.position(|seed| found(bug, &bug.shown, true, seed..seed + 1) > 0).map(|place| place as u64 + 1)
    };
    let sweeps: Vec<Option<u64>> = (0..SWEEPS).map(first).collect();
    let mut taken: Vec<u64> = sweeps.iter().copied().flatten().collect();
    taken.sort_unstable();
    let number = |seeds: Option<&u64>| seeds.map_or("–".to_owned(), u64::to_string);
    let (median, most) = (number(taken.get(SWEEPS as usize / 2)), number(taken.last()));
    let missed = sweeps.iter().filter(|taken| taken.is_none()).count();
    let unclean = found(bug, &bug.shown, false, 0..clean);
    format!("| {} | {} | {median} | {most} | {missed} of {SWEEPS} | {unclean} of {clean} |", bug.id, bug.violation)
}
