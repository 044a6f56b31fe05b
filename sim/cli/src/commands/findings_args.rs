//! The arguments of the commands that analyse failures, and of those that show that defects are found.

use crate::terminal::{
    OUTPUT,
    options::{PlanOptions, ShowArgs},
    parse,
};
use clap::{Args as ClapArgs, Subcommand};
use std::{ops::Range, path::PathBuf};

/// Commands that analyse failures.
#[derive(Subcommand, Debug)]
pub enum FindingsCommand {
    /// Find which faults a failing plan needs in order to fail, and when that became inevitable
    #[command(
        after_help = "The plan is also run with fencing on, without its bugs, with clocks and network in order, with reads through \
        the store and without mistaken health checks, as far as that is a change. Then it is repeated up to each of some \
        twenty moments and drawn anew from there on, many times: the share of such futures that fail shows when the \
        failure became inevitable. Exit codes: 0 explained, 2 the plan \
        does not fail.\n\n\
        Example:  fencepost explain target/fencepost/partition/redis-naive/7/capsule.json"
    )]
    Explain(ExplainArgs),
    /// Find the smallest plan that fails the same way
    #[command(
        after_help = "The same way is the same verdict with the same invariants violated. Faults, candidates and other lists become \
        shorter, and numbers smaller, until nothing smaller fails that way or the runs are used up. Protocol, seed, \
        fencing, timers and what is asked of the run stay. Ctrl-C ends it with what it has. Exit codes: 0 plan.min.json \
        is written, 2 the plan does not fail, 130 interrupted.\n\n\
        Example:  fencepost shrink target/fencepost/partition/redis-naive/7/capsule.json"
    )]
    Shrink(ShrinkArgs),
    /// Switch known bugs on, and report after how many seeds each is detected
    #[command(
        after_help = "Each bug is run under the command that `list bugs` names, in every protocol that has it. A seed detects a bug if it shows what the bug is said to do, and does not show it without the bug; in a protocol other than the command's, also if it violates any invariant only with the bug. Exit codes: 0 all were detected, 1 one survived.\n\n\
        Examples:  fencepost mutants\n           fencepost mutants ledger-one-sealed mixed-locks --seeds 0..100"
    )]
    Mutants(MutantsArgs),
    /// Pause each node at every named point that it passes, for each of four lengths around the lease
    #[command(
        after_help = "A run without faults shows which points each node passes until the first leader has renewed twice. Then each \
        passage is paused in a run of its own: for 100 ms less than the lease, for the lease, for 100 ms more, and for three \
        leases, or longer if a successor may take longer. --pairs adds runs with two pauses, evenly chosen among all pairs. The table says how much of each space was covered. \
        Exit codes: 0 done, 1 a protocol that promises safety under such pauses was unsafe, 2 no pause of some \
        protocol led to another election, 130 interrupted.\n\n\
        Examples:  fencepost exhaust --protocol etcd-election,redis-fenced\n           \
        fencepost exhaust --protocol all --pairs 1000\n           fencepost exhaust --protocol redis-fenced --fencing off"
    )]
    Exhaust(Box<ExhaustArgs>),
    /// Run again what failed in earlier nights, check that a canary fails, and run new seeds of `sweep swarm`
    #[command(
        after_help = "A night adds a line to DIR/nights.ndjson, keeps the plans that failed in DIR/failures, and writes DIR/index.html: \
        what is open, what was fixed, and each figure beside its last thirty nights. No two nights run the same seed. If the \
        canary passes, nothing of the night counts. Exit codes are those of `sweep`, with failures of earlier nights that are \
        still open, and 70 if the canary passes.\n\n\
        Examples:  fencepost nightly --out nights\n           \
        fencepost nightly --out nights --for 8h --protocol etcd-election,redis-fenced\n           \
        fencepost nightly --out nights --runs 1000",
        mut_args(|arg| if NIGHTLY.contains(&arg.get_id().as_str()) { arg } else { arg.hide(true) }),
        mut_arg("nodes", |arg| arg.help("Number of candidates; drawn by default"))
    )]
    Nightly(Box<NightlyArgs>),
    /// Merge the shards of a sweep into one result, as if one machine had run it
    #[command(
        after_help = "A shard is what `sweep … --shard I/N --out DIR` has left. The exit code is that of the whole sweep; \
        64 when a shard is missing, doubled, interrupted, or of another sweep or build.\n\n\
        Examples:  fencepost merge shards/1 shards/2 shards/3 --out merged\n           fencepost merge shards --out merged"
    )]
    Merge(MergeArgs),
}

