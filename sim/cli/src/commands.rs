//! The `fencepost` command: one file per command that does more than call another crate.

mod about;
mod advice_args;
mod advise;
pub mod args;
mod assess;
mod beside;
mod bisect;
mod clean;
mod determinism;
mod ends;
mod exhaust;
mod experiments;
mod explain;
mod findings;
mod findings_args;
mod frontier;
mod junit;
mod list;
mod matrix;
mod measure_args;
mod merge;
mod mutants;
mod nightly;
mod notices;
mod one_run;
mod output_args;
mod plan_file;
mod plot;
mod progress;
mod replay;
mod report;
mod scenario;
mod search_args;
pub mod shard;
pub mod shown;
mod shrink;
mod swarm;
mod sweep;
mod work_set;

use crate::terminal::{
    self, check, exit, export, names, output, parse,
    shell::{self, Words},
};
use args::{Cli, Command, Plot, jobs_or_cores};
use clap::{CommandFactory, Parser};
use exit::Stop;
use output::{Show, print};
use output_args::for_one_run;
use scenarios::{params::PROFILES, plan::SWARM};
use shard::Place;
use sim::{registry::Registry, sweep::Sizes};
use std::ffi::OsString;

/// Runs the command line; the exit code is a contract.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    main_with(&Registry::default(), arguments)
}

/// Runs the command line with the entries of `registry`; the exit code is a contract.
pub fn main_with(registry: &Registry, arguments: impl IntoIterator<Item = OsString>) -> u8 {
    crate::built::say();
    names::are_of(&registry.plans);
    let said: Vec<OsString> = arguments.into_iter().collect();
    match Cli::try_parse_from(&said) {
        Ok(cli) => terminal::exit_code(dispatch(registry, cli.command, &said)),
        Err(error) => terminal::refuse(&error, &Cli::command(), &said),
    }
}

fn dispatch(registry: &Registry, command: Command, said: &[OsString]) -> Result<u8, Stop> {
    match command {
        Command::Scenario(args) => scenario::run(registry, &args, said),
        Command::Plan(args) => scenario::print_plan(registry, &args),
        Command::List { what, json } => {
            list::run(registry, what, json);
            Ok(0)
        }
        Command::Replay { file, strict, no_artifacts, output } => {
            replay::run(registry, &file, strict, no_artifacts, &output)
        }
        Command::Check { history, log, page, show } => {
            check::run(&history, &log, &page, &registry.invariants, (&show).into())
        }
        Command::Export(args) => export::run(&args.history, &args.log, args.to, args.out.as_deref()),
        Command::Determinism { names, seeds, protocol, shared } => {
            determinism::run(registry, &names, seeds, &protocol, &shared)
        }
        Command::Sweep { names, seeds, protocol, jobs, long, shard, record_baseline, until_stable, shared } => {
            let show = Show::from(&shared.output.show);
            for_one_run(&shared.output)?;
            let place = Place::of(shard, shared.output.out.clone())?;
            can_be_swept(&names, long, until_stable).map_err(Stop::usage)?;
            if names.iter().any(|name| name == SWARM) {
                let choice = shared.plan.choice(parse::protocols(&protocol)?)?;
                let (shard, jobs) = (place.part, jobs_or_cores(jobs));
                let work = sim::swarm::Swarm { registry: registry.clone(), choice, seeds, shard, jobs, until_stable };
                return swarm::run(&work, show, &place, record_baseline.as_deref());
            }
            let params = shared.plan.sweep_params()?;
            let work = sim::sweep::Sweep {
                registry,
                scenarios: parse::scenarios(&names)?,
                protocols: parse::protocols(&protocol)?,
                sizes: sizes(shared.plan.nodes(), long),
                seeds,
                params: &params,
                shard: place.part,
                jobs: jobs_or_cores(jobs),
            };
            sweep::run(&work, show, &place, record_baseline.as_deref())
        }
        Command::Clean { dir, dry_run } => clean::run(dir.as_deref(), dry_run),
        Command::Findings(command) => findings::run(registry, &command),
        Command::Report(args) => report::run(&args),
        Command::Matrix(args) => matrix::run(registry, &args),
        Command::Bisect(args) => bisect::run(registry, &args),
        Command::Completions { shell } => {
            print(&shell::completions(Cli::command(), shell, &words(registry)));
            Ok(0)
        }
        Command::Man { out } => shell::manual(Cli::command(), out.as_deref()).map(|()| 0),
        Command::WorkSet(args) => work_set::run(&args),
        Command::Frontier(args) => frontier::run(registry, &args),
        Command::About(args) => about::run(registry, &args),
        Command::Assess(args) => assess::run(registry, &args),
        Command::Advise(args) => advise::run(registry, &args),
        Command::Experiments(args) => experiments::run(registry, &args),
        Command::Plot { plot: Plot::TtlSweep { ttl, protocol, seeds, shared } } => {
            plot::ttl_sweep(registry, &ttl, &protocol, seeds, &shared)
        }
        Command::Plot { plot: Plot::ElectionCdf(args) } => plot::election_cdf(registry, &args),
        Command::Plot { plot: Plot::MessageCounts(args) } => plot::message_counts(registry, &args),
    }
}

/// Rejects names and options of a sweep that do not go together.
fn can_be_swept(names: &[String], long: bool, until_stable: bool) -> Result<(), &'static str> {
    let swarm = names.iter().any(|name| name == SWARM);
    match names.len() {
        0 => Err("name what to sweep: `sweep all` runs every scenario, `sweep gc-pause partition` those two"),
        2.. if swarm => Err("`swarm` is swept alone; leave the other names out"),
        _ if swarm && long => Err("--long is for scenarios: a swarm draws its sizes"),
        _ if until_stable && !swarm => Err("--until-stable is for `sweep swarm`"),
        _ => Ok(()),
    }
}

/// The completions of arguments.
fn words(registry: &Registry) -> Vec<Words> {
    let plans = &registry.plans;
    let scenarios: Vec<_> = plans.scenarios.iter().map(|scenario| scenario.name).collect();
    let several = ["all", SWARM].into_iter().chain(scenarios.iter().copied()).collect();
    vec![
        Words { argument: "name", words: scenarios },
        Words { argument: "names", words: several },
        Words { argument: "protocol", words: plans.named().map(|protocol| protocol.name).collect() },
        Words { argument: "ids", words: plans.bugs.iter().map(|bug| bug.id).collect() },
        Words { argument: "bug", words: plans.bugs.iter().map(|bug| bug.id).collect() },
        Words { argument: "works", words: plans.works.iter().map(|work| work.name).collect() },
        Words { argument: "net", words: PROFILES.iter().map(|profile| profile.name).collect() },
    ]
}

/// The numbers of candidates in a sweep: those given, or the usual ones, with more in the long form.
fn sizes(asked: Vec<u16>, long: bool) -> Sizes {
    match (asked.is_empty(), long) {
        (true, false) => Sizes::Usual,
        (true, true) => Sizes::Long,
        (false, _) => Sizes::Of(asked),
    }
}
