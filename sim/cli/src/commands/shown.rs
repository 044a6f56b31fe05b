//! The bugs that a sweep is there to show: how many of its runs do, whatever was promised of them.

use super::args::{Cli, Command};
use clap::Parser;
use protocols::{
    bug::{Bug, Shown},
    by_design,
};
use scenarios::{Params, plan::Invalid};
use sim::{repro, shown::Shown as Seen, sweep::Sweep};

/// Those that are switched on; and what is wrong by design, where this is the sweep that shows it, or the one that does not.
pub fn watched(sweep: &Sweep) -> Vec<&'static Bug> {
    let designs =
        by_design::ALL.iter().filter(|design| is_it(&design.bug.shown, sweep) || is_it(&design.mended, sweep));
    sweep.params.bugs.iter().copied().chain(designs.map(|design| &design.bug)).collect()
}

/// Is the sweep of the same runs as this command, perhaps over other seeds?
fn is_it(shown: &Shown, sweep: &Sweep) -> bool {
    let scenarios = sweep.scenarios.iter().map(|scenario| scenario.name);
    scenarios.eq([shown.scenario])
        && sweep.protocols.iter().map(|protocol| protocol.name).eq([shown.protocol])
        && params(shown, None).is_ok_and(|params| params == Params { nodes: params.nodes, ..sweep.params.clone() })
}

/// What the words of a command that shows a bug mean, with a bug switched on or with none.
///
/// # Errors
/// They mean nothing: one sentence.
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

/// A line for each, and the command of the first run that shows it.
pub fn lines(bugs: &[Seen]) -> String {
    let line = |seen: &Seen| {
        let see = seen.command.as_ref().map(|command| format!("  see it: {}\n", repro::with(command, &["--open"])));
        let (bug, what) = (seen.bug, seen.what());
        format!("bug {bug} shows in {} of {} runs: {what}\n{}", seen.shown, seen.runs, see.unwrap_or_default())
    };
    bugs.iter().map(line).collect()
}
