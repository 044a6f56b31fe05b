//! The arguments of `experiments`.

#![allow(missing_docs, reason = "a doc comment is help text here, and a flattened group has none of its own")]

use crate::terminal::{options::ShowArgs, parse};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// The experiments.
#[derive(ClapArgs, Debug)]
pub struct ExperimentsArgs {
    /// Their numbers, 1 to 10; all by default
    #[arg(value_parser = parse::within::<u8>(1..=10), value_name = "N")]
    pub numbers: Vec<u8>,
    /// Only a few protocols and seeds of each
    #[arg(long)]
    pub reduced: bool,
    /// Only the plan sets of one scenario, such as steady, or of that with one protocol, such as steady/raft; the numbers of the
    /// others stay as they are
    #[arg(long, conflicts_with_all = ["check", "text_only"], value_name = "SCENARIO[/PROTOCOL]")]
    pub only: Option<String>,
    /// Compare with the committed numbers, write nothing, and name the first one that differs
    #[arg(long, conflicts_with = "out")]
    pub check: bool,
    /// Run nothing: write FINDINGS.md and the plots of numbers again, from the numbers that are there
    #[arg(long, conflicts_with_all = ["check", "reduced", "numbers"])]
    pub text_only: bool,
    /// Only draw the pictures of who led when, from one run of each cell with the code as it is; no number is written
    #[arg(long, conflicts_with_all = ["check", "reduced", "text_only", "only"])]
    pub strips: bool,
    /// The folder that numbers, plots and FINDINGS.md are written to [default: reports]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of runs at a time; by default as many as there are cores
    #[arg(long, value_parser = parse::jobs, value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub show: ShowArgs,
}
