//! The arguments of `export`.

use crate::terminal::export::Format;
use clap::Args as ClapArgs;
use logs::Options;
use std::path::PathBuf;

/// A history and its target format.
#[derive(ClapArgs, Debug)]
pub struct ExportArgs {
    /// JSON lines or CSV, as `check` takes them; `-` reads standard input
    #[arg(required = true)]
    pub history: Vec<PathBuf>,
    /// What to write
    #[arg(long)]
    pub to: Format,
    /// The file to write; standard output without it
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub log: Options,
}
