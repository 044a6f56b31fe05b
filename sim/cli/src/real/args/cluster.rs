//! Arguments that are about a whole cluster: its servers and folders, the logs of its processes, `watch`, and a scenario's run.

use crate::{
    real::words::{DEFAULT_BACKEND, DEFAULT_DIR, backend, interval_ms},
    terminal::{
        options::{PlanOptions, ShowArgs},
        parse,
    },
};
use clap::{Args as ClapArgs, ValueEnum, builder::ArgPredicate};
use protocols::election::Protocol;
use std::{ops::Range, path::PathBuf};

/// Logs, on standard error; RUST_LOG filters them.
#[derive(ClapArgs, Debug)]
pub struct LogArgs {
    /// Format of log lines
    #[arg(long, value_enum, default_value = "text", value_name = "text|json")]
    pub log: LogFormat,
}

/// Format of log lines.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The servers and folders of a cluster.
#[derive(ClapArgs, Debug, Default)]
pub struct WorldArgs {
    /// Address of a running coordination service; by default an installed one is started
    #[arg(long, value_name = "HOST:PORT")]
    pub service: Option<String>,
    /// Keep the store in this PostgreSQL database; the password comes from PGPASSWORD
    #[arg(long, value_name = "URL")]
    pub postgres: Option<String>,
    /// TLS between nodes and store, and between nodes that elect among themselves, both sides with a certificate
    #[arg(long)]
    pub tls: bool,
    /// Folder for data, logs and histories [default: target/fencepost/cluster, or a folder for the run]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// The text below the options.
pub const HELP: &str = "Example:  cargo real watch                      # what `cargo real cluster` has started\n          \
    cargo real watch --nodes n1=10.0.0.1:8001,n2=10.0.0.2:8001 --store-metrics 10.0.0.9:7001\n          \
    cargo real watch --once && echo \"a leader acts\"\n\n\
    With --once it exits with 0 if a leader acts, 1 if two took effect at once, 3 if nobody acts.\n\
    Where standard output is no terminal, it prints the table once and then a line for each thing that happens.";

/// What to watch, and how to show it.
#[derive(ClapArgs, Debug)]
pub struct WatchArgs {
    /// The folder of a cluster that `cargo real cluster` started
    #[arg(long, default_value = DEFAULT_DIR, value_name = "DIR")]
    pub dir: PathBuf,
    /// Watch these nodes instead, by their HTTP addresses
    #[arg(long, value_delimiter = ',', value_name = "NAME=HOST:PORT,…")]
    pub nodes: Vec<String>,
    /// Address of the store's metrics (`store --metrics`): only the store knows who takes effect
    #[arg(long, requires = "nodes", value_name = "HOST:PORT")]
    pub store_metrics: Option<String>,
    /// Polling interval
    #[arg(long, value_parser = interval_ms, default_value = "500ms", value_name = "D")]
    pub interval: u64,
    /// Poll once, print a table and exit
    #[arg(long)]
    pub once: bool,
    /// Print observations as JSON, one object per line
    #[arg(long)]
    pub json: bool,
    /// Use TLS, and check certificates against this authority; a cluster's folder has its own
    #[arg(long, requires = "nodes", value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// The certificate for nodes and stores that ask for one
    #[arg(long, requires = "tls_ca", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key
    #[arg(long, requires = "tls_ca", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
}

/// A scenario on real processes.
#[derive(ClapArgs, Debug)]
pub struct RunArgs {
    /// A scenario's name, or a plan in a file (`*.json`)
    pub what: String,
    /// How leaders are elected: raft, among the nodes themselves; etcd, redis or postgres; or a protocol's name
    #[arg(long, value_parser = backend, default_value = DEFAULT_BACKEND, default_value_if("service", ArgPredicate::IsPresent, "etcd"), value_name = "B")]
    pub backend: &'static Protocol,
    /// Seed of everything that the options leave open
    #[arg(long, value_parser = parse::seed, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Play these seeds one after the other, report each on a line, and print a summary
    #[arg(long, value_parser = parse::seeds, conflicts_with = "seed", value_name = "A..B")]
    pub seeds: Option<Range<u64>>,
    #[command(flatten)]
    pub plan: PlanOptions,
    #[command(flatten)]
    pub world: WorldArgs,
    #[command(flatten)]
    pub show: ShowArgs,
}
