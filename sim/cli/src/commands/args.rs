//! The arguments. Their names are a contract; names may be added.

use super::{
    advice_args::{AboutArgs, AdviseArgs, AssessArgs},
    findings_args::FindingsCommand,
    measure_args::{ExperimentsArgs, MatrixArgs, WorkSetArgs},
    output_args::{ExportArgs, OutputArgs, ReportArgs},
    search_args::{BisectArgs, FrontierArgs, PlotArgs},
    shard::engine::{Share, share},
};
use crate::terminal::{
    check::PageArgs,
    options::{NetworkOptions, PlanOptions, SetOptions, ShowArgs},
    parse,
};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use protocols::election::Protocol;
use std::{num::NonZero, ops::Range, path::PathBuf};

/// Can two leaders ever take effect, and for how long does nobody lead? Fencepost runs real election and fencing code
/// in a simulated world, breaks that world, and judges what the protected resource accepted. A seed replays bit for
/// bit.
#[derive(Parser, Debug)]
#[command(name = "fencepost", version, max_term_width = 100)]
#[command(
    after_help = "Try:  fencepost scenario gc-pause --seed 42\n      fencepost scenario gc-pause --seed 42 --fencing off\n\n\
    Exit codes:\n  0  held                              5   replay of another build refused\n  \
    1  safety violated                   64  wrong arguments or input\n  \
    2  inconclusive: the situation       70  the harness itself failed\n     \
       under test never arose            130 interrupted\n  \
    3  liveness violated                 6   a sweep's figure lies far outside\n  \
    4  not deterministic                     its baseline"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run a scenario and judge it
    #[command(after_help = "Examples:  fencepost scenario partition --protocol redis-naive --seed 7\n           \
        fencepost scenario gc-pause --fencing off --beside fencing=on --open")]
    Scenario(ScenarioArgs),
    /// List scenarios, protocols, faults, invariants, kinds of work, networks and bugs
    #[command(after_help = "Examples:  fencepost list\n           fencepost list scenarios")]
    List {
        /// What to list; by default the number of each kind, or with --json everything
        what: Option<Listing>,
        /// Print one JSON object and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Print a scenario's plan as JSON, without running it
    #[command(
        after_help = "Example:  fencepost plan gc-pause --seed 42 > plan.json",
        mut_arg("beside", |arg| arg.hide(true)),
        mut_arg("open", |arg| arg.hide(true)),
        mut_arg("out", |arg| arg.hide(true)),
        mut_arg("trace", |arg| arg.hide(true)),
        mut_arg("history", |arg| arg.hide(true))
    )]
    Plan(ScenarioArgs),
    /// Rerun a plan, a capsule or a case of seeds/
    #[command(after_help = "Examples:  fencepost replay seeds/gc-pause-fencing-off.json\n           \
        fencepost replay target/fencepost/partition/redis-naive/7/capsule.json")]
    Replay {
        /// The file; `-` reads standard input
        file: PathBuf,
        /// Refuse a capsule of another build (exit 5)
        #[arg(long)]
        strict: bool,
        /// Write no artifacts when the run fails
        #[arg(long, conflicts_with = "open")]
        no_artifacts: bool,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Remove the artifacts of earlier runs, and report how much was removed
    #[command(after_help = "Only files that Fencepost writes are removed, and folders that are empty then.\n\n\
        Example:  fencepost clean")]
    Clean {
        /// The folder that runs, sweeps or a matrix were written to [default: target/fencepost]
        dir: Option<PathBuf>,
        /// Only report how much would be removed
        #[arg(long)]
        dry_run: bool,
    },
    #[command(flatten)]
    Findings(FindingsCommand),
    /// Judge a history from anywhere: a real run, or a log of your own service
    #[command(
        after_help = "A log of accepted and refused writes is enough for safety: time, resource, node, token, verdict (ok, \
        duplicate, fenced or failed). Start without options: if a field is unclear, the error suggests the options to add.\n\n\
        Examples:  fencepost check history.jsonl\n           \
        fencepost check writes.csv --map t_us=created_at,node=worker,token=fence_token,seq=version --set verdict=ok,resource=orders\n           \
        fencepost check n1.log n2.log --map t_us=ts --set resource=orders,node={file} --word verdict:REJECTED=fenced\n           \
        fencepost check monday.jsonl --beside tuesday.jsonl --open"
    )]
    Check {
        /// JSON, a table or key=value lines; several files are merged by time; `-` reads standard input
        #[arg(required = true)]
        history: Vec<PathBuf>,
        #[command(flatten)]
        log: logs::Options,
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        show: ShowArgs,
    },
    /// Convert a history for other programs: Perfetto, ShiViz, or a table
    #[command(after_help = "Examples:  fencepost export history.jsonl --to perfetto --out run.pftrace\n           \
        fencepost export history.jsonl --to csv")]
    Export(ExportArgs),
    /// Run plans twice in one process and once in a fresh one, and compare the runs
    #[command(
        after_help = "Exit codes: 0 the same each time, 4 some run differed.\n\n\
        Example:  fencepost determinism gc-pause --seeds 0..10 --protocol all",
        mut_arg("open", |arg| arg.hide(true)),
        mut_arg("out", |arg| arg.hide(true)),
        mut_arg("trace", |arg| arg.hide(true)),
        mut_arg("history", |arg| arg.hide(true))
    )]
    Determinism {
        /// Scenarios; all by default
        names: Vec<String>,
        /// Seeds A..B, B excluded
        #[arg(long, value_parser = parse::seeds, default_value = "0..5", value_name = "A..B")]
        seeds: Range<u64>,
        /// Protocols, separated by commas, or `all`
        #[arg(long, default_value = "all", value_name = "P,…")]
        protocol: String,
        #[command(flatten)]
        shared: SharedArgs,
    },
    /// Run many seeds on all cores, and hold each to its protocol's promises
    #[command(
        after_help = "A run counts as kept, broken, inconclusive (the situation under test never arose) or invalid (the \
        parameters make no plan). The exit code is the worst of: 70 the harness failed, 64 invalid or nothing to \
        run, 1 safety broken, 3 liveness broken, 6 a figure far outside its baseline, 2 inconclusive in more than a fifth of a cell's runs, 0 all kept. Ctrl-C finishes what is under way, reports \
        what was found so far, and ends with 130; a second Ctrl-C ends at once.\n\n\
        Examples:  fencepost sweep all --seeds 0..1000 --protocol all\n           fencepost sweep swarm --seeds 0..20000 --until-stable",
        mut_arg("nodes", |arg| arg.help("Numbers of candidates, such as 3,5,7; 3 and 5 by default, and drawn in a swarm")),
        mut_arg("open", |arg| arg.hide(true)),
        mut_arg("trace", |arg| arg.hide(true)),
        mut_arg("history", |arg| arg.hide(true))
    )]
    Sweep {
        /// Scenarios, or `all`; or `swarm`: plans drawn at random, faults included, one per seed
        names: Vec<String>,
        /// Seeds A..B, B excluded
        #[arg(long, value_parser = parse::seeds, value_name = "A..B")]
        seeds: Range<u64>,
        /// Protocols, separated by commas, or `all`
        #[arg(long, default_value = "all", value_name = "P,…")]
        protocol: String,
        /// Number of parallel runs; by default one per core
        #[arg(long, value_parser = parse::jobs, value_name = "N", allow_hyphen_values = true)]
        jobs: Option<u16>,
        /// Also run with 1, 2, 7 and 9 candidates, where the scenario works with that many
        #[arg(long, conflicts_with = "nodes")]
        long: bool,
        /// Run only this part, to divide a sweep among machines. `auto` takes it from the environment of Slurm, AWS
        /// Batch or GitLab, and `auto/N` from that of Kubernetes; the result is then in DIR/I-of-N
        #[arg(long, value_parser = share, value_name = "I/N|auto")]
        shard: Option<Share>,
        /// Write every cell's figures to this file, as a baseline for later sweeps with the same options; cells outside
        /// this sweep keep their entries. A FILE that ends in `.runs` gets digests of the runs of seeds 0 to 3 instead
        #[arg(long, value_name = "FILE", conflicts_with = "shard")]
        record_baseline: Option<PathBuf>,
        /// For `swarm`: stop once every coverage mark was reached and a thousand runs showed nothing new
        #[arg(long)]
        until_stable: bool,
        #[command(flatten)]
        shared: SharedArgs,
    },
    /// Run every scenario with every protocol, with and without fencing: what holds, and what makes it hold
    #[command(
        after_help = "Exit codes: 0 done, even if cells are broken: read the results in the table, or with --json; \
        130 interrupted.\n\n\
        Examples:  fencepost matrix\n           fencepost matrix gc-pause lost-lease --protocol etcd-election,redis-lease",
        mut_arg("fencing", |arg| arg.hide(true))
    )]
    Matrix(MatrixArgs),
    /// Find the smallest clock drift at which some seed violates safety
    #[command(
        after_help = "Exit codes: 0 done, whether or not something breaks: read the result in the output, or with --json.\n\n\
        Example:  fencepost bisect read-lease --protocol redis-fenced --seeds 0..50",
        mut_arg("clock_drift", |arg| arg.hide(true))
    )]
    Bisect(BisectArgs),
    /// Find where a scenario becomes unsafe along two parameters, and plot that boundary beside the predicted one
    #[command(after_help = super::search_args::AFTER_HELP)]
    Frontier(FrontierArgs),
    /// Run the findings' experiments from committed plan sets, and write numbers, plots and FINDINGS.md
    #[command(
        after_help = "Without options, every experiment runs in full, and reports/ is rewritten. With numbers or --reduced, nothing is written without --out. Exit codes: 0 everything is as expected, 1 a leader acted beside another, or with --check a number differs.\n\n\
        Examples:  fencepost experiments\n           fencepost experiments 4 5\n           fencepost experiments --reduced --check"
    )]
    Experiments(ExperimentsArgs),
    /// Hold a leader's pending jobs: bytes per job in memory and on disk, and the cost of a hand-over
    #[command(
        after_help = "The jobs are really held, written to a file, read again and done. Exit codes: 0 no job was left out, 1 one was.\n\n\
        Example:  cargo run --release -- work-set --jobs 100M"
    )]
    WorkSet(WorkSetArgs),
    /// Explain what breaks a protocol, why, and what to do about it
    #[command(
        after_help = "Runs nothing: prints the promises that sweeps hold the protocol to, scenario by scenario.\n\n\
        Example:  fencepost about pg-advisory"
    )]
    About(AboutArgs),
    /// Check whether a protocol with these timers is safe under a hazard: by what margin, what breaks first, what to
    /// change
    #[command(
        after_help = super::advice_args::AFTER_HELP,
        mut_arg("clock_drift", |arg| arg.visible_alias("drift")),
        mut_arg("bug", |arg| arg.hide(true)),
        mut_arg("copies", |arg| arg.hide(true)),
        mut_arg("groups", |arg| arg.hide(true)),
        mut_arg("placement", |arg| arg.hide(true)),
        mut_arg("duration", |arg| arg.hide(true)),
        mut_arg("works", |arg| arg.hide(true))
    )]
    Assess(AssessArgs),
    /// Recommend a protocol and lease for an availability target, from observed pauses and crashes
    #[command(
        after_help = "Advises the lease that meets the target with the fewest changes of leader; of several, the shortest. Then tries it in the simulated world, as well as the next shorter one and --now. Exit codes: 0 the trial confirms the advice, 2 no advice, or no pause struck in the trial.\n\n\
        Examples:  fencepost advise --slo 99.95% --pauses gc.log --crashes 3/30d\n           \
        fencepost advise --slo 99.9% --pause '40x 200ms' --pause '2x 4s' --over 7d --now k8s-lease@15s"
    )]
    Advise(AdviseArgs),
    /// Print a shell's completions of commands, options and names
    #[command(
        after_help = "Example:  fencepost completions bash > ~/.local/share/bash-completion/completions/fencepost"
    )]
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Build an index page from the results of a sweep, a matrix, the experiments or runs: tables, failures, links to
    /// timelines
    #[command(after_help = "Exit codes: 0 the page is written, whatever it shows; 64 the folder has no results.\n\n\
        Examples:  fencepost sweep all --seeds 0..5 && fencepost report --open\n           \
        fencepost report reports --out target/report --open")]
    Report(ReportArgs),
    /// Print the manual page, or write those of all commands
    #[command(
        after_help = "Examples:  fencepost man | man -l -\n           fencepost man --out ~/.local/share/man/man1"
    )]
    Man {
        /// Write the pages of all commands to this folder
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Draw the plots as SVG and PNG
    Plot {
        /// Which plot
        #[command(subcommand)]
        plot: Plot,
    },
}

