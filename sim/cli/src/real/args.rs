//! The arguments of `cargo real …`. Their names are a contract; names may be added.

mod cluster;
mod drill;
mod measure;

use super::words::{
    At, DEFAULT_BACKEND, DEFAULT_DIR, backend, in_milliseconds, in_seconds, nodes, offset_ms, point, retention, socket,
};
use crate::terminal::{
    check::PageArgs,
    options::{OwnOptions, ShowArgs},
    parse,
};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum, builder::ArgPredicate};
pub use cluster::{LogArgs, LogFormat, RunArgs, WatchArgs, WorldArgs};
pub use drill::DrillArgs;
pub use measure::{ExperimentsArgs, FailoverArgs, Measure};
use protocols::election::Protocol;
use protocols_real::store::audit::Retention;
use std::{ffi::OsString, net::SocketAddr, path::PathBuf};

/// Leader election and fencing on real processes: the code that the simulation judges, against real servers.
#[derive(Parser, Debug)]
#[command(name = "fencepost", version, max_term_width = 100)]
#[command(
    after_help = "Try:  cargo real cluster                      # three nodes and a store on this machine, on Raft\n      \
    cargo real chaos gc-pause-leader --ms 5000\n      cargo real chaos run gc-pause --backend redis\n\n\
    Exit codes: 0 as asked, 1 safety violated, 2 inconclusive, 3 liveness violated, 64 wrong arguments or input,\n\
    70 something failed"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Join a fleet, campaign, do the leader's work
    #[command(after_help = "Example:  cargo real node --id n1 --backend etcd --service 127.0.0.1:2379 \
        --store 127.0.0.1:7000 \\\n            --listen 127.0.0.1:8001 --peers n1=127.0.0.1:8001,n2=127.0.0.1:8002 --token-key key\n\n          \
        cargo real node --id n1 --backend raft --store 127.0.0.1:7000 --elect-listen 127.0.0.1:9001 \\\n            \
        --electors n1=127.0.0.1:9001,n2=127.0.0.1:9002,n3=127.0.0.1:9003 --data n1 \\\n            \
        --listen 127.0.0.1:8001 --peers n1=127.0.0.1:8001,n2=127.0.0.1:8002,n3=127.0.0.1:8003 --token-key key \\\n            \
        --tls-cert cert.pem --tls-key key.pem --tls-ca ca.pem")]
    Node(Box<NodeArgs>),
    /// Run the fenced store
    #[command(after_help = "Example:  cargo real store --listen 127.0.0.1:7000 --data store.redb --token-key key")]
    Store(StoreArgs),
    /// Print a store's decisions, as JSON lines for `check`
    #[command(after_help = "Example:  cargo real audit --data store.redb > store.jsonl")]
    Audit(KeepArgs),
    /// Raise a coordination service's tokens above the highest that the store has seen, after the service lost its data
    #[command(
        after_help = "Example:  cargo real raise-token --backend redis --service 127.0.0.1:6379 --above 2001\n\n\
        Nodes log which number it must be. etcd's revision only rises by being written, up to a million at a time;\n\
        beyond that: etcdutl snapshot restore --bump-revision N --mark-compacted"
    )]
    RaiseToken(RaiseArgs),
    /// Judge a history: a store's audit, a run's history, your production log
    Check {
        /// JSON lines or CSV; several files are merged by time; `-` reads standard input
        #[arg(required = true)]
        history: Vec<PathBuf>,
        #[command(flatten)]
        log: ::logs::Options,
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        show: ShowArgs,
    },
    /// Start a store and nodes on this machine, show their state, end them on Ctrl-C
    #[command(after_help = "Example:  cargo real cluster --backend redis --lease-ttl 1s")]
    Cluster(ClusterArgs),
    /// Show a running cluster in the terminal: who believes, who acts, what is refused; `q` quits
    #[command(after_help = cluster::HELP)]
    Watch(WatchArgs),
    /// Break a running cluster, or play a scenario on real processes
    #[command(subcommand, after_help = "Example:  cargo real chaos partition-leader --secs 8")]
    Chaos(Chaos),
    /// Play scenarios on your own fleet: processes in any language, as they are, on real servers
    #[command(after_help = drill::HELP)]
    Drill(DrillArgs),
    /// Measure on real processes, and compare with the simulation
    #[command(subcommand, after_help = "Example:  cargo real measure failover --backend etcd --runs 30")]
    Measure(Measure),
    /// Run a program, and end it and whatever it has started once standard input closes
    #[command(hide = true)]
    Kept {
        /// The container that the program, an engine's client, runs
        #[arg(long, value_name = "NAME")]
        container: Option<String>,
        /// The program and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        program: Vec<OsString>,
    },
    /// Run a program that ends with the process that started this one
    #[command(hide = true)]
    Leashed {
        /// The program and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        program: Vec<OsString>,
    },
}

