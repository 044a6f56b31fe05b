//! In how many of a sweep's runs a bug shows, whatever its promises.

use super::args::{Cli, Command};
use clap::Parser;
use protocols::{
    bug::{Bug, Shown},
    by_design,
};
use scenarios::{Params, plan::Invalid};
use sim::{repro, shown::Shown as Seen, sweep::Sweep};

/// The bugs that are switched on, and flaws by design if this is the sweep that shows them, or the one that does not.
pub fn watched(sweep: &Sweep) -> Vec<&'static Bug> {
    let designs =
        by_design::ALL.iter().filter(|design| is_it(&design.bug.shown, sweep) || is_it(&design.mended, sweep));
    sweep.params.bugs.iter().copied().chain(designs.map(|design| &design.bug)).collect()
}

/// True if the sweep has the same runs as this command, perhaps with other seeds.
fn is_it(shown: &Shown, sweep: &Sweep) -> bool {
    let scenarios = sweep.scenarios.iter().map(|scenario| scenario.name);
    scenarios.eq([shown.scenario])
        && sweep.protocols.iter().map(|protocol| protocol.name).eq([shown.protocol])
        && params(shown, None).is_ok_and(|params| params == Params { nodes: params.nodes, ..sweep.params.clone() })
}

/// The parameters of a command that shows a bug, with a bug switched on or none.
///
/// # Errors
/// The command is invalid: one sentence.
pub fn params(shown: &Shown, bug: Option<&Bug>) -> Result<Params, Invalid> {
    let command = shown.command();
    let switch = bug.map_or(Vec::new(), |bug| vec!["--bug", bug.id]);
    let words = ["fencepost"].into_iter().chain(command.split(' ')).chain(switch);
    let cli = Cli::try_parse_from(words).map_err(|e| Invalid(format!("{command}: {e}")))?;
    match cli.command {
        Command::Sweep { shared, .. } => shared.plan.sweep_params().map_err(|e| Invalid(format!("{command}: {e}"))),
        _ => Err(Invalid(format!("{command} is no sweep"))),
    }
}

/// A line per bug, and the command of the first run that shows it.
pub fn lines(bugs: &[Seen]) -> String {
    let line = |seen: &Seen| {
        let see = seen.command.as_ref().map(|command| format!("  see it: {}\n", repro::with(command, &["--open"])));
        let (bug, what) = (seen.bug, seen.what());
        format!("bug {bug} shows in {} of {} runs: {what}\n{}", seen.shown, seen.runs, see.unwrap_or_default())
    };
    bugs.iter().map(line).collect()
}
