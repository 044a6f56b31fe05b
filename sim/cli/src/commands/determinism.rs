//! `determinism`: checks that the same plan gives the same bytes.

use super::{
    args::SharedArgs,
    ends::{self, INTERRUPTED},
    exit::{NOT_DETERMINISTIC, Stop},
    output::{Show, print},
    output_args::for_one_run,
    parse,
};
use protocols::election::Protocol;
use reports::statistics::count;
use scenarios::{Params, Plan, Scenario, scenario as stories, sense};
use sim::{interrupt::asked as is_asked_to_end, registry::Registry, repro};
use std::ops::Range;

/// Runs each plan three times and compares, until all are done or the program is asked to end.
///
/// # Errors
/// The arguments make no sense, or a run could not be finished.
pub fn run(
    registry: &Registry,
    names: &[String],
    seeds: Range<u64>,
    protocol: &str,
    shared: &SharedArgs,
) -> Result<u8, Stop> {
    let scenarios: Vec<&Scenario> = parse::scenarios(names)?;
    let protocols: Vec<&Protocol> = parse::protocols(protocol)?;
    let program = std::env::current_exe().map_err(|e| Stop::harness(format!("cannot find this executable: {e}")))?;
    let (params, show) = (shared.plan.params()?, Show::from(&shared.output.show));
    for_one_run(&shared.output)?;
    let mut plans = Vec::new();
    let pairs = stories::pairs(&scenarios, &protocols, &params);
    if let ([], Some(scenario), Some(protocol)) = (&*pairs, scenarios.first(), protocols.first()) {
        // Reports why there is nothing to compare.
        registry.plans.compile(scenario, &params, protocol, seeds.start)?;
    }
    for (_, protocol) in &pairs {
        sense::timers(&params, protocol)?;
    }
    sense::meant(&params, &pairs, seeds.start)?;
    for (scenario, protocol) in pairs {
        for seed in seeds.clone() {
            plans.push(scenario.compile(&params, protocol, seed)?);
        }
    }
    ends::listen()?;
    let (total, mut done, mut differing) = (plans.len(), 0, Vec::new());
    for plan in plans {
        if is_asked_to_end() {
            break;
        }
        let name = format!("{} {} seed {}", plan.scenario, plan.protocol, plan.seed);
        let checked = match sim::determinism::check(&plan, registry, &program) {
            // The check's fresh process was asked to end as well.
            Err(_) if is_asked_to_end() => break,
            checked => checked.map_err(|e| Stop::harness(format!("{name}: {e}")))?,
        };
        done += 1;
        match checked {
            sim::determinism::Check::Same { trace_hash } => show.banner(&format!("{name}: {trace_hash}")),
            sim::determinism::Check::Differs { what, where_ } => {
                if !show.json {
                    print(&format!("{name}: {what}\n{where_}  {}", again(&plan, &params)));
                }
                differing.push(name);
            }
        }
    }
    if show.json {
        let report = serde_json::json!({ "schema": 1, "plans": done, "differing": differing });
        print(&serde_json::to_string_pretty(&report).unwrap_or_default());
    } else {
        let plans = match done < total {
            true => format!("INTERRUPTED after {done} of {}", count(total as u64, "plan")),
            false => count(total as u64, "plan"),
        };
        print(&format!("{plans}, three runs each: {} gave different traces", differing.len()));
    }
    if done < total {
        return Ok(INTERRUPTED);
    }
    Ok(if differing.is_empty() { 0 } else { NOT_DETERMINISTIC })
}

/// The command that checks only this plan again.
fn again(plan: &Plan, params: &Params) -> String {
    let seeds = format!("{}..{}", plan.seed, plan.seed.saturating_add(1));
    let words = ["determinism", &plan.scenario, "--protocol", &plan.protocol, "--seeds", &seeds];
    let words: Vec<String> = words.into_iter().map(str::to_owned).chain(repro::options(params)).collect();
    repro::command(&words)
}