/// A member of the fleet.
#[derive(ClapArgs, Debug)]
pub struct NodeArgs {
    /// This node's name, one of the peers'
    #[arg(long, value_name = "NAME")]
    pub id: String,
    /// How leaders are elected: raft, among the nodes themselves; etcd, redis or postgres; or a protocol's name (see
    /// `cargo run -- list protocols`)
    #[arg(long, value_parser = backend, default_value = DEFAULT_BACKEND, default_value_if("service", ArgPredicate::IsPresent, "etcd"), value_name = "B")]
    pub backend: &'static Protocol,
    /// Address that this node serves HTTP on
    #[arg(long, value_parser = socket, value_name = "HOST:PORT")]
    pub listen: SocketAddr,
    /// Every member with its HTTP address, this node too, in the same order everywhere
    #[arg(long, value_delimiter = ',', required = true, value_name = "NAME=HOST:PORT,…")]
    pub peers: Vec<String>,
    /// Address of the coordination service, if the backend has one; separate several servers with commas
    #[arg(long, value_name = "HOST:PORT,…")]
    pub service: Option<String>,
    #[arg(long, value_delimiter = ',', hide = true)]
    pub routes: Vec<String>,
    /// Address that this node serves the other members on, if they elect among themselves, by mutual TLS: whoever has a
    /// certificate of --tls-ca can vote
    #[arg(long, value_parser = socket, value_name = "HOST:PORT")]
    pub elect_listen: Option<SocketAddr>,
    /// Every member's address for that, in the order of the peers
    #[arg(long, value_delimiter = ',', value_name = "NAME=HOST:PORT,…")]
    pub electors: Vec<String>,
    /// Elect in clear, without certificates: whoever reaches --elect-listen can make two nodes lead with one token
    #[arg(long)]
    pub elect_insecure: bool,
    /// Folder for the election state that must survive a restart
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Address of the fenced store
    #[arg(long, value_name = "HOST:PORT")]
    pub store: String,
    /// Time to live of the lease to ask for; the protocol's own by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D")]
    pub lease_ttl: Option<u64>,
    /// Time from one renewal to the next; by default a part of the lease, for most protocols a third
    #[arg(long, value_parser = parse::duration_ms, value_name = "D")]
    pub renew_interval: Option<u64>,
    #[command(flatten)]
    pub own: OwnOptions,
    /// Timeout of one request to the service; by default a third of the lease, at most 1 s
    #[arg(long, value_parser = parse::duration_ms, value_name = "D")]
    pub request_timeout: Option<u64>,
    /// Range that election timeouts are drawn from, if the backend draws them; its own by default
    #[arg(long, value_parser = parse::duration_range_ms, value_name = "A..B")]
    pub election_timeout: Option<(u64, u64)>,
    /// Time from one tick of the scheduler to the next
    #[arg(long, value_parser = parse::duration_ms, default_value = "1s", value_name = "D")]
    pub tick: u64,
    /// Resign once the store has owed an answer for this long, and stand aside for ten times as long; never by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D")]
    pub step_down_after: Option<u64>,
    /// How far this node's wall clock is ahead of the machine's, or behind, as -200ms; a plain number is milliseconds
    #[arg(long, value_parser = offset_ms, default_value = "0ms", allow_hyphen_values = true, value_name = "D")]
    pub clock_skew: i64,
    /// Parts per million by which this node's clocks run fast
    #[arg(long, default_value_t = 0, allow_hyphen_values = true, value_name = "PPM")]
    pub clock_drift: i64,
    /// Answer GET /last from memory while leadership lasts by this node's clock; reads are then only as fresh as the
    /// clocks are accurate
    #[arg(long)]
    pub read_lease: bool,
    /// Append this node's part of the history to a file, as JSON lines
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Use TLS with the service
    #[arg(long)]
    pub service_tls: bool,
    /// Use TLS with the store
    #[arg(long)]
    pub store_tls: bool,
    #[command(flatten)]
    pub auth: AuthArgs,
    #[command(flatten)]
    pub tls: TlsArgs,
    #[command(flatten)]
    pub logs: LogArgs,
    /// Names in requests and histories beside the peers': the service's, the store's, clients'
    #[arg(long, value_delimiter = ',', hide = true)]
    pub others: Vec<String>,
    /// How many times this node was started before
    #[arg(long, hide = true)]
    pub starts: Option<u32>,
    /// Address of the process to ask at named points
    #[arg(long, hide = true)]
    pub points: Option<SocketAddr>,
}

