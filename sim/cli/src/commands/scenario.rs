//! `scenario` and `plan`.

use super::{
    args::ScenarioArgs,
    beside,
    exit::Stop,
    one_run::{OneRun, default_out},
    output::{Show, print},
    parse,
};
use protocols::election;
use scenarios::{
    generate,
    plan::{Plan, SWARM},
    sense,
};
use sim::{registry::Registry, repro, swarm};
use std::ffi::OsString;

/// Compiles a scenario's plan, runs it, judges it.
pub fn run(registry: &Registry, args: &ScenarioArgs, words: &[OsString]) -> Result<u8, Stop> {
    let output = &args.shared.output;
    let show = Show::from(&output.show);
    let seed = args.seed.unwrap_or_else(draw_seed);
    let (plan, repro) = compile(registry, args, seed)?;
    if args.seed.is_none() {
        show.banner(&format!("seed {seed}"));
    }
    let one = OneRun {
        show,
        trace: output.trace.clone(),
        history: output.history.clone(),
        page: output.out.is_some() || output.open || args.beside.is_some(),
        aside: args.beside.is_some(),
        open: output.open,
        artifacts: Some(output.out.clone().unwrap_or_else(default_out)),
        repro,
        again: true,
    };
    let Some(beside) = &args.beside else { return Ok(one.run(&plan, registry)?.judgement.verdict.exit_code()) };
    let (other, _) = compile(registry, &beside::arguments(words, beside, seed)?, seed)?;
    if other == plan {
        return Err(Stop::usage("--beside changes nothing: both runs would be the same"));
    }
    beside::run(&one, &plan, &other, registry)
}

/// Prints the plan and runs nothing.
pub fn print_plan(registry: &Registry, args: &ScenarioArgs) -> Result<u8, Stop> {
    let output = &args.shared.output;
    if output.trace.is_some() || output.history.is_some() || output.open || args.beside.is_some() {
        return Err(Stop::usage("--trace, --history, --open and --beside are of a run, and `plan` runs nothing"));
    }
    let seed = args.seed.unwrap_or_else(draw_seed);
    print(&compile(registry, args, seed)?.0.to_json_pretty());
    Ok(0)
}

/// The plan, and the command that runs it again.
fn compile(registry: &Registry, args: &ScenarioArgs, seed: u64) -> Result<(Plan, String), Stop> {
    if args.name == SWARM {
        let protocols = args.protocol.map_or_else(|| registry.plans.protocols.clone(), |protocol| vec![protocol]);
        let choice = args.shared.plan.choice(protocols).map_err(Stop::usage)?;
        let plan = generate::swarm(seed, &choice);
        registry.plans.validate(&plan).map_err(Stop::usage)?;
        let repro = repro::command(&swarm::arguments(&plan, &choice));
        return Ok((plan, repro));
    }
    let scenario = parse::scenario(&args.name).map_err(Stop::usage)?;
    let protocol = args.protocol.unwrap_or(&election::etcd::PROTOCOL);
    let params = args.shared.plan.params().map_err(Stop::usage)?;
    sense::timers(&params, protocol).map_err(Stop::usage)?;
    let plan = registry.plans.compile(scenario, &params, protocol, seed).map_err(Stop::usage)?;
    sense::meant(&params, &[(scenario, protocol)], seed).map_err(Stop::usage)?;
    let repro = repro::of_run(&plan.scenario, &plan.protocol, &params, seed);
    Ok((plan, repro))
}

/// A seed that nobody chose. Small, so that it can be read aloud.
fn draw_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) ^ (u64::from(std::process::id()) << 8) & 0xffff_ffff
}
