//! The arguments of the commands that measure: `experiments`, `matrix` and `work-set`.

use crate::terminal::{
    options::{PlanOptions, ShowArgs},
    parse,
};
use clap::Args as ClapArgs;
use std::{ops::Range, path::PathBuf};

/// The experiments.
#[derive(ClapArgs, Debug)]
pub struct ExperimentsArgs {
    /// Numbers of the experiments, 1 to 11; all by default
    #[arg(value_parser = parse::within::<u8>(1..=11), value_name = "N")]
    pub numbers: Vec<u8>,
    /// Only a few protocols and seeds of each
    #[arg(long)]
    pub reduced: bool,
    /// Only the plan sets of one scenario, such as steady, or of one scenario with one protocol, such as steady/raft;
    /// other numbers stay as they are
    #[arg(long, conflicts_with_all = ["check", "text_only"], value_name = "SCENARIO[/PROTOCOL]")]
    pub only: Option<String>,
    /// Compare with the committed numbers, write nothing, and name the first one that differs
    #[arg(long, conflicts_with = "out")]
    pub check: bool,
    /// Run nothing: rewrite FINDINGS.md and the plots of numbers, from the existing numbers
    #[arg(long, conflicts_with_all = ["check", "reduced", "numbers"])]
    pub text_only: bool,
    /// Only draw who led when, from one run per cell with the current code; write no numbers
    #[arg(long, conflicts_with_all = ["check", "reduced", "text_only", "only"])]
    pub strips: bool,
    /// Folder for numbers, plots and FINDINGS.md [default: reports]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of parallel runs; by default one per core
    #[arg(long, value_parser = parse::jobs, value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub show: ShowArgs,
}

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

/// How many jobs, and how they are handed over.
#[derive(ClapArgs, Debug)]
pub struct WorkSetArgs {
    /// Number of jobs, such as 10M or 250k
    #[arg(long, value_parser = parse::many, default_value = "10M", value_name = "N", allow_hyphen_values = true)]
    pub jobs: u64,
    /// Number of jobs after which a leader saves its cursor
    #[arg(long, value_parser = parse::many, default_value = "1000", value_name = "N", allow_hyphen_values = true)]
    pub checkpoint_every: u64,
    /// Number of hand-overs in the middle of the work
    #[arg(long, value_parser = parse::whole, default_value = "20", value_name = "N", allow_hyphen_values = true)]
    pub handoffs: u64,
    /// Seed of due times and hand-overs
    #[arg(long, value_parser = parse::seed, default_value = "1", value_name = "N", allow_hyphen_values = true)]
    pub seed: u64,
    /// Folder for the file of jobs, which is removed again; the temporary folder by default
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    #[command(flatten)]
    pub show: ShowArgs,
}
