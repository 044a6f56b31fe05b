//! `shrink`: the smallest plan that fails the same way.

use super::{
    ends::{self, INTERRUPTED},
    exit::Stop,
    explain::{does_not_fail, headline, interrupted},
    findings_args::ShrinkArgs,
    one_run::default_out,
    output::{Show, print},
    plan_file,
    sweep::aligned,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use reports::{json::pretty, statistics::count, text::paragraph};
use scenarios::plan::Plan;
use serde_json::{Value, json};
use sim::{
    artifacts,
    parameters::describe,
    reduce::{self, Ending, Looked, Shrunk},
    registry::Registry,
    repro,
};
use std::path::{Path, PathBuf};

/// File name of the smallest plan.
const FILE: &str = "plan.min.json";

/// Shrinks the plan in the file, and writes the smallest.
///
/// # Errors
/// The file is no plan, the plan could not be run, or the result could not be written.
pub fn run(registry: &Registry, args: &ShrinkArgs) -> Result<u8, Stop> {
    let artifact = plan_file::read(registry, &args.file)?;
    let (plan, show) = (artifact.plan(), Show::from(&args.show));
    ends::listen()?;
    let bar = bar(args.runs, show)?;
    let told = |runs: u64, smallest: &Plan| {
        let (faults, candidates) = (smallest.faults.len() as u64, smallest.candidates.len() as u64);
        bar.set_message(format!("{}, {}", count(faults, "fault"), count(candidates, "candidate")));
        bar.set_position(runs);
    };
    let shrunk = reduce::shrink(plan, registry, args.runs, told)?;
    bar.finish_and_clear();
    let shrunk = match shrunk {
        Looked::Failed(shrunk) => shrunk,
        Looked::Holds(verdict) => return Err(does_not_fail(&args.file, verdict)),
        Looked::Interrupted => return Err(interrupted()),
    };
    let file = target(args)?;
    artifacts::save(&file, &shrunk.plan.to_json_pretty())?;
    let again = repro::command(&["replay".to_owned(), plan_file::whole_path(&file)]);
    if show.json {
        print(&report(plan, &shrunk, &file, &again));
    } else if show.quiet {
        print(&format!("{}: {}", count(shrunk.plan.faults.len() as u64, "fault"), file.display()));
    } else {
        print(&text(plan, &shrunk, &file, &again, args.runs, show.width()));
    }
    Ok(if shrunk.ending == Ending::Interrupted { INTERRUPTED } else { 0 })
}

/// A progress bar on standard error, if that is a terminal that wants one.
fn bar(runs: u64, show: Show) -> Result<ProgressBar, Stop> {
    let bar = ProgressBar::new(runs);
    bar.set_draw_target(if show.progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() });
    let style = ProgressStyle::with_template("{bar:40} {pos} of at most {len} runs, {elapsed}, {msg}");
    bar.set_style(style.map_err(|e| Stop::harness(e.to_string()))?);
    Ok(bar)
}

/// The folder of the smallest plan: that of the original plan.
fn target(args: &ShrinkArgs) -> Result<PathBuf, Stop> {
    let own = || match args.file == Path::new("-") {
        true => default_out(),
        false => args.file.parent().unwrap_or(Path::new("")).to_path_buf(),
    };
    let folder = args.out.clone().unwrap_or_else(own);
    if !folder.as_os_str().is_empty() {
        std::fs::create_dir_all(&folder).map_err(|e| Stop::usage(format!("cannot make {}: {e}", folder.display())))?;
    }
    Ok(folder.join(FILE))
}

fn text(before: &Plan, shrunk: &Shrunk, file: &Path, again: &str, runs_max: u64, width: usize) -> String {
    let after = &shrunk.plan;
    let head = ["", "before", "after"].map(str::to_owned);
    let row = |name: &str, of: &dyn Fn(&Plan) -> String| [format!("  {name}"), of(before), of(after)];
    let rows = vec![
        head,
        row("faults", &|plan| plan.faults.len().to_string()),
        row("candidates", &|plan| plan.candidates.len().to_string()),
        row("duration", &|plan| format!("{} s", plan.duration_ms as f64 / 1e3)),
        row("requests/s", &|plan| plan.load.rate.to_string()),
        row("lines of JSON", &|plan| lines(plan).to_string()),
    ];
    let left: String = after.faults.iter().map(|fault| paragraph(&describe(fault), width)).collect();
    let left = if left.is_empty() { "no fault is left\n".to_owned() } else { format!("left of the faults:\n{left}") };
    let runs = count(shrunk.runs, "run");
    let ended = match shrunk.ending {
        Ending::Smallest => format!("Nothing smaller that was tried fails the same way; {runs}."),
        Ending::Budget => format!("All {runs_max} runs are used up; --runs N gives it more."),
        Ending::Interrupted => format!("INTERRUPTED after {runs}; this is the smallest plan so far."),
    };
    let table = aligned(rows, |column| column > 0);
    let head = headline(before, &shrunk.symptom);
    format!("{head}\n\n{table}\n{left}\n{ended}\nwritten: {}\nrun it again: {again}\n", file.display())
}

fn lines(plan: &Plan) -> usize {
    plan.to_json_pretty().lines().count()
}

fn report(before: &Plan, shrunk: &Shrunk, file: &Path, again: &str) -> String {
    let size = |plan: &Plan| -> Value {
        json!({
            "faults": plan.faults.len(),
            "candidates": plan.candidates.len(),
            "duration_ms": plan.duration_ms,
            "rate": plan.load.rate,
            "json_lines": lines(plan),
        })
    };
    let ended = match shrunk.ending {
        Ending::Smallest => "smallest",
        Ending::Budget => "runs used up",
        Ending::Interrupted => "interrupted",
    };
    let report: Value = json!({
        "schema": 1,
        "scenario": before.scenario,
        "protocol": before.protocol,
        "seed": before.seed,
        "verdict": shrunk.symptom.verdict.name(),
        "violated": shrunk.symptom.violated,
        "before": size(before),
        "after": size(&shrunk.plan),
        "faults": shrunk.plan.faults.iter().map(describe).collect::<Vec<_>>(),
        "runs": shrunk.runs,
        "ended": ended,
        "file": file,
        "repro": again,
    });
    pretty(&report)
}
