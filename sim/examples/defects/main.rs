//! Puts defects into the code on purpose, one at a time, and measures which of them sweeps detect.
//!
//! `cargo run -p fencepost-sim --example defects -- measure --write` copies the sources to `target/defects` with every defect of
//! `sim/tests/defects` in them, builds the copy once, checks that it passes with no defect on, and sweeps with each
//! defect on: first one seed, then more, then random plans. The table goes to `sim/tests/defects/README.md`.

#[path = "../../tests/defects/list.rs"]
mod list;
mod measure;
mod table;
mod tree;
mod units;

use clap::{Args, Parser, Subcommand};
use list::{Defect, FoundBy};
use measure::{Found, Measure};
use std::{
    collections::BTreeMap,
    fs,
    process::ExitCode,
    sync::{Mutex, PoisonError},
};
use table::Results;
use tree::Tree;

/// Puts defects into the code on purpose, and measures which of them sweeps detect
#[derive(Parser)]
#[command(name = "defects")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check that every defect still applies to the code; list those that do not
    Check,
    /// Copy the sources with all defects in them, and build the copy
    Build,
    /// Sweep with each defect
    Measure(MeasureArgs),
    /// Run the tests of defects that only tests find: they must fail
    Units {
        /// Only these, separated by commas
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
    },
    /// Write the table from the last measurement
    Table,
}

#[derive(Args)]
struct MeasureArgs {
    /// Only these, separated by commas; other results are kept
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only those that the last measurement missed
    #[arg(long)]
    missed: bool,
    /// The sweep's arguments, without seeds
    #[arg(long, default_value = "sweep all")]
    sweep: String,
    /// Sweep up to each of these seeds in turn, until something fails
    #[arg(long, value_delimiter = ',', default_value = "1,3")]
    seeds: Vec<u64>,
    /// What to run if the sweep passes, without seeds; skipped if empty or if there is no such command
    #[arg(long, default_value = "sweep swarm")]
    swarm: String,
    /// Likewise, the seeds up to which to run it
    #[arg(long, value_delimiter = ',', default_value = "400,2000")]
    swarm_seeds: Vec<u64>,
    /// Parallel processes
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// First record a baseline of this many seeds, if the committed one is out of date; 0 uses the committed one
    #[arg(long, default_value_t = 0)]
    baseline_seeds: u64,
    /// Also write the table
    #[arg(long)]
    write: bool,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), String> {
    let tree = Tree::new();
    let defects = list::read(&tree.list()).map_err(|wrong| wrong.join("\n"))?;
    let spliced = tree.splice(&defects).map_err(|wrong| {
        format!("{} of {} defects do not apply any more; mend them:\n{}", wrong.len(), defects.len(), wrong.join("\n"))
    })?;
    match command {
        Command::Check => {
            println!("{} defects, each in its place", defects.len());
            Ok(())
        }
        Command::Build => build(&tree, &defects, spliced),
        Command::Units { only } => {
            let is_unit = |d: &&Defect| matches!(d.found_by, FoundBy::Unit { .. });
            let chosen: Vec<&Defect> = chosen(&defects, &only)?.into_iter().filter(is_unit).collect();
            copy(&tree, &defects, spliced)?;
            // Packages outside the workspace build what they need of it, with flags of their own.
            if chosen.iter().any(|d| d.is_swept()) {
                tree.build()?;
            }
            units::run(&tree, &chosen)
        }
        Command::Measure(args) => {
            build(&tree, &defects, spliced)?;
            measure(&tree, &defects, &args)
        }
        Command::Table => {
            let (how, results) = load(&tree);
            write(&tree, &defects, &results, &how)
        }
    }
}

fn build(tree: &Tree, defects: &[Defect], spliced: BTreeMap<String, String>) -> Result<(), String> {
    copy(tree, defects, spliced)?;
    tree.build()
}

fn copy(tree: &Tree, defects: &[Defect], spliced: BTreeMap<String, String>) -> Result<(), String> {
    println!("putting {} defects into one copy", defects.len());
    tree.write(defects, spliced).map_err(|e| format!("cannot copy the sources: {e}"))
}

fn chosen<'a>(defects: &'a [Defect], only: &[String]) -> Result<Vec<&'a Defect>, String> {
    if let Some(unknown) = only.iter().find(|id| !defects.iter().any(|d| d.id == **id)) {
        return Err(format!("there is no defect `{unknown}`"));
    }
    Ok(defects.iter().filter(|d| only.is_empty() || only.contains(&d.id)).collect())
}

fn measure(tree: &Tree, defects: &[Defect], args: &MeasureArgs) -> Result<(), String> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let measure = Measure {
        tree,
        sweep: words(&args.sweep),
        seeds: args.seeds.clone(),
        swarm: words(&args.swarm),
        swarm_seeds: args.swarm_seeds.clone(),
        jobs: args.jobs.max(1),
        baseline_seeds: args.baseline_seeds,
    };
    let (_, mut results) = load(tree);
    results.retain(|id, _| defects.iter().any(|d| d.id == *id));
    let mut chosen = chosen(defects, &args.only)?;
    chosen.retain(|d| d.is_swept());
    if args.missed {
        chosen.retain(|d| results.get(&d.id).is_none_or(|found| found.by.is_none()));
    } else if args.only.is_empty() {
        results.clear();
    }
    let clean = measure.clean()?;
    let seconds: u64 = clean.iter().map(|clean| clean.took.as_secs()).sum();
    println!("swept with no defect on in {seconds} s; now {} defects", chosen.len());
    let last = args.seeds.last().copied().unwrap_or(0);
    let mut how = format!("`{} --seeds 0..{last}`", args.sweep);
    if clean.len() > args.seeds.len() {
        let last = args.swarm_seeds.last().copied().unwrap_or(0);
        how += &format!(", then `{} --seeds 0..{last}`", args.swarm);
    }
    let shared = Mutex::new(&mut results);
    measure.all(&chosen, &clean, |defect, found| {
        println!("{}", line(defect, &found));
        let mut results = shared.lock().unwrap_or_else(PoisonError::into_inner);
        results.insert(defect.id.clone(), found);
        save(tree, &how, &results);
    });
    println!("{}", table::count(&chosen, &results));
    if args.write { write(tree, defects, &results, &how) } else { Ok(()) }
}

fn line(defect: &Defect, found: &Found) -> String {
    let Found { by, scenario, protocol, why, seeds, share, seconds, .. } = found;
    match by {
        Some(by) => {
            let share = share * 100.0;
            format!("{}: {by}, {seeds} seeds, {share:.0} %: {scenario} {protocol}: {why} ({seconds:.0} s)", defect.id)
        }
        None if found.met => format!("{}: NOT NOTICED ({seconds:.0} s)", defect.id),
        None => format!("{}: NOT NOTICED, its code never ran ({seconds:.0} s)", defect.id),
    }
}

fn load(tree: &Tree) -> (String, Results) {
    let text = fs::read_to_string(tree.work.join("results.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn save(tree: &Tree, how: &str, results: &Results) {
    let text = serde_json::to_string_pretty(&(how, results)).unwrap_or_default();
    if let Err(error) = fs::write(tree.work.join("results.json"), text) {
        eprintln!("cannot write the results: {error}");
    }
}

fn write(tree: &Tree, defects: &[Defect], results: &Results, how: &str) -> Result<(), String> {
    let path = tree.list().join("README.md");
    fs::write(&path, table::render(defects, results, how)).map_err(|e| format!("{}: {e}", path.display()))
}
