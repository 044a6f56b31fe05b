//! The arguments of the commands that search for an edge, and of those that plot: `bisect`, `frontier` and all plots.

use crate::terminal::{
    options::{PlanOptions, ShowArgs},
    parse,
};
use clap::Args as ClapArgs;
use protocols::election::Protocol;
use scenarios::axis::{Axis, Span, Values};
use std::{ops::Range, path::PathBuf};

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

/// The text below the help.
pub const AFTER_HELP: &str = "The axes are ttl, drift, pause and latency. At each value of --x, 9 values across the range of --y are \
    tried, then the first change of verdict is bisected to one unit (a millisecond, a part per million, a microsecond), and 4 \
    values on either side of it are tried as well. Values past the edge that disagree with it are listed: each seed has an edge of \
    its own, so more seeds move it. A value holds when no seed violates safety there, even if the situation under test did not \
    arise; the table counts those seeds as inconclusive.\n\n\
    Exit codes: 0 done, 1 a seed violates safety where the arithmetic says that none can.\n\n\
    Examples:  fencepost frontier read-lease --protocol redis-fenced --x ttl=1s..30s --y drift=0..300000ppm\n           \
    fencepost frontier gc-pause --protocol etcd-election --fencing off --x ttl=2s,5s,10s,30s --y pause=500ms..40s";

/// One scenario, one protocol, two parameters.
#[derive(ClapArgs, Debug)]
pub struct FrontierArgs {
    /// The scenario; see `fencepost list scenarios`
    pub name: String,
    /// The election protocol
    #[arg(long, value_parser = parse::protocol, default_value = "etcd-election", value_name = "P")]
    pub protocol: &'static Protocol,
    /// The parameter whose values are given, such as ttl=1s..30s or ttl=1s,3s,10s
    #[arg(long, value_parser = Values::parse, value_name = "AXIS=A..B")]
    pub x: (Axis, Values),
    /// The parameter to search at each of them for the first value that violates safety, such as drift=0..300000ppm
    #[arg(long, value_parser = Span::parse, value_name = "AXIS=A..B")]
    pub y: Span,
    /// Number of values that a range of --x is divided into
    #[arg(long, default_value_t = 8, value_parser = parse::within::<usize>(2..=32), value_name = "N", allow_hyphen_values = true)]
    pub points: usize,
    /// Seeds A..B to run at every value, B excluded
    #[arg(long, value_parser = parse::seeds, default_value = "0..20", value_name = "A..B")]
    pub seeds: Range<u64>,
    #[command(flatten)]
    pub plan: PlanOptions,
    #[command(flatten)]
    pub plot: PlotArgs,
}
