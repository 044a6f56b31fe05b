//! The arguments of `cargo real measure …`.

use super::cluster::WorldArgs;
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
    /// Failover time, from the leader's death to its successor's first accepted write: one fleet, whose leader is
    /// killed again and again, by a plan that the simulation runs as well
    #[command(
        after_help = "Exit codes: 0 as asked, 6 the two are further apart than the limit, 64 wrong arguments or no\n\
        simulation to compare with, 70 something failed\n\n\
        Example:  cargo real measure failover --backend redis --lease-ttl 1s --runs 30"
    )]
    Failover(Box<FailoverArgs>),
    /// Experiments 1, 3, 4, 5 and 7 of the findings, on etcd, Redis and Raft: each figure of the real processes beside
    /// the simulation's
    #[command(
        after_help = "Needs `cargo build --release` for the simulation, and the servers of the backends: apt-get install \
        etcd-server redis-server.\nRaft needs neither.\n\nExit codes: 0 as promised, 1 a run with fencing violated safety, \
        2 a run was inconclusive, or pauses\nwithout fencing violated nothing, 3 nobody led in time, 64 wrong arguments or something is not installed, 70 something \
        failed\n\nExample:  cargo real measure experiments --backend raft --only 4,5 --runs 2"
    )]
    Experiments(ExperimentsArgs),
}

/// The experiments, measured and simulated.
#[derive(ClapArgs, Debug)]
pub struct ExperimentsArgs {
    /// How leaders are elected: raft, etcd, redis, or protocols' names
    #[arg(long, value_parser = backend, value_delimiter = ',', default_value = "redis,etcd,raft", value_name = "B,…")]
    pub backend: Vec<&'static Protocol>,
    /// Only these experiments
    #[arg(long, value_parser = parse::within::<u8>(1..=7), value_delimiter = ',', value_name = "N,…")]
    pub only: Vec<u8>,
    /// Number of seeds that real processes play of each experiment; in the first, the leader is killed four times as
    /// often
    #[arg(long, value_parser = parse::within::<u32>(1..=100), default_value_t = 5, value_name = "N")]
    pub runs: u32,
    /// Number of seeds to simulate, with the same plans and more like them
    #[arg(long, value_parser = parse::within::<u32>(1..=1_000), default_value_t = 20, value_name = "N")]
    pub simulated: u32,
    /// The first seed
    #[arg(long, value_parser = parse::seed, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// The simulation's program, as `cargo build` makes it [default: the newest of target/release and target/debug]
    #[arg(long, value_name = "FILE")]
    pub simulator: Option<PathBuf>,
    /// Folder for data, logs and histories [default: target/fencepost/measure/experiments]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Also write the tables to this file, as Markdown
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// Failover, measured and simulated.
#[derive(ClapArgs, Debug)]
pub struct FailoverArgs {
    /// How leaders are elected: raft, among the nodes themselves; etcd or redis; or a protocol's name
    #[arg(long, value_parser = backend, default_value = DEFAULT_BACKEND, default_value_if("service", ArgPredicate::IsPresent, "etcd"), value_name = "B")]
    pub backend: &'static Protocol,
    /// Number of times that the leader is killed
    #[arg(long, value_parser = parse::within::<u32>(1..=1_000), default_value_t = 30, value_name = "N")]
    pub runs: u32,
    /// Number of fleets to simulate, from this seed on; more of them reduce the effect of chance
    #[arg(long, value_parser = parse::within::<u32>(1..=1_000), default_value_t = 10, value_name = "N")]
    pub simulated: u32,
    /// Seed of the kills' times, and of everything else that the options leave open
    #[arg(long, value_parser = parse::seed, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Kolmogorov-Smirnov distance above which the simulation counts as wrong
    #[arg(long, value_parser = share, default_value = "0.25", value_name = "D")]
    pub limit: f64,
    /// The simulation's program, as `cargo build` makes it [default: the newest of target/release and target/debug]
    #[arg(long, value_name = "FILE")]
    pub simulator: Option<PathBuf>,
    #[command(flatten)]
    pub plan: PlanOptions,
    #[command(flatten)]
    pub world: WorldArgs,
    #[command(flatten)]
    pub show: ShowArgs,
}
