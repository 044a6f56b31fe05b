//! `mutants`: after how many seeds each known bug is detected.

use super::{
    args::jobs_or_cores,
    ends::{self, INTERRUPTED},
    exit::{Stop, VIOLATED},
    findings_args::MutantsArgs,
    output::{Show, print},
    progress::Counter,
    shown,
    sweep::aligned,
};
use crate::terminal::names;
use protocols::bug::{Bug, Shown};
use reports::{json::pretty, statistics::count};
use serde_json::{Value, json};
use sim::{
    error::Failed,
    mutants::{self, Fate, Mutant},
    registry::Registry,
};

/// Runs the bugs until a seed detects each, and prints the results.
///
/// # Errors
/// There is no such bug, or a run could not be finished.
pub fn run(registry: &Registry, args: &MutantsArgs) -> Result<u8, Stop> {
    let show = Show::from(&args.show);
    let all = mutants_of(registry, &args.ids)?;
    ends::listen()?;
    let bar = Counter::new(all.len() as u64, show);
    let fates = mutants::hunt(&all, registry, &args.seeds, jobs_or_cores(args.jobs), || bar.done());
    let fates = fates?;
    bar.finish();
    let survivors = fates.iter().filter(|fate| matches!(fate, Fate::Survived(_))).count() as u64;
    let interrupted = fates.len() < all.len();
    if show.json {
        print(&report(&all, &fates, args, interrupted));
    } else {
        if !show.quiet {
            print(&table(&all, &fates));
        }
        print(&ending(&all, &fates, survivors, interrupted));
    }
    Ok(match () {
        () if interrupted => INTERRUPTED,
        () if survivors > 0 => VIOLATED,
        () => 0,
    })
}

/// The bugs with these ids, or all, in each protocol they name; a bug that names none in the protocol of its command.
fn mutants_of(registry: &Registry, ids: &[String]) -> Result<Vec<Mutant>, Stop> {
    let plans = &registry.plans;
    let known: Vec<&str> = plans.bugs.iter().map(|bug| bug.id).collect();
    if let Some(unknown) = ids.iter().find(|id| !known.contains(&id.as_str())) {
        return Err(names::unknown("bug", unknown, &known).into());
    }
    let chosen = plans.bugs.iter().filter(|bug| ids.is_empty() || ids.iter().any(|id| id == bug.id));
    let mut all = Vec::new();
    for bug in chosen {
        let shown_with = [bug.shown.protocol];
        let protocols = if bug.protocols.is_empty() { &shown_with } else { bug.protocols };
        for protocol in protocols {
            all.push(mutant(registry, bug, protocol)?);
        }
    }
    Ok(all)
}

/// A bug in a protocol, under the command that shows it.
fn mutant(registry: &Registry, bug: &'static Bug, protocol: &'static str) -> Result<Mutant, Failed> {
    let Shown { scenario, options, seeds, above, .. } = bug.shown;
    let without = shown::params(&Shown { scenario, protocol, options, seeds, above }, None)?;
    let story = registry.plans.scenarios.iter().copied().find(|story| story.name == scenario);
    let scenario = story.ok_or_else(|| Failed::Harness(format!("{}: there is no scenario `{scenario}`", bug.id)))?;
    Ok(Mutant { bug, protocol: registry.plans.protocol(protocol)?, scenario, without })
}

fn table(all: &[Mutant], fates: &[Fate]) -> String {
    let head = ["bug", "protocol", "seeds", "detected by"].map(str::to_owned);
    let row = |(mutant, fate): (&Mutant, &Fate)| {
        let (seeds, by) = match fate {
            Fate::Detected { seeds, seed, by, .. } => (seeds.to_string(), format!("{by}, seed {seed}")),
            Fate::Survived(_) => ("–".to_owned(), "SURVIVED".to_owned()),
            Fate::DoesNotApply(why) => ("–".to_owned(), format!("not run: {why}")),
        };
        [mutant.bug.id.to_owned(), mutant.protocol.name.to_owned(), seeds, by]
    };
    let rows = std::iter::once(head).chain(all.iter().zip(fates).map(row));
    aligned(rows.collect(), |column| column == 2)
}

/// The last lines: the survivors, each with the command that reruns it, and the totals.
fn ending(all: &[Mutant], fates: &[Fate], survivors: u64, interrupted: bool) -> String {
    let of = |wanted: fn(&Fate) -> bool| fates.iter().filter(|fate| wanted(fate)).count();
    let survived = all.iter().zip(fates).filter(|(_, fate)| matches!(fate, Fate::Survived(_)));
    let line = |(mutant, fate): (&Mutant, &Fate)| {
        let Fate::Survived(seeds) = fate else { return String::new() };
        let (id, protocol, violation) = (mutant.bug.id, mutant.protocol.name, mutant.bug.violation);
        format!("SURVIVED {id} in {protocol}: none of {} shows {violation}\n", count(*seeds, "seed"))
    };
    let lines: String = survived.map(line).collect();
    let detected = of(|fate| matches!(fate, Fate::Detected { .. }));
    let not_run = match of(|fate| matches!(fate, Fate::DoesNotApply(_))) {
        0 => String::new(),
        some => format!(", {some} not run"),
    };
    let done = match interrupted {
        true => format!("INTERRUPTED after {} of {} bugs", fates.len(), all.len()),
        false => format!("{} in their protocols", count(all.len() as u64, "bug")),
    };
    format!("{lines}{done}: {detected} detected, {survivors} survived{not_run}\n")
}

fn report(all: &[Mutant], fates: &[Fate], args: &MutantsArgs, interrupted: bool) -> String {
    let one = |(mutant, fate): (&Mutant, &Fate)| {
        let (outcome, why) = match fate {
            Fate::Detected { .. } => ("detected", None),
            Fate::Survived(_) => ("survived", None),
            Fate::DoesNotApply(why) => ("not run", Some(why)),
        };
        let (seeds, seed, by, violated) = match fate {
            Fate::Detected { seeds, seed, by, violated } => (Some(seeds), Some(seed), Some(by), violated.clone()),
            _ => (None, None, None, Vec::new()),
        };
        json!({
            "id": mutant.bug.id,
            "protocol": mutant.protocol.name,
            "scenario": mutant.scenario.name,
            "violation": mutant.bug.violation,
            "outcome": outcome,
            "seeds_to_detection": seeds,
            "seed": seed,
            "detected_by": by,
            "violated": violated,
            "why": why,
        })
    };
    let of = |wanted: fn(&Fate) -> bool| fates.iter().filter(|fate| wanted(fate)).count();
    let report: Value = json!({
        "schema": 1,
        "seeds": [args.seeds.start, args.seeds.end],
        "mutants": all.iter().zip(fates).map(one).collect::<Vec<_>>(),
        "detected": of(|fate| matches!(fate, Fate::Detected { .. })),
        "survived": of(|fate| matches!(fate, Fate::Survived(_))),
        "not_run": of(|fate| matches!(fate, Fate::DoesNotApply(_))),
        "interrupted": interrupted,
    });
    pretty(&report)
}
