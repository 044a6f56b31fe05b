//! The arguments of `about`.

use crate::terminal::{options::ShowArgs, parse};
use clap::Args as ClapArgs;
use protocols::election::Protocol;

/// One protocol.
#[derive(ClapArgs, Debug)]
pub struct AboutArgs {
    /// The protocol; see `fencepost list protocols`
    #[arg(value_parser = parse::protocol, value_name = "PROTOCOL")]
    pub name: &'static Protocol,
    #[command(flatten)]
    pub show: ShowArgs,
}
