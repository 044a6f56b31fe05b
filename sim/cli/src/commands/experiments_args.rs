//! The arguments of `experiments`.

use crate::terminal::{options::ShowArgs, parse};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// The experiments.
#[derive(ClapArgs, Debug)]
pub struct ExperimentsArgs {
    /// Numbers of the experiments, 1 to 10; all by default
    #[arg(value_parser = parse::within::<u8>(1..=10), value_name = "N")]
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
