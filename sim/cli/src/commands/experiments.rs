//! `experiments`: numbers, plots and findings, from committed plan sets.

mod advice;

use super::{
    args::jobs_or_cores,
    ends::{self, INTERRUPTED},
    exit::Stop,
    measure_args::ExperimentsArgs,
    output::{Show, print},
};
use reports::{
    experiments::{Cell, Numbers, curves, findings, numbers::SCHEMA, pictures, slo},
    json::pretty,
    plot::{
        self, Picture,
        frontier::Figures,
        leaders_acting::{LeadersActing, Strip},
    },
    statistics::count,
};
use sim::{
    artifacts,
    experiments::{self, ADVICE, Experiment, Measured, PlanSet, TEMPLATE},
    identity::{Identity, identity},
    interrupt::asked as is_asked_to_end,
    registry::Registry,
};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The numbers, full and reduced, and the findings' template, below the folder.
const FILES: [&str; 3] = ["experiments/numbers.json", "experiments/reduced.json", "experiments/FINDINGS.in.md"];
/// The pauses of experiment 2, which `advise` takes.
const PAUSES: &str = "experiments/profiles/hostile.txt";
/// The time that strips show, seconds since the first fault.
const SPAN_S: (f64, f64) = (-2.0, 14.0);
/// The same for leaders that die one after another.
const CHURN_SPAN_S: (f64, f64) = (-3.0, 60.0);

/// Runs experiments, and writes or compares their numbers.
///
/// # Errors
/// The arguments make no sense, a run could not be finished, or a file cannot be written.
pub fn run(registry: &Registry, args: &ExperimentsArgs) -> Result<u8, Stop> {
    let show = Show::from(&args.show);
    let mut asked = experiments::find(&args.numbers)?;
    if let Some(only) = &args.only {
        narrow(&mut asked, only)?;
    }
    let whole = args.numbers.is_empty() && args.only.is_none() && !args.reduced && !args.check;
    let out = args.out.clone().or_else(|| whole.then(|| PathBuf::from("reports")));
    if args.text_only {
        let numbers = read(&out.unwrap_or_else(|| PathBuf::from("reports")).join(FILES[0]))?;
        return tell(registry, args, &numbers).map(|()| 0);
    }
    if args.strips {
        return strips(registry, asked, args, show);
    }
    if let Some(out) = out.as_ref().filter(|_| asked.iter().any(|experiment| !experiment.advice.is_empty())) {
        let path = out.join(PAUSES);
        fs::create_dir_all(path.parent().unwrap_or(out))
            .map_err(|e| Stop::usage(format!("{}: {e}", path.display())))?;
        artifacts::save(&path, &advice::profile())?;
    }
    let Came { numbers, measured, interrupted } = measure(registry, &asked, args, args.reduced, show)?;
    if let Some(after) = interrupted {
        report(&numbers, Err(&format!("INTERRUPTED after {after}, and no numbers were written")), show);
        return Ok(INTERRUPTED);
    }
    let mut interrupted = None;
    if let Some(out) = &out {
        let reduced_too = whole && !args.reduced;
        save(out, &numbers, args, args.reduced, &asked)?;
        for (experiment, measured) in asked.iter().zip(&measured).filter(|_| !args.reduced) {
            draw(out, experiment, measured)?;
        }
        if reduced_too {
            let reduced = measure(registry, &asked, args, true, show)?;
            match reduced.interrupted {
                None => save(out, &reduced.numbers, args, true, &asked)?,
                after => interrupted = after,
            }
        }
        if !args.reduced {
            tell(registry, args, &read(&out.join(FILES[0]))?)?;
        }
    }
    if let Some(after) = interrupted {
        let ending =
            format!("INTERRUPTED after {after} of the reduced set: its numbers were not written, all others were");
        report(&numbers, Err(&ending), show);
        return Ok(INTERRUPTED);
    }
    let mut wrong = slo::broken(&numbers);
    if args.check {
        let committed = experiments::committed(args.reduced)?;
        wrong.extend(numbers.difference(&committed));
    }
    report(&numbers, Ok(&wrong), show);
    Ok(u8::from(!wrong.is_empty()))
}

