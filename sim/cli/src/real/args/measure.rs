//! The arguments of `cargo real measure …`.

use super::world::WorldArgs;
use crate::{
    real::words::{DEFAULT_BACKEND, backend, share},
    terminal::{
        options::{PlanOptions, ShowArgs},
        parse,
    },
};
use clap::{Args as ClapArgs, Subcommand, builder::ArgPredicate};
use protocols::election::Protocol;
use std::path::PathBuf;

/// What is measured.
#[derive(Subcommand, Debug)]
pub enum Measure {
    /// How long it takes from the leader's death to its successor's first accepted write: one fleet, whose leader is
    /// killed again and again, by a plan that is also run in the simulation
    #[command(
        after_help = "Exit codes: 0 as asked, 6 the two are further apart than the limit, 64 wrong arguments or no\n\
        simulation to compare with, 70 something failed\n\n\
        Example:  cargo real measure failover --backend redis --lease-ttl 1s --runs 30"
    )]
    Failover(Box<FailoverArgs>),
}

/// Failover, measured and simulated.
#[derive(ClapArgs, Debug)]
pub struct FailoverArgs {
    /// How leaders are elected: raft, among the nodes themselves; etcd or redis; or a protocol's name
    #[arg(long, value_parser = backend, default_value = DEFAULT_BACKEND, default_value_if("service", ArgPredicate::IsPresent, "etcd"), value_name = "B")]
    pub backend: &'static Protocol,
    /// How often the leader is killed
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000), default_value_t = 30, value_name = "N")]
    pub runs: u32,
    /// How many fleets are simulated beside: this seed's and those after it. More of them make chance smaller
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000), default_value_t = 10, value_name = "N")]
    pub simulated: u32,
    /// Decides when the leader is killed, and everything else that the options leave open
    #[arg(long, value_parser = parse::seed, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// The distance of Kolmogorov and Smirnov above which the simulation lacks something
    #[arg(long, value_parser = share, default_value = "0.25", value_name = "D")]
    pub limit: f64,
    /// The program that simulates, as `cargo build` makes it [default: the newest of target/release and target/debug]
    #[arg(long, value_name = "FILE")]
    pub simulator: Option<PathBuf>,
    #[command(flatten)]
    pub plan: PlanOptions,
    #[command(flatten)]
    pub world: WorldArgs,
    #[command(flatten)]
    pub show: ShowArgs,
}
