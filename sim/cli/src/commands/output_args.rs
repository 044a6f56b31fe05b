//! The output options of one run, and the arguments of the commands that turn output into another form: `export` and
//! `report`.

use crate::terminal::{OUTPUT, exit::Stop, export::Format, options::ShowArgs};
use clap::Args as ClapArgs;
use logs::Options;
use std::path::PathBuf;

/// Where output goes.
#[derive(ClapArgs, Debug)]
pub struct OutputArgs {
    #[command(flatten)]
    pub show: ShowArgs,
    /// Folder for artifacts [default: target/fencepost]; for a run that holds, its timeline.html
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Open the run's timeline.html in the browser
    #[arg(long, help_heading = OUTPUT)]
    pub open: bool,
    /// Write a trace of every event to this file, one per line
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub trace: Option<PathBuf>,
    /// Write the run's history to this file as JSON lines, whether it passes or not
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub history: Option<PathBuf>,
}

/// Rejects options that only make sense for one run.
///
/// # Errors
/// One sentence about the option.
pub fn for_one_run(output: &OutputArgs) -> Result<(), Stop> {
    let said = [
        ("--trace", &output.trace, "capsule.json, and `replay` takes --trace"),
        ("--history", &output.history, "history.jsonl"),
    ];
    match said.into_iter().find(|(_, file, _)| file.is_some()) {
        Some((option, _, name)) => {
            Err(Stop::usage(format!("{option} is for one run; a failing run of a sweep leaves its {name}")))
        }
        None if output.open => Err(Stop::usage("--open is for one run")),
        None => Ok(()),
    }
}

/// A history and its target format.
#[derive(ClapArgs, Debug)]
pub struct ExportArgs {
    /// JSON lines or CSV, as `check` takes them; `-` reads standard input
    #[arg(required = true)]
    pub history: Vec<PathBuf>,
    /// What to write
    #[arg(long)]
    pub to: Format,
    /// The file to write; standard output without it
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub log: Options,
}

/// What a folder has, as one page.
#[derive(ClapArgs, Debug)]
pub struct ReportArgs {
    /// A folder with results of a sweep, `matrix --out`, the experiments or single runs [default: target/fencepost]
    pub dir: Option<PathBuf>,
    /// Write index.html to this folder instead, with links relative to it
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long)]
    pub open: bool,
    #[command(flatten)]
    pub show: ShowArgs,
}
