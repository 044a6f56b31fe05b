//! The commands of `list bugs`, as parameters.

use super::args::{Cli, Command};
use clap::Parser;
use protocols::bug::{Bug, Shown};
use scenarios::Params;

/// What the words of a command that shows a bug mean, with a bug switched on or with none.
///
/// # Errors
/// They mean nothing: one sentence.
pub fn params(shown: &Shown, bug: Option<&Bug>) -> Result<Params, String> {
    let command = shown.command();
    let switch = bug.map_or(Vec::new(), |bug| vec!["--bug", bug.id]);
    let words = ["fencepost"].into_iter().chain(command.split(' ')).chain(switch);
    let cli = Cli::try_parse_from(words).map_err(|e| format!("{command}: {e}"))?;
    match cli.command {
        Command::Sweep { shared, .. } => shared.plan.sweep_params().map_err(|e| format!("{command}: {e}")),
        _ => Err(format!("{command} is no sweep")),
    }
}