/// One plan that fails.
#[derive(ClapArgs, Debug)]
pub struct ExplainArgs {
    /// A plan or a capsule; `-` reads standard input
    pub file: PathBuf,
    /// How many futures to draw from each of 20 moments, to find when the failure became inevitable; 0: none
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(0..=10_000), value_name = "N")]
    pub futures: u16,
    /// Write the run's timeline.html with that curve, and open it in the browser
    #[arg(long, help_heading = OUTPUT)]
    pub open: bool,
    /// The folder for it [default: target/fencepost]
    #[arg(long, value_name = "DIR", requires = "open", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Number of parallel runs; by default one per core
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// Protocols, and how much may be tried.
#[derive(ClapArgs, Debug)]
pub struct ExhaustArgs {
    /// Protocols, separated by commas, or `all`
    #[arg(long, default_value = "all", value_name = "P,…")]
    pub protocol: String,
    /// The seed of every run
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
    /// How many pairs of pauses to try for each protocol
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=10_000_000), value_name = "N")]
    pub pairs: u64,
    /// Number of parallel runs; by default one per core
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder for the first unsafe run of each protocol [default: target/fencepost]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub plan: PlanOptions,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// The options that a night takes; a swarm draws the others, and refuses them.
const NIGHTLY: [&str; 16] = [
    "out", "limit", "runs", "protocol", "canary", "jobs", "nodes", "net", "latency", "loss", "groups", "fencing",
    "bug", "json", "quiet", "verbose",
];

/// How long a night is, and what it runs.
#[derive(ClapArgs, Debug)]
pub struct NightlyArgs {
    /// The folder of all nights; each goes on where the last one ended
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub out: PathBuf,
    /// When to end, counted from the start [default: 30m, or no limit with --runs]
    #[arg(long = "for", value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true)]
    pub limit: Option<u64>,
    /// End after this many new seeds
    #[arg(long, value_parser = parse::within::<u64>(1..=1_000_000_000), value_name = "N", allow_hyphen_values = true)]
    pub runs: Option<u64>,
    /// Protocols, separated by commas, or `all`
    #[arg(long, default_value = "all", value_name = "P,…")]
    pub protocol: String,
    /// A plan or a capsule that must fail; by default `gc-pause` with fencing off
    #[arg(long, value_name = "FILE")]
    pub canary: Option<PathBuf>,
    /// Number of parallel runs; by default one per core
    #[arg(long, value_parser = parse::jobs, value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub plan: PlanOptions,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// One plan that fails, and how much may be tried.
#[derive(ClapArgs, Debug)]
pub struct ShrinkArgs {
    /// A plan or a capsule; `-` reads standard input
    pub file: PathBuf,
    /// Stop after this many runs
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000), value_name = "N")]
    pub runs: u64,
    /// Write plan.min.json to this folder [default: that of the file, or target/fencepost for standard input]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// Known bugs, and the seeds that should detect them.
#[derive(ClapArgs, Debug)]
pub struct MutantsArgs {
    /// Bugs; all by default. See `fencepost list bugs`
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Seeds A..B to try for each until one detects it, B excluded
    #[arg(long, value_parser = parse::seeds, default_value = "0..1000", value_name = "A..B")]
    pub seeds: Range<u64>,
    /// Number of parallel runs; by default one per core
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// The shards of a sweep.
#[derive(ClapArgs, Debug)]
pub struct MergeArgs {
    /// The folders of the shards, in any order, or a folder that has them all
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Write the result and the artifacts of failures to this folder [default: target/fencepost]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub show: ShowArgs,
}
