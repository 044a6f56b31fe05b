//! `scenario` and `plan`.

use super::{
    args::ScenarioArgs,
    exit::Stop,
    one_run::{OneRun, default_out},
    output::{Show, print},
    parse,
};
use protocols::election;
use scenarios::{
    generate,
    plan::{Plan, SWARM},
};

/// Compiles a scenario's plan, runs it, judges it.
pub fn run(args: &ScenarioArgs) -> Result<u8, Stop> {
    let show = Show::from(&args.shared.output.show);
    let seed = args.seed.unwrap_or_else(draw_seed);
    let plan = compile(args, seed)?;
    if args.seed.is_none() {
        show.banner(&format!("seed {seed}"));
    }
    let one = OneRun {
        show,
        trace: args.shared.output.trace.clone(),
        artifacts: Some(args.shared.output.out.clone().unwrap_or_else(default_out)),
        repro: repro(args, seed),
    };
    Ok(one.run(&plan)?.judgement.verdict.exit_code())
}

/// Prints the plan and runs nothing.
pub fn print_plan(args: &ScenarioArgs) -> Result<u8, Stop> {
    let seed = args.seed.unwrap_or_else(draw_seed);
    let plan = compile(args, seed)?;
    print(&plan.to_json_pretty());
    Ok(0)
}

fn compile(args: &ScenarioArgs, seed: u64) -> Result<Plan, Stop> {
    if args.name == SWARM {
        let protocols = args.protocol.map_or_else(|| election::ALL.to_vec(), |protocol| vec![protocol]);
        let choice = args.shared.plan.choice(protocols).map_err(Stop::usage)?;
        return Ok(generate::swarm(seed, &choice));
    }
    let scenario = parse::scenario(&args.name).map_err(Stop::usage)?;
    let params = args.shared.plan.params().map_err(Stop::usage)?;
    let protocol = args.protocol.unwrap_or(&election::etcd::PROTOCOL);
    scenario.compile(&params, protocol, seed).map_err(Stop::usage)
}

/// The command that repeats this run: what was typed, with the seed.
fn repro(args: &ScenarioArgs, seed: u64) -> String {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if args.seed.is_none() {
        words.push(format!("--seed {seed}"));
    }
    format!("cargo run -- {}", words.join(" "))
}

/// A seed that nobody chose. Small, so that it can be read aloud.
fn draw_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) ^ (u64::from(std::process::id()) << 8) & 0xffff_ffff
}
