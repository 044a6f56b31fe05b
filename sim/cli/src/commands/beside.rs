//! `scenario --beside`: a run and the same run with some options changed, on one time axis.

use super::{
    args::{Cli, Command, ScenarioArgs},
    exit::Stop,
    one_run::{OneRun, exit_code},
};
use crate::terminal::{self, output, side};
use clap::{CommandFactory, FromArgMatches};
use reports::json::Report;
use scenarios::plan::Plan;
use sim::{
    artifacts,
    registry::Registry,
    run::{self, Options, Run},
};
use std::ffi::OsString;

/// The arguments of the other run: the given ones, overridden by `beside`, at this seed unless `beside` sets another.
///
/// # Errors
/// One sentence that names the option.
pub fn arguments(words: &[OsString], beside: &str, seed: u64) -> Result<ScenarioArgs, Stop> {
    let first = beside.split_whitespace().next().unwrap_or_default();
    if !first.starts_with('-') && !first.contains('=') {
        return Err(Stop::usage(format!(
            "--beside: `{first}` is not a change; write OPTION=VALUE, such as fencing=on"
        )));
    }
    let changes = beside.split_whitespace().map(|word| match word.starts_with('-') || !word.contains('=') {
        true => word.to_owned(),
        false => format!("--{word}"),
    });
    let seed = ["--seed".to_owned(), seed.to_string()];
    let said = without(words).into_iter().chain(seed.into_iter().chain(changes).map(OsString::from));
    let wrong = |error: clap::Error| Stop::usage(format!("--beside: {}", terminal::one_sentence(&error)));
    // The last occurrence of an option wins.
    let matches = Cli::command().args_override_self(true).try_get_matches_from(said).map_err(wrong)?;
    match Cli::from_arg_matches(&matches).map_err(wrong)?.command {
        Command::Scenario(args) => Ok(args),
        _ => Err(Stop::usage("--beside takes options of `scenario`")),
    }
}

/// The words without `--beside` and its value.
fn without(words: &[OsString]) -> Vec<OsString> {
    let mut left = Vec::with_capacity(words.len());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--beside") => drop(words.next()),
            Some(word) if word.starts_with("--beside=") => {}
            _ => left.push(word.clone()),
        }
    }
    left
}

/// Runs both plans and reports them; the exit code is that of the first.
///
/// # Errors
/// A run could not be finished, or a file could not be written.
pub fn run(one: &OneRun, plan: &Plan, other: &Plan, registry: &Registry) -> Result<u8, Stop> {
    let options = Options { registry: registry.clone(), timeline: true, page: true, ..Options::default() };
    let second = run::run(other, options)?;
    let first = match one.show.json {
        // With --json, one object and nothing else.
        true => one.only_run(plan, registry)?,
        false => one.run(plan, registry)?,
    };
    if first.cut_short {
        return Ok(exit_code(&first));
    }
    let sides = [side(&first)?, side(&second)?];
    side::report(&sides, one.show, [&first, &second].map(report));
    if let Some(out) = &one.artifacts {
        let page = sides[0].sheet.beside(sides[1].sheet);
        let file = artifacts::write_beside(out, plan, &page)?;
        one.show.banner(&format!("both: {}", file.display()));
        if one.open {
            output::open(&file, one.show);
        }
    }
    Ok(first.judgement.verdict.exit_code())
}

/// The JSON report of a run.
fn report(run: &Run) -> Report<'_> {
    let report = Report::new(Some(&run.header), &run.facts, &run.judgement);
    match &run.highlights {
        Some(story) => report.with_cause(&story.cause),
        None => report,
    }
}

fn side(run: &Run) -> Result<side::Side<'_>, Stop> {
    let (Some(story), Some(sheet)) = (&run.highlights, &run.page) else {
        return Err(Stop::harness("nobody listened to the run"));
    };
    Ok(side::Side { header: Some(&run.header), judgement: &run.judgement, cause: &story.cause, sheet })
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::fence::checks::Fencing;

    fn parsed(words: &str, beside: &str) -> Result<ScenarioArgs, Stop> {
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        arguments(&words, beside, 42)
    }

    #[test]
    fn what_is_said_beside_holds_and_all_else_stays() {
        let said = "fencepost scenario gc-pause --fencing off --rate 50 --beside fencing=on --quiet";
        let args = parsed(said, "fencing=on").expect("options of scenario");
        let params = args.shared.plan.params().expect("parameters");
        assert_eq!((args.seed, params.fencing, params.rate, args.beside), (Some(42), Fencing::On, 50, None));
        assert!(args.shared.output.show.quiet);
        let args =
            parsed("fencepost scenario gc-pause --seed 7 --beside=x", "--seed 43 protocol=raft").expect("options");
        assert_eq!((args.seed, args.protocol.map(|p| p.name)), (Some(43), Some("raft")));
    }

    #[test]
    fn what_means_nothing_is_refused_by_name() {
        let wrong = |beside| parsed("fencepost scenario gc-pause", beside).err().map(|stop| (stop.code, stop.why));
        let (code, why) = wrong("fenzing=on").expect("no such option");
        assert!(code == 64 && why.starts_with("--beside: ") && why.contains("--fencing"), "{why}");
        assert!(wrong("fencing=maybe").is_some_and(|(_, why)| why.contains("there are on, off")));
    }
}
