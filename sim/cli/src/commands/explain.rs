//! `explain`: which faults a failing plan needs in order to fail, and when its failure became inevitable.

mod inevitable;

use super::{
    args::jobs_or_cores,
    ends::{self, INTERRUPTED},
    exit::{INCONCLUSIVE, Stop},
    findings_args::ExplainArgs,
    one_run::default_out,
    output::{Show, open, print},
    plan_file,
    sweep::aligned,
};
use reports::{
    Verdict,
    json::pretty,
    text::{paragraph, wrap},
};
use scenarios::plan::Plan;
use serde_json::{Value, json};
use sim::{
    artifacts,
    reduce::{
        self, Came, Change, Explained, Looked, Rest,
        futures::{self, Curve},
    },
    registry::Registry,
    repro,
};
use std::path::Path;

/// Reruns the plan in the file with changes, and prints which of its faults it needs to fail.
///
/// # Errors
/// The file is no plan, or a run could not be finished.
pub fn run(registry: &Registry, args: &ExplainArgs) -> Result<u8, Stop> {
    let artifact = plan_file::read(registry, &args.file)?;
    let (plan, show) = (artifact.plan(), Show::from(&args.show));
    ends::listen()?;
    let mut explained = match reduce::explain(plan, registry, jobs_or_cores(args.jobs))? {
        Looked::Failed(explained) => explained,
        Looked::Holds(verdict) => return Err(does_not_fail(&args.file, verdict)),
        Looked::Interrupted => return Err(interrupted()),
    };
    let curve = curve(plan, &explained, registry, args)?;
    let conclusion = explained.conclusion(plan);
    if args.open {
        explained.run.futures = curve.as_ref().map(Curve::drawn);
        open(&artifacts::write_page(args.out.as_deref().unwrap_or(&default_out()), &explained.run)?, show);
    }
    if show.json {
        print(&report(plan, &explained, &conclusion, curve.as_ref()));
    } else if show.quiet {
        print(&conclusion);
    } else {
        let inevitable = curve.map_or_else(String::new, |curve| told(&curve, show.width()));
        print(&(text(plan, &explained, &conclusion, show.width()) + &inevitable + &next(&args.file)));
    }
    Ok(0)
}

/// How many of its futures fail, moment by moment; `None` if not asked for.
fn curve(plan: &Plan, explained: &Explained, registry: &Registry, args: &ExplainArgs) -> Result<Option<Curve>, Stop> {
    if args.futures == 0 {
        return Ok(None);
    }
    let failure = (&explained.symptom, &explained.run.judgement);
    match futures::curve(plan, failure, args.futures.into(), registry, jobs_or_cores(args.jobs))? {
        Some(curve) => Ok(Some(curve)),
        None => Err(interrupted()),
    }
}

fn told(curve: &Curve, width: usize) -> String {
    let sentence = wrap(&curve.sentence(), width).join("\n");
    format!("\nThe futures that fail, drawn anew from each moment on:\n\n{}\n{sentence}\n", inevitable::bars(curve))
}

/// The error for a plan that does not fail.
pub(super) fn does_not_fail(file: &Path, verdict: Verdict) -> Stop {
    let what = match verdict {
        Verdict::Vacuous => "is inconclusive: the situation under test never arose",
        _ => "passes: every invariant held",
    };
    let plan = match file == Path::new("-") {
        true => "the plan on standard input".to_owned(),
        false => file.display().to_string(),
    };
    Stop { code: INCONCLUSIVE, why: format!("{plan} {what}; give a plan that fails") }
}

/// The error for an interrupt before any result.
pub(super) fn interrupted() -> Stop {
    Stop { code: INTERRUPTED, why: "interrupted before anything was found".to_owned() }
}

/// A plan and its failure, in one line.
pub(super) fn headline(plan: &Plan, symptom: &reduce::Symptom) -> String {
    let Plan { scenario, protocol, seed, fencing, .. } = plan;
    format!("{scenario} · {protocol} · seed {seed} · fencing {}: {symptom}", fencing.word())
}

