//! The arguments of `advise`.

#![allow(missing_docs, reason = "a doc comment is help text here, and a flattened group has none of its own")]

use crate::terminal::{
    options::{NetworkOptions, OwnTimerOptions, ShowArgs},
    parse,
};
use clap::Args as ClapArgs;
use protocols::election::Protocol;
use std::path::PathBuf;

/// Which lease serves an availability target.
#[derive(ClapArgs, Debug)]
pub struct AdviseArgs {
    /// The share of time in which somebody has to lead, such as 99.95%
    #[arg(long, value_parser = parse::target, value_name = "PCT", allow_hyphen_values = true)]
    pub slo: u32,
    /// Pauses of the process that were seen: a JVM's unified log (-Xlog:safepoint or -Xlog:gc), Go's gctrace, or durations,
    /// one a line, such as 120ms or 3x 1.2s; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub pauses: Option<PathBuf>,
    /// A pause by hand, such as 1.2s or 3x 1.2s; may be given again, and adds to --pauses
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub pause: Vec<String>,
    /// The time in which the pauses were seen, such as 7d; a log with times says it itself
    #[arg(long, value_parser = parse::span_ms, value_name = "D", allow_hyphen_values = true)]
    pub over: Option<u64>,
    /// Shorter pauses leave nobody without a leader: a request waits for them
    #[arg(long, value_parser = parse::duration_ms, default_value = "100ms", value_name = "D", allow_hyphen_values = true)]
    pub unnoticed: u64,
    /// How often a leader died, and in what time
    #[arg(long, value_parser = parse::frequency, default_value = "1/30d", value_name = "N/D", allow_hyphen_values = true)]
    pub crashes: (u64, u64),
    /// How long a new leader is of no use yet: caches, queues, connections
    #[arg(long, value_parser = parse::duration_ms, default_value = "2s", value_name = "D", allow_hyphen_values = true)]
    pub warm_up: u64,
    /// How sure it has to be that the target is met
    #[arg(long, value_parser = parse::percent_ppm, default_value = "90%", value_name = "PCT", allow_hyphen_values = true)]
    pub confidence: u32,
    /// What there is now, such as k8s-lease@15s, to stand beside the advice
    #[arg(long, value_parser = parse::setting, value_name = "P@D", allow_hyphen_values = true)]
    pub now: Option<(&'static Protocol, u64)>,
    /// Protocols to choose from, separated by commas; by default those that can be deployed and whose fencing holds through any
    /// pause (name one that runs in the simulation only, such as zab-fle, to include it)
    #[arg(long, value_name = "P,…")]
    pub protocol: Option<String>,
    /// Leases to choose from, separated by commas
    #[arg(
        long,
        default_value = "1s,1.5s,2s,3s,4s,5s,6s,8s,10s,12s,15s,20s,30s,45s,60s",
        value_delimiter = ',',
        value_parser = parse::duration_ms,
        value_name = "D,…"
    )]
    pub lease_ttl: Vec<u64>,
    /// Time from one renewal to the next; the protocol's share of the lease by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true)]
    pub renew_interval: Option<u64>,
    #[command(flatten)]
    pub own: OwnTimerOptions,
    /// Number of candidates
    #[arg(long, value_parser = parse::candidates, default_value_t = 3, value_name = "N", allow_hyphen_values = true)]
    pub nodes: u16,
    #[command(flatten)]
    pub network: NetworkOptions,
    /// Advise only; do not try the advice in the simulated world
    #[arg(long)]
    pub no_trial: bool,
    /// Number of runs at a time; by default as many as there are cores
    #[arg(long, value_parser = parse::jobs, value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub show: ShowArgs,
}