/// Draws who led when, and nothing else.
fn strips(registry: &Registry, asked: Vec<Experiment>, args: &ExperimentsArgs, show: Show) -> Result<u8, Stop> {
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("reports"));
    let mut asked: Vec<Experiment> = asked.into_iter().map(experiments::told).collect();
    asked.retain(|experiment| !experiment.full.is_empty());
    let Came { measured, interrupted, .. } = measure(registry, &asked, args, false, show)?;
    let mut whole = asked.iter().zip(&measured).filter(|(_, measured)| !measured.interrupted);
    whole.try_for_each(|(experiment, measured)| draw(&out, experiment, measured))?;
    let Some(after) = interrupted else { return Ok(0) };
    print(&format!("INTERRUPTED after {after}; experiments that were not finished were not drawn"));
    Ok(INTERRUPTED)
}

/// The scenario in `--only`, and the protocol, if there is one.
fn split(only: &str) -> (&str, Option<&str>) {
    only.split_once('/').map_or((only, None), |(scenario, protocol)| (scenario, Some(protocol)))
}

/// Keeps only the plan sets of one scenario, and of one protocol if there is one.
fn narrow(asked: &mut Vec<Experiment>, only: &str) -> Result<(), Stop> {
    let (scenario, protocol) = split(only);
    let fits = |set: &mut PlanSet| {
        let Some(protocol) = protocol else { return set.scenario == scenario };
        let has = set.protocols.iter().any(|name| name == protocol || name == "all");
        set.protocols = vec![protocol.to_owned()];
        set.scenario == scenario && has
    };
    for experiment in asked.iter_mut() {
        experiment.full.retain_mut(fits);
        experiment.reduced.retain_mut(fits);
        if only != ADVICE {
            experiment.advice.clear();
        }
    }
    // Refused writes are not recorded by scenario.
    asked.retain(|e| !(e.lists_refusals || e.full.is_empty() && e.advice.is_empty()));
    match asked.is_empty() {
        true => Err(Stop::usage(format!(
            "--only {only}: none of these experiments has a plan set of `{only}` that can be measured alone"
        ))),
        false => Ok(()),
    }
}

/// What was measured of some experiments.
struct Came {
    numbers: Numbers,
    /// Of each experiment; if interrupted, of the first ones.
    measured: Vec<Measured>,
    /// How far it came, if it was interrupted.
    interrupted: Option<String>,
}

fn measure(
    registry: &Registry,
    asked: &[Experiment],
    args: &ExperimentsArgs,
    reduced: bool,
    show: Show,
) -> Result<Came, Stop> {
    ends::listen()?;
    let questions = |experiment: &Experiment| if reduced { 0 } else { experiment.advice.len() as u64 };
    let parts = |experiment| Ok(experiments::parts(registry, experiment, reduced)? + questions(experiment));
    let all = asked.iter().map(parts).sum::<Result<u64, Stop>>()?;
    let (mut done, mut came) = (0, Vec::new());
    for experiment in asked {
        show.banner(&format!("{}. {}", experiment.number, experiment.question));
        let told = |what: &str| {
            done += 1;
            show.banner(&format!("   {what}, {done} of {all}"));
        };
        let jobs = jobs_or_cores(args.jobs);
        let mut measured = experiments::measure(registry, experiment, reduced, jobs, told)?;
        if !reduced && !measured.interrupted {
            advice::cells(registry, experiment, &mut measured)?;
            done += questions(experiment);
        }
        came.push(measured);
        if is_asked_to_end() {
            break;
        }
    }
    let mut numbers = Numbers { schema: SCHEMA, ..Numbers::default() };
    for measured in &came {
        numbers.cells.extend(measured.cells.iter().cloned());
        numbers.refusals.extend(measured.refusals.iter().cloned());
    }
    let interrupted = came.iter().any(|measured| measured.interrupted) || came.len() < asked.len();
    let interrupted = interrupted.then(|| format!("{done} of {}", count(all, "part")));
    Ok(Came { numbers, measured: came, interrupted })
}

fn read(path: &Path) -> Result<Numbers, Stop> {
    let why = |e: &dyn std::fmt::Display| Stop::usage(format!("{} cannot be read: {e}", path.display()));
    let text = fs::read_to_string(path).map_err(|e| why(&e))?;
    serde_json::from_str(&text).map_err(|e| why(&e))
}

