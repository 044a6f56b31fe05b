//! `cargo real …`: nodes, stores and clusters of real processes.

mod args;
mod ask;
mod chaos;
mod cluster;
mod drill;
mod measure;
mod node;
mod process;
mod raise;
mod store;
mod table;
mod traces;
mod watch;
mod words;

use crate::terminal::{self, check, exit::Stop};
use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use sim_real::leash;
use std::ffi::OsString;

/// Whether the first word is `real`, which a program that has the simulation's commands, too, needs before these.
pub fn is_named(said: &[OsString]) -> bool {
    said.get(1).is_some_and(|word| word == leash::REAL)
}

/// Runs the command line, with that word or without; the exit code is a contract.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    crate::built::say();
    let mut said: Vec<OsString> = arguments.into_iter().collect();
    if is_named(&said) {
        said.remove(1);
    }
    match Cli::try_parse_from(&said) {
        Ok(cli) => terminal::exit_code(dispatch(cli.command)),
        Err(error) => terminal::refuse(&error, &Cli::command(), &said),
    }
}

fn dispatch(command: Command) -> Result<u8, Stop> {
    match command {
        Command::Node(args) => node::run(&args),
        Command::Store(args) => store::run(&args),
        Command::Audit(keep) => store::audit(&keep),
        Command::RaiseToken(args) => raise::run(&args),
        Command::Check { history, log, page, show } => {
            check::run(&history, &log, &page, &reports::invariant::ALL, (&show).into())
        }
        Command::Cluster(args) => cluster::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Chaos(chaos) => chaos::run(chaos),
        Command::Drill(args) => drill::run(&args),
        Command::Measure(what) => measure::run(&what),
        Command::Kept { container, program } => Ok(leash::keep(&program, container.as_deref())?),
        Command::Leashed { program } => match leash::become_program(&program)? {},
    }
}
