//! The arguments of the commands that analyse failures, and of those that show that defects are found.

use crate::terminal::{options::ShowArgs, parse};
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
    /// Merge the shards of a sweep into one result, as if one machine had run it
    #[command(
        after_help = "A shard is what `sweep … --shard I/N --out DIR` has left, for scenarios. The exit code is that of the whole sweep; \
        64 when a shard is missing, doubled, interrupted, or of another sweep.\n\n\
        Example:  fencepost merge shards/1 shards/2 shards/3 --out merged"
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
    /// Number of parallel runs; by default one per core
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
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
    /// The folders of the shards, in any order
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Write the result and the artifacts of failures to this folder [default: target/fencepost]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub show: ShowArgs,
}
