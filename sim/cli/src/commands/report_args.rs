//! The arguments of `report`.

use crate::terminal::options::ShowArgs;
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// What a folder has, as one page.
#[derive(ClapArgs, Debug)]
pub struct ReportArgs {
    /// A folder with results of a sweep, `matrix --out`, the experiments or single runs [default: target/fencepost]
    pub dir: Option<PathBuf>,
    /// Write index.html to this folder instead, with links relative to it
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long)]
    pub open: bool,
    #[command(flatten)]
    pub show: ShowArgs,
}
