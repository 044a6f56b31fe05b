//! The arguments of `cargo real drill`.

use crate::terminal::{options::ShowArgs, parse};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// The text below the options.
pub const HELP: &str = "FILE says how your fleet is started, what it elects by, what its leader writes to, and what it logs when it leads; see \
    docs/drill.md.\n\nExit codes: 0 every invariant held, 1 safety violated, 2 inconclusive, 3 nobody led in time, 64 wrong arguments or \
    file,\nor a server is not installed, 70 something failed; of several runs, the worst\n\n\
    Example:  cargo real drill sim/examples/drills/advisory-lock/drill.toml\n          \
    cargo real drill sim/examples/drills/advisory-lock/drill.toml gc-pause --seed 7";

/// A fleet of somebody else's processes, and what is done to it.
#[derive(ClapArgs, Debug)]
pub struct DrillArgs {
    /// The fleet, as TOML
    #[arg(required_unless_present = "list")]
    pub file: Option<PathBuf>,
    /// What is done to it: scenarios, separated by commas; by default all that can be played on it
    #[arg(value_delimiter = ',')]
    pub scenarios: Vec<String>,
    /// Seed of when the leader is struck, and at which of its writes; a run on real processes is not repeated bit for bit
    #[arg(long, value_parser = parse::seed, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// How often each scenario is played, with this seed and the next ones
    #[arg(long, value_parser = parse::within::<u64>(1..=1_000), default_value_t = 1, value_name = "N")]
    pub times: u64,
    /// Folder for histories, logs and pages [default: target/fencepost/drill/NAME]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// List the scenarios
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub show: ShowArgs,
}
