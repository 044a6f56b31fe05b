//! `replay`: a plan or a capsule again.

use super::{
    exit::{NOT_DETERMINISTIC, OTHER_BUILD, Stop},
    one_run::{OneRun, default_out},
    output::Show,
    output_args::OutputArgs,
    plan_file,
};
use scenarios::{Artifact, Capsule};
use sim::{identity::identity, registry::Registry, repro};
use std::path::Path;

/// Runs the plan in `file`, whose names are the registry's, again.
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
        Artifact::Plan(_) => None,
    };
    let other_build = capsule.and_then(|c| difference(c));
    match (&other_build, strict) {
        (Some(what), true) => {
            return Err(Stop { code: OTHER_BUILD, why: format!("the capsule comes from another build: {what}") });
        }
        (Some(what), false) => show.banner(&format!("note: the capsule comes from another build: {what}")),
        (None, true) if capsule.is_none() => {
            return Err(Stop::usage("--strict needs a capsule; a plan does not say which build it ran under"));
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
    let run = one.run(artifact.plan(), registry)?;
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
    Ok(run.judgement.verdict.exit_code())
}

/// What distinguishes the capsule's build from this one; `None`: nothing does.
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
