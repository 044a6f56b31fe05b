//! What a failing run leaves on disk: everything that it takes to look at it, repeat it and file it.

use crate::{
    identity::identity,
    registry::Registry,
    repro,
    run::{self, Options, Run},
};
use protocols::fence::checks::Fencing;
use reports::{Cause, json::Report, timeline::page::FILE as TIMELINE};
use scenarios::{Capsule, capsule, plan::Plan};
use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

/// Where the artifacts of a run go below `out`.
pub fn folder(out: &Path, plan: &Plan) -> PathBuf {
    let fencing = match plan.fencing {
        Fencing::On => String::new(),
        other => format!("-fencing-{}", other.word()),
    };
    // Sweeps run each seed with several numbers of candidates.
    let nodes = match plan.candidates.len() {
        3 => String::new(),
        other => format!("-nodes-{other}"),
    };
    out.join(&plan.scenario).join(format!("{}{nodes}{fencing}", plan.protocol)).join(plan.seed.to_string())
}

/// The capsule of a run.
pub fn capsule(run: &Run) -> Capsule {
    let identity = identity();
    let failed = run.judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.name.to_owned());
    Capsule {
        schema: capsule::SCHEMA,
        plan: (*run.plan).clone(),
        version: identity.version.to_owned(),
        commit: identity.commit.to_owned(),
        dirty: identity.dirty,
        lock_hash: identity.lock_hash,
        rustc: identity.rustc.to_owned(),
        target: identity.target.to_owned(),
        trace_hash: run.trace_hash().to_owned(),
        verdict: run.judgement.verdict.name().to_owned(),
        failed: failed.collect(),
    }
}

/// What was written of a run.
#[derive(Clone, Debug)]
pub struct Written {
    /// The folder that it lies in.
    pub folder: PathBuf,
    /// Why the run came out as it did.
    pub cause: Cause,
}

/// Runs `plan`, whose names are the registry's, again with everything recorded, and writes the artifacts below `out`. A run costs nothing until it fails.
///
/// # Errors
/// A file could not be written, or the second run differed from the first, whose hash is `expected`.
pub fn write(out: &Path, plan: &Plan, registry: &Registry, expected: &str) -> Result<Written, String> {
    let folder = folder(out, plan);
    fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    let options = Options {
        registry: registry.clone(),
        timeline: true,
        page: true,
        history: Some(create(&folder.join("history.jsonl"))?),
        trace: Some(create(&folder.join("trace.txt"))?),
        ..Options::default()
    };
    let run = run::run(plan, options)?;
    if run.trace_hash() != expected {
        return Err(format!(
            "the plan did not repeat itself: trace hash {expected}, then {} (see {})",
            run.trace_hash(),
            folder.display()
        ));
    }
    save(&folder.join("plan.json"), &plan.to_json_pretty())?;
    save(&folder.join("capsule.json"), &capsule(&run).to_json_pretty())?;
    let cause = run.highlights.as_ref().map(|story| story.cause.clone()).unwrap_or_default();
    let report = Report::new(Some(&run.header), &run.facts, &run.judgement).with_cause(&cause);
    save(&folder.join("report.json"), &report.to_text())?;
    save(&folder.join(TIMELINE), &run.page.map(|sheet| sheet.page()).unwrap_or_default())?;
    save(&folder.join("repro.sh"), &repro::script("capsule.json"))?;
    Ok(Written { folder, cause })
}

/// Writes a page of a run of `plan` where its artifacts would be, which a run that holds has not; `name` is the file's.
///
/// # Errors
/// The file could not be written.
pub fn write_page(out: &Path, plan: &Plan, name: &str, page: &str) -> Result<PathBuf, String> {
    let folder = folder(out, plan);
    fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    let file = folder.join(name);
    save(&file, page)?;
    Ok(file)
}

/// A new file for writing, buffered.
///
/// # Errors
/// It cannot be made.
pub fn create(path: &Path) -> Result<Box<dyn Write + Send>, String> {
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    }
    let file = File::create(path).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    Ok(Box::new(BufWriter::with_capacity(1 << 16, file)))
}

/// Writes a whole file.
///
/// # Errors
/// It cannot be written.
pub fn save(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}
