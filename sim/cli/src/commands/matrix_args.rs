//! The arguments of `matrix`.

use crate::terminal::{
    options::{PlanOptions, ShowArgs},
    parse,
};
use clap::Args as ClapArgs;
use std::{ops::Range, path::PathBuf};

/// Every scenario with every protocol.
#[derive(ClapArgs, Debug)]
pub struct MatrixArgs {
    /// Scenarios, or `all`
    #[arg(default_value = "all")]
    pub names: Vec<String>,
    /// Protocols, separated by commas, or `all`
    #[arg(long, default_value = "all", value_name = "P,…")]
    pub protocol: String,
    /// Seeds A..B of each cell, B excluded; a cell shows the worst of them
    #[arg(long, value_parser = parse::seeds, default_value = "0..5", value_name = "A..B")]
    pub seeds: Range<u64>,
    /// Number of parallel runs; by default one per core
    #[arg(long, value_parser = parse::jobs, value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<u16>,
    /// Also explain each cell, however many there are
    #[arg(long)]
    pub why: bool,
    /// Write matrix.json to this folder, for `report`
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub plan: PlanOptions,
    #[command(flatten)]
    pub show: ShowArgs,
}
