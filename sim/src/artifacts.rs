//! What a run leaves on disk. If it failed: everything that it takes to look at it, repeat it and file it. A folder is of one
//! run, whose plan lies in it.

use crate::{
    error::{Failed, FileError},
    identity::identity,
    parameters::parameters,
    registry::Registry,
    repro,
    run::{self, Options, Run},
};
use protocols::{
    fence::checks::Fencing,
    history::{Sink, json::Writer},
};
use reports::{
    Cause,
    json::Report,
    stories::Stories,
    text,
    timeline::{
        Highlights,
        page::{FILE as TIMELINE, FILE_OF_TWO, Pages},
    },
};
use scenarios::{Capsule, capsule, plan::Plan};
use std::{
    fs::{self, File},
    io::{BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
    thread,
};

const PLAN: &str = "plan.json";
const CAPSULE: &str = "capsule.json";
/// All that a run may leave in its folder.
pub const FILES: [&str; 10] = [
    PLAN,
    CAPSULE,
    "plan.min.json",
    HISTORY,
    "trace.txt",
    "report.json",
    "report.txt",
    TIMELINE,
    FILE_OF_TWO,
    "repro.sh",
];
const HISTORY: &str = "history.jsonl";

/// How a run is said to be repeated.
#[derive(Clone, Copy, Debug)]
pub struct Again<'a> {
    /// The command that repeats it.
    pub repro: &'a str,
    /// Why too little was put to the test, and which option to change, where that is known.
    pub meaning: Option<&'a str>,
    /// What else to run next: what for, and the command.
    pub next: &'a [(&'a str, String)],
}

/// How a report looks.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Every invariant, or those that say most.
    pub all: bool,
    /// Coloured, for a terminal.
    pub colour: bool,
    /// So many columns.
    pub width: usize,
}

/// `report.txt` has everything.
const FILED: Look = Look { all: true, colour: false, width: 100 };

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
    /// How many bytes a failing run's files have.
    pub bytes: u64,
    /// Was the history longer than is kept without being asked for?
    pub history_left_out: bool,
}

/// The report of a run for people, if somebody listened to it.
pub fn report_text(run: &Run, again: Again, look: Look) -> Option<String> {
    run.highlights.as_ref().map(|story| text_of(run, story, again, look))
}

fn text_of(run: &Run, story: &Highlights, again: Again, look: Look) -> String {
    let report = text::Run {
        header: Some(&run.header),
        parameters: &parameters(&run.plan, Some(run.protocol), " of virtual time"),
        highlights: story,
        judgement: &run.judgement,
        facts: &run.facts,
        replay: Some(again.repro),
        meaning: again.meaning,
        next: again.next,
        all: look.all,
        colour: look.colour,
    };
    text::render_in(&report, look.width)
}

/// Runs `plan`, whose names are the registry's, again for its artifacts; `now_us` is told how far it is. Runs that may well
/// pass keep nothing for them, and nobody keeps a very long one.
///
/// # Errors
/// The run could not be finished, or differed from the first, whose hash is `expected`.
pub fn repeat(plan: &Plan, registry: &Registry, expected: &str, now_us: Option<Arc<AtomicU64>>) -> Result<Run, Failed> {
    let options =
        Options { registry: registry.clone(), timeline: true, page: true, keep: true, now_us, ..Options::default() };
    let run = run::run(plan, options)?;
    match run.trace_hash() == expected {
        true => Ok(run),
        false => Err(Failed::NotRepeated { first: expected.to_owned(), then: run.trace_hash().to_owned() }),
    }
}

/// Writes the artifacts of a run that failed below `out`; whatever another run has left in that folder goes. What nobody
/// listened for while it ran is made of the events that were kept.
///
/// # Errors
/// A file could not be written, or the run kept too little.
pub fn leave(out: &Path, run: &Run, again: Again) -> Result<Written, Failed> {
    let folder = folder(out, &run.plan);
    prepare(&folder, &run.plan)?;
    save(&folder.join(CAPSULE), &capsule(run).to_json_pretty())?;
    save(&folder.join("repro.sh"), &repro::script(CAPSULE))?;
    let cause = thread::scope(|scope| {
        let history = scope.spawn(|| leave_history(&folder.join(HISTORY), run));
        let told = told_of_kept(run);
        let story = told.as_ref().or(run.highlights.as_ref()).ok_or("nobody listened to the run")?;
        let page = page_of(run).ok_or("nobody listened to the run")?;
        tell(&folder, run, story, &page, again)?;
        history.join().map_err(|_| "panicked")??;
        Ok::<Cause, Failed>(story.cause.clone())
    })?;
    let bytes = FILES.iter().filter_map(|name| folder.join(name).metadata().ok()).map(|file| file.len()).sum();
    Ok(Written { folder, cause, bytes, history_left_out: run.kept.is_none() })
}

/// The story of a run to which nobody listened for it, of what was kept.
fn told_of_kept(run: &Run) -> Option<Highlights> {
    let kept = run.kept.as_ref().filter(|_| run.highlights.is_none())?;
    let mut stories = Stories::new(Some(&run.header));
    kept.iter().for_each(|event| stories.record(event));
    Some(stories.into_telling(&run.judgement))
}