/// Writes numbers; those of other experiments stay as they are.
fn save(
    out: &Path,
    numbers: &Numbers,
    args: &ExperimentsArgs,
    reduced: bool,
    asked: &[Experiment],
) -> Result<(), Stop> {
    let path = out.join(FILES[usize::from(reduced)]);
    let mut all = if path.exists() { read(&path)? } else { Numbers { schema: SCHEMA, ..Numbers::default() } };
    let asked_for = |number: u8| asked.iter().any(|e| e.number == number);
    let told = |cell: &Cell| {
        args.only.as_deref().map(split).is_none_or(|(scenario, protocol)| {
            cell.scenario == scenario && protocol.is_none_or(|protocol| cell.protocol == protocol)
        })
    };
    all.cells.retain(|cell| !asked_for(cell.experiment) || !told(cell));
    all.refusals.retain(|refusal| !asked_for(refusal.experiment) || args.only.is_some());
    all.cells.extend(numbers.cells.iter().cloned());
    all.refusals.extend(numbers.refusals.iter().cloned());
    for experiment in asked {
        measured_with(all.commits.entry(experiment.number).or_default(), args.only.as_deref(), commit());
    }
    let places = experiments::find(&[])?;
    all.cells.sort_by_key(|cell| place(&places, cell));
    all.refusals.sort_by_key(|refusal| refusal.experiment);
    let folder = path.parent().unwrap_or(out);
    fs::create_dir_all(folder).map_err(|e| Stop::usage(format!("cannot make {}: {e}", folder.display())))?;
    artifacts::save(&path, &(pretty(&all) + "\n")).map_err(Stop::from)
}

/// A cell's sort key: its position in the plan sets, so that the numbers' order does not depend on how they were
/// measured.
fn place(experiments: &[Experiment], cell: &Cell) -> (u8, usize, usize) {
    let sets = || experiments.iter().filter(|e| e.number == cell.experiment).flat_map(|e| e.full.iter().enumerate());
    let of_set = |set: &PlanSet| {
        let all = || protocols::election::ALL.iter().position(|protocol| protocol.name == cell.protocol);
        set.protocols.iter().position(|name| *name == cell.protocol).or_else(all).unwrap_or(usize::MAX)
    };
    let usual = || sets().find(|(_, set)| set.variant.is_empty() && set.scenario == cell.scenario);
    let set = sets().find(|(_, set)| set.scenario == cell.scenario && set.variant == cell.variant).or_else(usual);
    let (set, protocol) = set.map_or((usize::MAX, 0), |(place, set)| (place, of_set(set)));
    (cell.experiment, set, protocol)
}

/// Records the commit that an experiment, or the part of it that was asked for, was measured with.
fn measured_with(parts: &mut BTreeMap<String, String>, only: Option<&str>, commit: String) {
    let part = only.filter(|_| !parts.is_empty()).unwrap_or_default();
    // Parts of the measured part have new numbers, too.
    parts.retain(|known, _| !(part.is_empty() || known == part || known.starts_with(&format!("{part}/"))));
    parts.insert(part.to_owned(), commit);
}

/// The source that the numbers are measured with.
fn commit() -> String {
    let Identity { commit, dirty, .. } = identity();
    match commit.get(..8).unwrap_or(commit) {
        "" => "a build without a commit".to_owned(),
        commit if dirty => format!("{commit} and changes after it"),
        commit => commit.to_owned(),
    }
}

/// Writes the findings, and the plots that need only numbers.
fn tell(registry: &Registry, args: &ExperimentsArgs, numbers: &Numbers) -> Result<(), Stop> {
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("reports"));
    for number in 1..=11 {
        for (name, picture) in pictures::of(numbers, number) {
            picture_at(&out, name, &picture)?;
        }
        for (name, picture) in curves::of(numbers, number) {
            picture_at(&out, name, &picture)?;
        }
    }
    for experiment in experiments::find(&[])? {
        if let Some(sweep) = experiments::sweep(&experiment, numbers) {
            picture_at(&out, &format!("{}-{}", experiment.number, experiment.name), &sweep)?;
        }
        for figures in experiments::frontiers(registry, &experiment, numbers)? {
            let Figures { scenario, protocol, .. } = &figures;
            picture_at(&out, &format!("{}-{scenario}-{protocol}", experiment.number), &figures)?;
        }
    }
    let template = fs::read_to_string(out.join(FILES[2])).unwrap_or_else(|_| TEMPLATE.to_owned());
    let text = findings::render(&template, numbers)?;
    artifacts::save(&out.join("FINDINGS.md"), &text).map_err(Stop::from)
}