fn text(plan: &Plan, explained: &Explained, conclusion: &str, width: usize) -> String {
    let cause = explained.run.highlights.as_ref().map(|story| &story.cause);
    let told = |text: String| if text.is_empty() { text } else { paragraph(&text, width) };
    let happened = cause.map_or_else(String::new, |cause| told(cause.text()));
    let rule =
        cause.and_then(|cause| cause.rule()).map_or_else(String::new, |rule| told(format!("Why it is wrong: {rule}")));
    let rows = explained.flips.iter().map(|(change, came)| [format!("  {}", word(came)), row(plan, change, came)]);
    let table = aligned(rows.collect(), |_| false);
    let conclusion = wrap(conclusion, width).join("\n");
    format!("{}\n{happened}{rule}\n{table}\n{conclusion}\n", headline(plan, &explained.symptom))
}

/// The outcome of a changed plan, in a few words.
fn word(came: &Came) -> String {
    match came {
        Came::Gone(Verdict::Vacuous) => "inconclusive",
        Came::Gone(_) => "passes",
        Came::Same => "fails as before",
        Came::Other(_) => "fails otherwise",
        Came::NoPlan(_) => "not a plan",
    }
    .to_owned()
}

/// The change, with details of an outcome that differs.
fn row(plan: &Plan, change: &Change, came: &Came) -> String {
    let what = change.words(plan);
    match came {
        Came::Other(symptom) => format!("{what}: {symptom}"),
        Came::NoPlan(why) => format!("{what}: {why}"),
        _ => what,
    }
}

/// What to run next; empty for a plan from standard input, which cannot be read again.
fn next(file: &Path) -> String {
    if file == Path::new("-") {
        return String::new();
    }
    let path = plan_file::whole_path(file);
    let command = |words: &[&str]| repro::command(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    format!(
        "\nthe smallest plan: {}\nto see it: {}\n",
        command(&["shrink", &path]),
        command(&["explain", &path, "--open"])
    )
}

fn report(plan: &Plan, explained: &Explained, conclusion: &str, curve: Option<&Curve>) -> String {
    let flip = |(change, came): &(Change, Came)| {
        let (verdict, violated, why) = match came {
            Came::Gone(verdict) => (Some(*verdict), Vec::new(), None),
            Came::Same => (Some(explained.symptom.verdict), explained.symptom.violated.iter().copied().collect(), None),
            Came::Other(symptom) => (Some(symptom.verdict), symptom.violated.iter().copied().collect(), None),
            Came::NoPlan(why) => (None, Vec::new(), Some(why)),
        };
        let fault = match change {
            Change::Fault(place) => Some(*place),
            _ => None,
        };
        json!({
            "change": change.words(plan),
            "fault": fault,
            "outcome": outcome(came),
            "verdict": verdict.map(Verdict::name),
            "violated": violated,
            "why": why,
        })
    };
    let Explained { symptom, run, needed, spare, rest, runs, .. } = explained;
    let any_of = match rest {
        Rest::AnyOf(enough) => enough.clone(),
        Rest::DoesNotMatter | Rest::Several => Vec::new(),
    };
    let cause = run.highlights.as_ref().map(|story| story.cause.text()).unwrap_or_default();
    let report: Value = json!({
        "schema": 1,
        "scenario": plan.scenario,
        "protocol": plan.protocol,
        "seed": plan.seed,
        "verdict": symptom.verdict.name(),
        "violated": symptom.violated,
        "cause": cause,
        "changes": explained.flips.iter().map(flip).collect::<Vec<_>>(),
        "needed": needed,
        "not_needed": spare,
        "needed_are_enough": *rest == Rest::DoesNotMatter,
        "any_of": any_of,
        "conclusion": conclusion,
        "futures": curve.map(|curve| {
            let (until, from) = curve.no_return().map_or((None, None), |(until, from)| (until, Some(from)));
            json!({
                "drawn": curve.futures,
                "moments": curve.moments,
                "until_us": until.map(|moment| moment.at_us),
                "inevitable_us": from.map(|moment| moment.at_us),
            })
        }),
        "runs": runs + curve.map_or(0, Curve::runs),
    });
    pretty(&report)
}

/// The outcome of a changed plan, as the report calls it.
fn outcome(came: &Came) -> &'static str {
    match came {
        Came::Gone(_) => "gone",
        Came::Same => "same",
        Came::Other(_) => "other",
        Came::NoPlan(_) => "invalid",
    }
}
