//! The arguments of `work-set`.

use crate::terminal::{options::ShowArgs, parse};
use clap::Args as ClapArgs;
use std::path::PathBuf;

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