/// The plots.
#[derive(Subcommand, Debug)]
pub enum Plot {
    /// Failover time and failovers caused by pauses, against the lease's time to live
    #[command(after_help = "Example:  fencepost plot ttl-sweep --seeds 0..200 --out target/plots")]
    TtlSweep {
        /// Times to live, separated by commas
        #[arg(long, default_value = "1s,3s,10s,30s", value_delimiter = ',', value_parser = parse::duration_ms)]
        ttl: Vec<u64>,
        /// Protocols, separated by commas, or `all`
        #[arg(long, default_value = "redis-lease,redis-fenced,etcd-election", value_name = "P,…")]
        protocol: String,
        /// Seeds A..B per point, B excluded
        #[arg(long, value_parser = parse::seeds, default_value = "0..200", value_name = "A..B")]
        seeds: Range<u64>,
        #[command(flatten)]
        shared: PlotArgs,
    },
    /// Election times: share of runs with a new leader, against the time since the leader was killed
    #[command(after_help = "Example:  fencepost plot election-cdf --protocol raft --nodes 5 \\\n            \
        --election-timeout 150..155ms --election-timeout 150..300ms")]
    ElectionCdf(ElectionCdfArgs),
    /// Messages of one election, by kind, against the number of candidates
    #[command(after_help = "Example:  fencepost plot message-counts --protocol raft --nodes 3,5,7,9")]
    MessageCounts(MessageCountsArgs),
}

