//! The arguments of the commands that tell of one protocol, or choose one: `about`, `advise` and `assess`.

use crate::terminal::{
    options::{NetworkOptions, OwnOptions, PlanOptions, ShowArgs},
    parse,
};
use clap::Args as ClapArgs;
use protocols::election::Protocol;
use std::path::PathBuf;

/// One protocol.
#[derive(ClapArgs, Debug)]
pub struct AboutArgs {
    /// The protocol; see `fencepost list protocols`
    #[arg(value_parser = parse::protocol, value_name = "PROTOCOL")]
    pub name: &'static Protocol,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// Which lease serves an availability target.
#[derive(ClapArgs, Debug)]
pub struct AdviseArgs {
    /// Share of time that must have a leader, such as 99.95%
    #[arg(long, value_parser = parse::target, value_name = "PCT", allow_hyphen_values = true)]
    pub slo: u32,
    /// Observed pauses of the process: a JVM's unified log (-Xlog:safepoint or -Xlog:gc), Go's gctrace, or durations,
    /// one per line, such as 120ms or 3x 1.2s; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub pauses: Option<PathBuf>,
    /// A single observed pause, such as 1.2s or 3x 1.2s; can be repeated, and adds to --pauses
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub pause: Vec<String>,
    /// How long the pauses were observed, such as 7d; a log with times needs no --over
    #[arg(long, value_parser = parse::span_ms, value_name = "D", allow_hyphen_values = true)]
    pub over: Option<u64>,
    /// Pauses shorter than this are no outage: requests wait for them to end
    #[arg(long, value_parser = parse::duration_ms, default_value = "100ms", value_name = "D", allow_hyphen_values = true)]
    pub unnoticed: u64,
    /// How many times a leader crashed, and in how long
    #[arg(long, value_parser = parse::frequency, default_value = "1/30d", value_name = "N/D", allow_hyphen_values = true)]
    pub crashes: (u64, u64),
    /// How long a new leader cannot serve yet: caches, queues, connections
    #[arg(long, value_parser = parse::duration_ms, default_value = "2s", value_name = "D", allow_hyphen_values = true)]
    pub warm_up: u64,
    /// Required confidence that the target is met
    #[arg(long, value_parser = parse::percent_ppm, default_value = "90%", value_name = "PCT", allow_hyphen_values = true)]
    pub confidence: u32,
    /// Your current setup, such as k8s-lease@15s, to compare with the advice
    #[arg(long, value_parser = parse::setting, value_name = "P@D", allow_hyphen_values = true)]
    pub now: Option<(&'static Protocol, u64)>,
    /// Protocols to choose from, separated by commas; by default those that can be deployed and whose fencing holds
    /// through any pause (name simulation-only ones, such as zab-fle, to include them)
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
    pub own: OwnOptions,
    /// Number of candidates
    #[arg(long, value_parser = parse::candidates, default_value_t = 3, value_name = "N", allow_hyphen_values = true)]
    pub nodes: u16,
    #[command(flatten)]
    pub network: NetworkOptions,
    /// Do not try the advice in the simulated world
    #[arg(long)]
    pub no_trial: bool,
    /// Number of parallel runs; by default one per core
    #[arg(long, value_parser = parse::jobs, value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// The text below the help.
pub const AFTER_HELP: &str = "At least one hazard is needed: --pause, --partition, --clock-drift, --clock-skew or --latency. Several hazards happen together; margins are then measured along the first of them, in that order. Timers default to the reference implementation's (client-go: 15s, 10s, 2s), not to the 3 s of `scenario`.\n\n\
    Ctrl-C ends it with what it has. Exit codes: 0 safe, 1 not safe, 2 undecided, with the reason, 130 interrupted.\n\n\
    Examples:  fencepost assess k8s-lease --pause 12s\n           \
    fencepost assess k8s-lease --lease-ttl 15s --set k8s-lease.renew-deadline=10s --retry-period 2s --pause 20s --fencing off\n           \
    fencepost assess etcd-election --lease-ttl 10s --partition 30s --fencing off";

/// One protocol, its timers, and its hazards.
#[derive(ClapArgs, Debug)]
pub struct AssessArgs {
    /// The protocol; see `fencepost list protocols`
    #[arg(value_parser = parse::protocol, value_name = "PROTOCOL")]
    pub name: &'static Protocol,
    /// The leader is cut off from its electors for this long, and still reaches clients and the store
    #[arg(long, visible_alias = "cut", value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true)]
    pub partition: Option<u64>,
    /// Number of parallel runs; by default one per core
    #[arg(long, value_parser = parse::jobs, value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub plan: PlanOptions,
    #[command(flatten)]
    pub show: ShowArgs,
}