/// A service's tokens, and the value to raise them above.
#[derive(ClapArgs, Debug)]
pub struct RaiseArgs {
    /// The coordination service: etcd or redis
    #[arg(long, value_parser = backend, value_name = "B")]
    pub backend: &'static Protocol,
    /// Address of the coordination service
    #[arg(long, value_name = "HOST:PORT")]
    pub service: String,
    /// The highest token that the store has accepted
    #[arg(long, value_name = "N")]
    pub above: u64,
}

/// The fenced store.
#[derive(ClapArgs, Debug)]
pub struct StoreArgs {
    /// Address to listen on
    #[arg(long, value_parser = socket, default_value = "127.0.0.1:7000", value_name = "HOST:PORT")]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Whether tokens are checked; off accepts any write, to show the consequences
    #[arg(long, action = clap::ArgAction::Set, value_parser = parse::on_off, default_value = "on", value_name = "on|off")]
    pub fencing: bool,
    /// How much of the audit to keep: all, the last D of time (while the machine runs), or a size (KiB, MiB, GiB)
    #[arg(long, value_parser = retention, default_value = "all", value_name = "all|D|SIZE")]
    pub audit_keep: Retention,
    /// Where to serve metrics over HTTP, for Prometheus
    #[arg(long, value_parser = socket, value_name = "HOST:PORT")]
    pub metrics: Option<SocketAddr>,
    #[command(flatten)]
    pub auth: AuthArgs,
    #[command(flatten)]
    pub tls: TlsArgs,
    #[command(flatten)]
    pub logs: LogArgs,
}

/// Where the ledgers are kept.
#[derive(ClapArgs, Debug)]
pub struct KeepArgs {
    /// File of the ledgers
    #[arg(long, value_name = "FILE", conflicts_with = "postgres")]
    pub data: Option<PathBuf>,
    /// PostgreSQL database of the ledgers; the password comes from PGPASSWORD
    #[arg(long, value_name = "URL")]
    pub postgres: Option<String>,
    /// Use TLS with PostgreSQL, and check its certificate against this authority
    #[arg(long, value_name = "FILE")]
    pub postgres_ca: Option<PathBuf>,
}

/// Who may write.
#[derive(ClapArgs, Debug)]
pub struct AuthArgs {
    /// File with the key that authenticates fencing tokens, the same at every node and store
    #[arg(long, value_name = "FILE")]
    pub token_key: Option<PathBuf>,
    /// Run without a key: anybody who reaches the store can then lock everyone out with a forged token
    #[arg(long)]
    pub insecure: bool,
}

/// TLS, by files in PEM.
#[derive(ClapArgs, Debug)]
pub struct TlsArgs {
    /// This process's certificate; its server then uses TLS
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// The authority that others' certificates are checked against
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// Require a certificate from every client
    #[arg(long)]
    pub tls_mutual: bool,
}