/// Elections of several protocols, or with several election timeouts.
#[derive(ClapArgs, Debug)]
pub struct ElectionCdfArgs {
    /// Protocols, separated by commas, or `all`
    #[arg(long, default_value = "all", value_name = "P,…")]
    pub protocol: String,
    /// Runs per curve: seeds 0 to N - 1
    #[arg(long, default_value_t = 1_000, value_parser = parse::within::<u64>(1..=1_000_000), value_name = "N", allow_hyphen_values = true)]
    pub runs: u64,
    /// Number of candidates
    #[arg(long, value_parser = parse::candidates, default_value_t = 3, value_name = "N", allow_hyphen_values = true)]
    pub nodes: u16,
    #[command(flatten)]
    pub network: NetworkOptions,
    /// Range of election timeouts, such as 150..300ms; repeat for a curve each
    #[arg(long, value_parser = parse::duration_range_ms, value_name = "A..B", allow_hyphen_values = true)]
    pub election_timeout: Vec<(u64, u64)>,
    /// Time from one renewal or heartbeat to the next, for all curves; or one per --election-timeout
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true)]
    pub renew_interval: Vec<u64>,
    #[command(flatten)]
    pub own_values: SetOptions,
    /// Time to live of the lease; 3 s by default, or the shortest election timeout of a protocol that has one
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true)]
    pub lease_ttl: Option<u64>,
    #[command(flatten)]
    pub shared: PlotArgs,
}

