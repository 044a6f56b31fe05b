//! `replay`: reruns a plan, a capsule or a case of `seeds/`.

use super::{
    exit::{NOT_DETERMINISTIC, OTHER_BUILD, Stop},
    one_run::{OneRun, default_out, exit_code},
    output::{Show, print},
    output_args::OutputArgs,
    plan_file,
};
use reports::text::paragraph;
use scenarios::{Artifact, Capsule, Case, Plan, capsule::Mended};
use sim::{
    identity::identity,
    registry::Registry,
    repro,
    run::{self, Options, Run},
};
use std::{collections::BTreeMap, path::Path};

/// Reruns the plan in `file`, with names of the registry.
pub fn run(
    registry: &Registry,
    file: &Path,
    strict: bool,
    no_artifacts: bool,
    output: &OutputArgs,
) -> Result<u8, Stop> {
    let artifact = plan_file::read(registry, file)?;
    let show = Show::from(&output.show);
    let capsule = match &artifact {
        Artifact::Capsule(capsule) => Some(capsule),
        Artifact::Plan(_) | Artifact::Case(_) => None,
    };
    let other_build = capsule.and_then(|c| difference(c));
    match (&other_build, strict) {
        (Some(what), true) => {
            return Err(Stop { code: OTHER_BUILD, why: format!("the capsule comes from another build: {what}") });
        }
        (Some(what), false) => show.banner(&format!("note: the capsule comes from another build: {what}")),
        (None, true) if capsule.is_none() => {
            let what = if matches!(artifact, Artifact::Case(_)) { "a case of seeds/" } else { "a plan" };
            return Err(Stop::usage(format!("--strict needs a capsule; {what} does not say which build it ran under")));
        }
        _ => {}
    }
    let one = OneRun {
        show,
        trace: output.trace.clone(),
        history: output.history.clone(),
        page: output.out.is_some() || output.open,
        open: output.open,
        artifacts: (!no_artifacts).then(|| output.out.clone().unwrap_or_else(default_out)),
        repro: repro::command(&["replay".to_owned(), plan_file::whole_path(file)]),
        again: false,
        aside: false,
        instead: Vec::new(),
    };
    if let Artifact::Case(case) = &artifact
        && !show.json
        && !show.quiet
    {
        print(&paragraph(&case.story, show.width()));
    }
    let run = one.run(artifact.plan(), registry)?;
    if run.cut_short {
        return Ok(exit_code(&run));
    }
    if let Artifact::Case(case) = &artifact {
        compare(case, &run, show);
        if !show.json && !show.quiet {
            without_its_bugs(case, registry, show)?;
        }
    }
    if let Some(capsule) = capsule {
        let same = capsule.trace_hash == run.trace_hash();
        if !same && other_build.is_none() {
            let why =
                format!("the same build gave another trace: {} then, {} now", capsule.trace_hash, run.trace_hash());
            return Err(Stop { code: NOT_DETERMINISTIC, why });
        }
        let verdict = run.judgement.verdict.name();
        if verdict != capsule.verdict {
            show.banner(&format!("note: the verdict was {} then, and is {verdict} now", capsule.verdict));
        } else {
            show.banner(if same { "same trace, same verdict" } else { "another trace, same verdict" });
        }
    }
    Ok(exit_code(&run))
}

/// Prints whether the outcome of the case is the recorded one.
fn compare(case: &Case, run: &Run, show: Show) {
    let Case { verdict, violated, figures, .. } = case;
    show.banner(&match differs(verdict, violated, figures, run) {
        None => format!("as recorded: {}", came(verdict, violated)),
        Some(now) => format!("note: the case is recorded as {}, and {now}", came(verdict, violated)),
    });
}

/// Runs the case's plan without its bugs, and prints the outcome.
fn without_its_bugs(case: &Case, registry: &Registry, show: Show) -> Result<(), Stop> {
    let Some(Mended { verdict, violated, figures }) = &case.mended else { return Ok(()) };
    let plan = Plan { bugs: Vec::new(), ..case.plan.clone() };
    let mended = run::run(&plan, Options { registry: registry.clone(), ..Options::default() })?;
    let now = came(mended.judgement.verdict.name(), &mended.judgement.violated().collect::<Vec<_>>());
    print(&paragraph(&format!("The same plan without {}: {now}.", case.plan.bugs.join(", ")), show.width()));
    if let Some(now) = differs(verdict, violated, figures, &mended) {
        show.banner(&format!("note: without its bug the case is recorded as {}, and {now}", came(verdict, violated)));
    }
    Ok(())
}

/// How a run's outcome differs from the recorded one; `None` if it does not.
fn differs(verdict: &str, violated: &[String], figures: &BTreeMap<String, f64>, run: &Run) -> Option<String> {
    let now: Vec<&str> = run.judgement.violated().collect();
    if run.judgement.verdict.name() != verdict || now != violated {
        return Some(format!("is {} now", came(run.judgement.verdict.name(), &now)));
    }
    let metrics = serde_json::to_value(&run.judgement.metrics).unwrap_or_default();
    let moved = figures.iter().find(|(name, then)| metrics[name.as_str()].as_f64() != Some(**then));
    moved.map(|(name, then)| format!("{name} is {} now, {then} then", metrics[name.as_str()]))
}

/// A verdict and the violated invariants, in a few words.
fn came(verdict: &str, violated: &[impl AsRef<str>]) -> String {
    match violated {
        [] => verdict.to_owned(),
        violated => {
            let violated: Vec<&str> = violated.iter().map(AsRef::as_ref).collect();
            format!("{verdict} violated ({})", violated.join(", "))
        }
    }
}

/// How the capsule's build differs from this one; `None` if it does not.
fn difference(capsule: &Capsule) -> Option<String> {
    let this = identity();
    let pairs = [
        ("version", capsule.version.as_str(), this.version),
        ("commit", &capsule.commit, this.commit),
        ("Cargo.lock", &capsule.lock_hash, &this.lock_hash),
        ("compiler", &capsule.rustc, this.rustc),
        ("target", &capsule.target, this.target),
    ];
    let different = pairs.into_iter().find(|(_, then, now)| then != now);
    different.map(|(what, then, now)| format!("{what} {then} then, {now} now"))
}
