//! `scenario` and `plan`: run a scenario, or only print its plan.

use super::{
    args::ScenarioArgs,
    beside, ends,
    exit::Stop,
    one_run::{Instead, OneRun, default_out, exit_code},
    output::{Show, print},
    parse,
};
use protocols::election;
use reports::Verdict;
use scenarios::{
    Params, generate,
    plan::{Plan, SWARM, Tenure},
    scenario::{fewest, gc_pause},
    sense,
    units::duration_text,
};
use sim::{registry::Registry, repro, swarm};
use std::ffi::OsString;

/// Compiles a scenario's plan, runs it, judges it.
pub fn run(registry: &Registry, args: &ScenarioArgs, words: &[OsString]) -> Result<u8, Stop> {
    let output = &args.shared.output;
    let show = Show::from(&output.show);
    let seed = args.seed.unwrap_or_else(draw_seed);
    let (plan, repro) = compile(registry, args, seed)?;
    ends::listen()?;
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
        repro: match &args.beside {
            Some(beside) => repro::with(&repro, &["--beside", beside]),
            None => repro,
        },
        again: true,
        instead: instead(args, &plan),
    };
    let Some(beside) = &args.beside else { return Ok(exit_code(&one.run(&plan, registry)?)) };
    let others = beside::arguments(words, beside, seed)?;
    let (other, _) = compile(registry, &others, others.seed.unwrap_or(seed))?;
    if other == plan {
        return Err(Stop::usage("--beside changes nothing: both runs would be the same"));
    }
    beside::run(&one, &plan, &other, registry)
}

/// Prints the plan without running it.
pub fn print_plan(registry: &Registry, args: &ScenarioArgs) -> Result<u8, Stop> {
    let output = &args.shared.output;
    let of_a_run = [
        ("--out", output.out.is_some()),
        ("--trace", output.trace.is_some()),
        ("--history", output.history.is_some()),
        ("--open", output.open),
        ("--beside", args.beside.is_some()),
    ];
    if let Some((option, _)) = of_a_run.iter().find(|(_, given)| *given) {
        return Err(Stop::usage(format!("{option} needs a run; `plan` only prints the plan")));
    }
    let seed = args.seed.unwrap_or_else(draw_seed);
    print(&compile(registry, args, seed)?.0.to_json_pretty());
    Ok(0)
}

/// The plan, and the command that reruns it.
fn compile(registry: &Registry, args: &ScenarioArgs, seed: u64) -> Result<(Plan, String), Stop> {
    if args.name == SWARM {
        let protocols = args.protocol.map_or_else(|| registry.plans.protocols.clone(), |protocol| vec![protocol]);
        let choice = args.shared.plan.choice(protocols)?;
        let plan = generate::swarm(seed, &choice);
        registry.plans.validate(&plan)?;
        let repro = repro::command(&swarm::arguments(&plan, &choice));
        return Ok((plan, repro));
    }
    let scenario = parse::scenario(&args.name)?;
    let protocol = args.protocol.unwrap_or(&election::etcd::PROTOCOL);
    let params = args.shared.plan.params()?;
    sense::timers(&params, protocol)?;
    let plan = registry.plans.compile(scenario, &params, protocol, seed)?;
    sense::meant(&params, &[(scenario, protocol)], seed)?;
    let repro = repro::of_run(&plan.scenario, &plan.protocol, &params, seed);
    Ok((plan, repro))
}

/// What to run instead if the options keep the scenario's situation from arising.
fn instead(args: &ScenarioArgs, plan: &Plan) -> Vec<Instead> {
    let (Ok(scenario), Ok(params)) = (parse::scenario(&args.name), args.shared.plan.params()) else {
        return Vec::new();
    };
    let protocol = args.protocol.unwrap_or(&election::etcd::PROTOCOL);
    let run = |params: &Params| repro::of_run(scenario.name, protocol.name, params, plan.seed);
    let fewest = fewest(scenario, protocol);
    let too_few = (params.nodes < fewest).then(|| Instead {
        of: Verdict::Vacuous,
        if_unstruck: false,
        why: format!("{} needs {fewest} nodes: give --nodes {fewest} or more", scenario.name),
        command: run(&Params { nodes: fewest, ..params.clone() }),
    });
    let too_short = params.duration_ms.map(|ms| Instead {
        of: Verdict::Vacuous,
        if_unstruck: true,
        why: format!("no fault struck before the run ended at {}: leave --duration out", duration_text(ms)),
        command: run(&Params { duration_ms: None, ..params.clone() }),
    });
    let lease_ms = params.granted_ttl_ms(protocol);
    // A candidate that waits for a lease waits that long, whatever the leader does.
    let waits = (protocol.read_lease.is_some() || protocol.service.elects) && !protocol.service.outlasts_pauses;
    let leased = scenario.name == gc_pause::SCENARIO.name && waits;
    let enough_ms = gc_pause::default_pause_ms(&params, protocol).next_multiple_of(500);
    let too_soon = params.pause_ms.filter(|pause_ms| leased && *pause_ms < enough_ms).map(|pause_ms| Instead {
        of: Verdict::Vacuous,
        if_unstruck: false,
        why: {
            let [pause, lease, enough] = [pause_ms, lease_ms, enough_ms].map(duration_text);
            let missed = match pause_ms < lease_ms {
                true => format!("nobody takes over within the pause ({pause}), since the lease ({lease}) outlasts it"),
                false => format!(
                    "a takeover can come only after the pause ({pause}), since the lease ({lease}) runs out first"
                ),
            };
            format!("{missed}: give --pause {enough} or longer")
        },
        command: run(&Params { pause_ms: None, ..params.clone() }),
    });
    // A leader dismissed before it serves costs a change of leadership and a warm-up for nothing.
    let Tenure { warm_up_ms, hold_down_ms, check_errors_ppm, .. } = params.tenure;
    let dismissed = (check_errors_ppm > 0 && warm_up_ms > 0 && hold_down_ms <= warm_up_ms).then(|| Instead {
        of: Verdict::Liveness,
        if_unstruck: false,
        why: format!("a hold-down that outlasts the warm-up ({})", duration_text(warm_up_ms)),
        command: run(&Params { tenure: Tenure { hold_down_ms: 2 * warm_up_ms, ..params.tenure }, ..params.clone() }),
    });
    too_few.into_iter().chain(too_short).chain(too_soon).chain(dismissed).collect()
}

/// A random seed, small enough to be read aloud.
fn draw_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) ^ (u64::from(std::process::id()) << 8) & 0xffff_ffff
}