/// Elections among several numbers of candidates.
#[derive(ClapArgs, Debug)]
pub struct MessageCountsArgs {
    /// Protocols whose candidates elect among themselves, separated by commas, or `all` of those
    #[arg(long, default_value = "all", value_name = "P,…")]
    pub protocol: String,
    /// Numbers of candidates, separated by commas
    #[arg(long, default_value = "3,4,5,6,7,8,9", value_delimiter = ',', value_parser = parse::candidates, value_name = "N,…")]
    pub nodes: Vec<u16>,
    /// Elections per bar that cannot be counted exactly: seeds 0 to N - 1
    #[arg(long, default_value_t = 50, value_parser = parse::within::<u64>(1..=1_000_000), value_name = "N", allow_hyphen_values = true)]
    pub runs: u64,
    #[command(flatten)]
    pub network: NetworkOptions,
    #[command(flatten)]
    pub shared: PlotArgs,
}

/// What `list` lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Listing {
    /// Scenarios that can be run
    Scenarios,
    /// Election protocols
    Protocols,
    /// Kinds of faults
    Faults,
    /// Rules that every run is checked against
    Invariants,
    /// Parameters of one protocol or work, for --set
    Parameters,
    /// Kinds of work that a leader can do
    Works,
    /// Network profiles
    Networks,
    /// Known bugs that can be switched on
    Bugs,
    /// All of these
    All,
}

/// One scenario, one protocol, one seed.
#[derive(ClapArgs, Debug)]
pub struct ScenarioArgs {
    /// The scenario (see `fencepost list scenarios`), or `swarm`: a plan drawn at random, faults included
    pub name: String,
    /// The election protocol; etcd-election by default, and drawn for `swarm`
    #[arg(long, value_parser = parse::protocol, value_name = "P")]
    pub protocol: Option<&'static Protocol>,
    /// Seed of everything that the options leave open; by default drawn at random, and printed
    #[arg(long, value_parser = parse::seed, value_name = "N", allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Run it again with these options changed, and show both on one time axis: `fencing=on`, `protocol=redis-fenced`,
    /// `seed=43`, or several as "protocol=raft nodes=5". The exit code is that of the original run
    #[arg(long, value_name = "OPTION=VALUE", allow_hyphen_values = true)]
    pub beside: Option<String>,
    #[command(flatten)]
    pub shared: SharedArgs,
}

/// What `scenario`, `plan`, `sweep` and `determinism` share.
#[derive(ClapArgs, Debug)]
pub struct SharedArgs {
    #[command(flatten)]
    pub plan: PlanOptions,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub(super) fn jobs_or_cores(jobs: Option<u16>) -> usize {
    jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, NonZero::get), usize::from)
}
