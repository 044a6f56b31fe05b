//! The arguments of the commands that make more of what was found, and show that things are found.

#![allow(missing_docs, reason = "a doc comment is help text here, and a flattened group has none of its own")]

use crate::terminal::{options::ShowArgs, parse};
use clap::{Args as ClapArgs, Subcommand};
use std::{ops::Range, path::PathBuf};

/// Commands that make more of what was found.
#[derive(Subcommand, Debug)]
pub enum FindingsCommand {
    /// Say which faults of a failing plan it takes to fail: run it again without each
    #[command(
        after_help = "The plan is also run with fencing on, without its bugs, with clocks and network in order, with reads through \
        the store and without mistaken health checks, as far as that is a change. Exit codes: 0 explained, 2 the plan \
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
    /// Switch known bugs on, and say after how many seeds each is detected
    #[command(
        after_help = "Each bug is run under the command that `list bugs` names, in every protocol that has it. A seed detects it \
        that shows what the bug is said to do, and does not without the bug; in a protocol other than the command's, also \
        one that violates any invariant only with the bug. Exit codes: 0 all were detected, 1 one survived.\n\n\
        Examples:  fencepost mutants\n           fencepost mutants ledger-one-sealed mixed-locks --seeds 0..100"
    )]
    Mutants(MutantsArgs),
    /// Make one result of the shards of a sweep, as one machine would have made it
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
    /// Number of runs at a time; by default as many as there are cores
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
    /// Stop after so many runs
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000), value_name = "N")]
    pub runs: u64,
    /// Write plan.min.json into this folder [default: the file's own; of standard input target/fencepost]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// Known bugs, and the seeds that are to detect them.
#[derive(ClapArgs, Debug)]
pub struct MutantsArgs {
    /// Bugs; all by default. See `fencepost list bugs`
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Seeds A..B that are tried of each until one detects it, B excluded
    #[arg(long, value_parser = parse::seeds, default_value = "0..1000", value_name = "A..B")]
    pub seeds: Range<u64>,
    /// Number of runs at a time; by default as many as there are cores
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// The shards of a sweep.
#[derive(ClapArgs, Debug)]
pub struct MergeArgs {
    /// The folders that the shards were written to, in any order
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Write the result, and the artifacts of failures, into this folder [default: target/fencepost]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub show: ShowArgs,
}
