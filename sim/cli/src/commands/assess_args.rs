//! The arguments of `assess`.

use crate::terminal::{
    options::{PlanOptions, ShowArgs},
    parse,
};
use clap::Args as ClapArgs;
use protocols::election::Protocol;

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
