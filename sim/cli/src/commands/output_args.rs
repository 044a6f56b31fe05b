//! What one run leaves behind.

use crate::terminal::{headings::OUTPUT, options::ShowArgs};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Where things go.
#[derive(ClapArgs, Debug)]
pub struct OutputArgs {
    #[command(flatten)]
    pub show: ShowArgs,
    /// Where artifacts are written [default: target/fencepost]; of a run that holds, its timeline.html
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