/// A cluster on this machine.
#[derive(ClapArgs, Debug)]
pub struct ClusterArgs {
    /// How leaders are elected: raft, among the nodes themselves; etcd, redis or postgres; or a protocol's name
    #[arg(long, value_parser = backend, default_value = DEFAULT_BACKEND, value_name = "B")]
    pub backend: &'static Protocol,
    /// Number of nodes
    #[arg(long, default_value_t = 3, value_parser = nodes, value_name = "N")]
    pub nodes: u16,
    /// Time to live of the lease to ask for; 3 s by default, or the shortest election timeout
    #[arg(long, value_parser = parse::duration_ms, value_name = "D")]
    pub lease_ttl: Option<u64>,
    /// Time from one renewal to the next; by default a part of the lease, for most protocols a third
    #[arg(long, value_parser = parse::duration_ms, value_name = "D")]
    pub renew_interval: Option<u64>,
    #[command(flatten)]
    pub own: OwnOptions,
    /// Range that election timeouts are drawn from, if the backend draws them; its own by default
    #[arg(long, value_parser = parse::duration_range_ms, value_name = "A..B")]
    pub election_timeout: Option<(u64, u64)>,
    /// How far nodes' wall clocks may be off, either way
    #[arg(long, value_parser = parse::duration_ms, default_value = "0ms", value_name = "D")]
    pub clock_skew: u64,
    /// Leaders resign once the store has owed them an answer for this long, and stand aside for ten times as long;
    /// never by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D")]
    pub step_down_after: Option<u64>,
    /// Whether the store checks tokens
    #[arg(long, action = clap::ArgAction::Set, value_parser = parse::on_off, default_value = "on", value_name = "on|off")]
    pub fencing: bool,
    #[command(flatten)]
    pub world: WorldArgs,
}

/// What goes wrong.
#[derive(Subcommand, Debug)]
pub enum Chaos {
    /// Kill the leader's process, which starts again later
    KillLeader {
        /// Time until it starts again
        #[arg(long, value_parser = parse::duration_ms, default_value = "5s", value_name = "D")]
        restart_after: u64,
        #[command(flatten)]
        which: Which,
    },
    /// Cut the leader off from the coordination service, or from the other nodes if they elect among themselves
    PartitionLeader {
        /// How long: a duration, such as 8s, or a number of seconds
        #[arg(long, visible_alias = "for", default_value = "8", value_parser = in_seconds, value_name = "D|S")]
        secs: f64,
        /// What it is cut off from
        #[arg(long, value_enum, default_value = "service", value_name = "service|store|both")]
        from: CutOff,
        #[command(flatten)]
        which: Which,
    },
    /// Pause the leader's process (SIGSTOP), as a garbage collection does, and resume it (SIGCONT)
    GcPauseLeader {
        /// How long: a duration, such as 5s, or a number of milliseconds; there is a successor only if it outlasts the
        /// lease
        #[arg(long, visible_aliases = ["for", "pause"], default_value = "5000", value_parser = in_milliseconds, value_name = "D|MS")]
        ms: f64,
        /// Where in its code: `lease_checked` is between checking the lease and writing, `now` anywhere
        #[arg(long, value_parser = point, default_value = "lease_checked", value_name = "lease_checked|now")]
        at: At,
        #[command(flatten)]
        which: Which,
    },
    /// Ask the leader to resign
    ResignLeader {
        #[command(flatten)]
        which: Which,
    },
    /// Ask the leader to hand over to another node
    TransferLeader {
        /// The name of the new leader
        #[arg(long, value_name = "NAME")]
        to: String,
        #[command(flatten)]
        which: Which,
    },
    /// Play a scenario, or a plan from a file, on real processes, and judge it as in the simulation
    #[command(after_help = "Example:  cargo real chaos run gc-pause --backend redis --seed 7")]
    Run(Box<RunArgs>),
}

/// Which cluster.
#[derive(ClapArgs, Debug)]
pub struct Which {
    /// The folder of the cluster
    #[arg(long, default_value = DEFAULT_DIR, value_name = "DIR")]
    pub dir: PathBuf,
}

/// What a leader is cut off from.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutOff {
    /// The coordination service, or the other nodes if they elect among themselves.
    Service,
    /// The store.
    Store,
    /// Both.
    Both,
}