fn picture_at(out: &Path, name: &str, picture: &impl Picture) -> Result<(), Stop> {
    let folder = out.join("plots");
    fs::create_dir_all(&folder).map_err(|e| Stop::usage(format!("cannot make {}: {e}", folder.display())))?;
    plot::draw_svg(picture, &folder.join(format!("{name}.svg")))?;
    plot::draw_png(picture, &folder.join(format!("{name}.png"))).map_err(Stop::from)
}

/// Draws the plots that need more than numbers: who led when.
fn draw(out: &Path, experiment: &Experiment, measured: &Measured) -> Result<(), Stop> {
    let mut scenarios: Vec<&str> = measured.strips.iter().map(|(scenario, ..)| scenario.as_str()).collect();
    scenarios.dedup();
    for scenario in scenarios {
        let of_it = || measured.strips.iter().filter(|(told, ..)| told == scenario);
        // Of several variants, only the usual one is drawn.
        let usual = of_it().any(|(_, variant, _)| variant.is_empty());
        let shown = of_it().filter(|(_, variant, _)| variant.is_empty() || !usual);
        let strips: Vec<Strip> = shown.map(|(.., strip)| strip.clone()).collect();
        let picture = LeadersActing {
            title: format!("Leaders acting, experiment {}: {scenario}", experiment.number),
            about: "The run of the first seed for each protocol; the first fault strikes at 0".to_owned(),
            span_s: if experiment.name == "churn" { CHURN_SPAN_S } else { SPAN_S },
            strips,
        };
        picture_at(out, &format!("{}-leaders-acting-{scenario}", experiment.number), &picture)?;
    }
    Ok(())
}

/// Prints the numbers, and what is wrong with them or how far an interrupted command came.
fn report(numbers: &Numbers, ended: Result<&[String], &str>, show: Show) {
    let wrong = ended.unwrap_or_default();
    if show.json {
        let interrupted = ended.is_err();
        let report =
            serde_json::json!({ "schema": SCHEMA, "wrong": wrong, "interrupted": interrupted, "numbers": numbers });
        print(&pretty(&report));
        return;
    }
    let mut text = String::new();
    if !show.quiet {
        text += &format!(
            "{:44} {:>5} {:>22} {:>9} {:>9} {:>9}\n",
            "", "runs", "failover median, most", "refused", "reused", "incidents"
        );
        numbers.cells.iter().for_each(|cell| text += &line(cell));
    }
    wrong.iter().for_each(|what| text += &format!("{what}\n"));
    let cells = count(numbers.cells.len() as u64, "cell");
    text += &match ended {
        Err(ended) => ended.to_owned(),
        Ok([]) => format!("{cells}: all as it must be"),
        Ok(wrong) => format!("{cells}: {} not as it must be", count(wrong.len() as u64, "thing")),
    };
    print(&text);
}

fn line(cell: &Cell) -> String {
    let whole = |name: &str| cell.figure(name).map_or("–".to_owned(), |n| format!("{n:.0}"));
    let failover = match (cell.figure("failover_ms.p50"), cell.figure("failover_ms.most")) {
        (Some(median), Some(most)) => format!("{median:.0} ms, {most:.0} ms"),
        _ => "–".to_owned(),
    };
    let [refused, reused, incidents] = ["writes_fenced", "seq_reused", "double_leader_runs"].map(whole);
    let (key, runs) = (cell.key(), cell.runs);
    format!("{key:44} {runs:>5} {failover:>22} {refused:>9} {reused:>9} {incidents:>9}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_measured_alone_has_its_own_commit_until_all_of_it_is_measured_again() {
        let mut parts = BTreeMap::new();
        let mut measured = |only: Option<&str>, commit: &str| {
            measured_with(&mut parts, only, commit.to_owned());
            parts.iter().map(|(part, commit)| format!("{part}={commit}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(measured(Some("steady"), "a"), "=a", "nothing was measured before");
        assert_eq!(measured(Some("steady/raft"), "b"), "=a steady/raft=b");
        assert_eq!(measured(Some("churn"), "c"), "=a churn=c steady/raft=b");
        assert_eq!(measured(Some("steady"), "d"), "=a churn=c steady=d");
        assert_eq!(measured(None, "e"), "=e");
    }
}
