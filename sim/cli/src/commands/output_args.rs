//! The output options of one run.

use crate::terminal::{exit::Stop, headings::OUTPUT, options::ShowArgs};
use clap::Args as ClapArgs;
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
