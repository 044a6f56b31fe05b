//! The arguments of `bisect`.

use crate::terminal::{
    options::{PlanOptions, ShowArgs},
    parse,
};
use clap::Args as ClapArgs;
use protocols::election::Protocol;
use std::ops::Range;

/// One scenario, one protocol, many seeds and drifts.
#[derive(ClapArgs, Debug)]
pub struct BisectArgs {
    /// The scenario; see `fencepost list scenarios`
    pub name: String,
    /// The election protocol
    #[arg(long, value_parser = parse::protocol, default_value = "etcd-election", value_name = "P")]
    pub protocol: &'static Protocol,
    /// Seeds A..B to run at every drift, B excluded
    #[arg(long, value_parser = parse::seeds, default_value = "0..20", value_name = "A..B")]
    pub seeds: Range<u64>,
    /// Number of parallel runs; by default one per core
    #[arg(long, value_parser = parse::jobs, value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub plan: PlanOptions,
    #[command(flatten)]
    pub show: ShowArgs,
}
