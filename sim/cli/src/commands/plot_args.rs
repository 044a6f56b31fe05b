//! The arguments that all plots share.

#![allow(missing_docs, reason = "a doc comment is help text here")]

use crate::terminal::{options::ShowArgs, parse};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// What all plots share.
#[derive(ClapArgs, Debug)]
pub struct PlotArgs {
    /// Where pictures and figures are written
    #[arg(long, default_value = "target/fencepost/plots")]
    pub out: PathBuf,
    /// Number of runs at a time; by default as many as there are cores
    #[arg(long, value_parser = parse::jobs, value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub show: ShowArgs,
}
