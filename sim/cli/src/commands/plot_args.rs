//! The arguments that all plots share.

use crate::terminal::{options::ShowArgs, parse};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// What all plots share.
#[derive(ClapArgs, Debug)]
pub struct PlotArgs {
    /// Folder for plots and figures
    #[arg(long, default_value = "target/fencepost/plots")]
    pub out: PathBuf,
    /// Number of parallel runs; by default one per core
    #[arg(long, value_parser = parse::jobs, value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub show: ShowArgs,
}