/// The page of a run, of what was kept if need be.
fn page_of(run: &Run) -> Option<String> {
    if let Some(sheet) = &run.page {
        return Some(sheet.page());
    }
    let mut pages = Pages::new(Some(&run.header));
    run.kept.as_ref()?.iter().for_each(|event| pages.record(event));
    Some(pages.into_sheet(&run.judgement).page())
}

/// Writes the history of what was kept. Half a history would be judged as if it were a whole one: of a longer one there is
/// none, until `--history` asks for it.
fn leave_history(file: &Path, run: &Run) -> Result<(), FileError> {
    let Some(kept) = &run.kept else {
        return match fs::remove_file(file) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(FileError::of("remove", file)(e)),
            _ => Ok(()),
        };
    };
    let mut writer = Writer::new(create(file)?, &run.header);
    kept.iter().for_each(|event| writer.record(event));
    writer.finish().map(drop).map_err(FileError::of("write", file))
}

/// Runs `plan`, whose names are the registry's, again, and writes the artifacts: [`repeat`] and [`leave`].
///
/// # Errors
/// Those of both.
pub fn write(out: &Path, plan: &Plan, registry: &Registry, expected: &str, again: Again) -> Result<Written, Failed> {
    leave(out, &repeat(plan, registry, expected, None)?, again)
}

/// Runs `plan`, whose names are the registry's, again and writes what is to be looked at below `out`, its page and its report:
/// for a run that went as it may, of which nobody needs the history.
///
/// # Errors
/// The run could not be finished, or a file not be written.
pub fn show(out: &Path, plan: &Plan, registry: &Registry, again: Again) -> Result<Written, Failed> {
    let options = Options { registry: registry.clone(), timeline: true, page: true, ..Options::default() };
    let mut run = run::run(plan, options)?;
    let page = run.page.take().map(|sheet| sheet.page()).unwrap_or_default();
    write_held(out, &run, &page, again)?;
    let cause = run.highlights.map(|story| story.cause).unwrap_or_default();
    Ok(Written { folder: folder(out, plan), cause, bytes: 0, history_left_out: false })
}

/// Writes the page of a run that holds, and its report, where its artifacts would be had it failed; whatever another run has
/// left there goes, and so does what this one left when it failed. Gives the page's file.
///
/// # Errors
/// A file could not be written.
pub fn write_held(out: &Path, run: &Run, page: &str, again: Again) -> Result<PathBuf, Failed> {
    let folder = folder(out, &run.plan);
    if folder.join(CAPSULE).exists() {
        clear(&folder)?;
    }
    prepare(&folder, &run.plan)?;
    let told = told_of_kept(run);
    let story = told.as_ref().or(run.highlights.as_ref()).ok_or("nobody listened to the run")?;
    tell(&folder, run, story, page, again)?;
    Ok(folder.join(TIMELINE))
}

/// What every run leaves that leaves anything.
fn tell(folder: &Path, run: &Run, story: &Highlights, page: &str, again: Again) -> Result<(), FileError> {
    let report = Report::new(Some(&run.header), &run.facts, &run.judgement).with_cause(&story.cause);
    save(&folder.join("report.json"), &report.to_text())?;
    save(&folder.join("report.txt"), &text_of(run, story, again, FILED))?;
    save(&folder.join(TIMELINE), page)
}

/// Writes the page of a run of `plan` and of another one beside the run's artifacts.
///
/// # Errors
/// The file could not be written.
pub fn write_beside(out: &Path, plan: &Plan, page: &str) -> Result<PathBuf, FileError> {
    let folder = folder(out, plan);
    prepare(&folder, plan)?;
    let file = folder.join(FILE_OF_TWO);
    save(&file, page)?;
    Ok(file)
}

/// Makes the folder one of `plan`: with nothing in it that a run of another has left.
fn prepare(folder: &Path, plan: &Plan) -> Result<(), FileError> {
    let (file, text) = (folder.join(PLAN), plan.to_json_pretty());
    if fs::read_to_string(&file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(FileError::of("make", folder))?;
    // Somebody may want a history there, and has had it written while the run went on.
    if file.exists() || folder.join(CAPSULE).exists() {
        clear(folder)?;
    }
    save(&file, &text)
}

/// Takes away what runs leave; what somebody else put there stays.
fn clear(folder: &Path) -> Result<(), FileError> {
    for file in FILES.map(|name| folder.join(name)) {
        match fs::remove_file(&file) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(FileError::of("remove", &file)(e)),
            _ => {}
        }
    }
    Ok(())
}

/// A new file for writing, buffered.
///
/// # Errors
/// It cannot be made.
pub fn create(path: &Path) -> Result<Box<dyn Write + Send>, FileError> {
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(FileError::of("make", folder))?;
    }
    let file = File::create(path).map_err(FileError::of("write", path))?;
    Ok(Box::new(BufWriter::with_capacity(1 << 16, file)))
}

/// Writes a whole file.
///
/// # Errors
/// It cannot be written.
pub fn save(path: &Path, text: &str) -> Result<(), FileError> {
    fs::write(path, text).map_err(FileError::of("write", path))
}
