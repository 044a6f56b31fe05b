//! The arguments of `about`.

#![allow(missing_docs, reason = "a doc comment is help text here, and a flattened group has none of its own")]

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
