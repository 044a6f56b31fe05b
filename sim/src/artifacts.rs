//! The files that a run leaves on disk; for a failed run, all that is needed to inspect, repeat and report it. A folder
//! belongs to one run, whose plan lies in it.

use crate::{
    error::{Failed, FileError},
    identity::identity,
    parameters::parameters,
    recorder::KEPT_MAX,
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
    text,
    timeline::{
        Highlights,
        page::{FILE as TIMELINE, FILE_OF_TWO, Pages, Sheet},
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
/// All files that a run may leave in its folder.
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

/// How to repeat a run.
#[derive(Clone, Copy, Debug)]
pub struct Again<'a> {
    pub repro: &'a str,
    /// Why too little was tested, and which option to change, where known.
    pub meaning: Option<&'a str>,
    /// What to run next: the purpose and the command.
    pub next: &'a [(&'a str, String)],
}

/// How a report is rendered.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// All invariants, or only the most telling ones.
    pub all: bool,
    pub colour: bool,
    /// The width in columns.
    pub width: usize,
}

/// `report.txt` shows everything.
const FILED: Look = Look { all: true, colour: false, width: 100 };

/// The folder below `out` for a run's artifacts.
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

/// The artifacts written for a run.
#[derive(Clone, Debug)]
pub struct Written {
    pub folder: PathBuf,
    pub cause: Cause,
    /// The total size of a failing run's files.
    pub bytes: u64,
    /// Whether the history was too long to be kept without `--history`.
    pub history_left_out: bool,
}

/// The report of a run for people; `None` if it was not recorded.
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

/// Repeats `plan`, whose names are resolved by `registry`, to collect its artifacts, and reports progress in `now_us`.
/// The first run does not collect them because most runs pass, and because very long runs keep nothing.
///
/// # Errors
/// The run could not be finished, or its trace hash differs from `expected`.
pub fn repeat(plan: &Plan, registry: &Registry, expected: &str, now_us: Option<Arc<AtomicU64>>) -> Result<Run, Failed> {
    let options = Options {
        registry: registry.clone(),
        timeline: true,
        page: true,
        keep: KEPT_MAX,
        alone: true,
        now_us,
        ..Options::default()
    };
    let run = run::run(plan, options)?;
    match run.trace_hash() == expected {
        true => Ok(run),
        false => Err(Failed::NotRepeated { first: expected.to_owned(), then: run.trace_hash().to_owned() }),
    }
}

/// Writes the artifacts of a failed run below `out`, and removes those of any other run from its folder. Whatever was
/// not recorded during the run is made from the events kept.
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
        let told =
            told.as_ref().map(|(story, sheet)| (story, sheet)).or(run.highlights.as_ref().zip(run.page.as_ref()));
        let (story, sheet) = told.ok_or("nobody listened to the run")?;
        tell(&folder, run, story, &page_of(run, sheet), again)?;
        history.join().map_err(|_| "panicked")??;
        Ok::<Cause, Failed>(story.cause.clone())
    })?;
    let bytes = FILES.iter().filter_map(|name| folder.join(name).metadata().ok()).map(|file| file.len()).sum();
    Ok(Written { folder, cause, bytes, history_left_out: run.kept.is_none() })
}

/// The story and the page made from the events kept, if the run recorded none.
fn told_of_kept(run: &Run) -> Option<(Highlights, Sheet)> {
    let kept = run.kept.as_ref().filter(|_| run.page.is_none())?;
    let mut pages = Pages::new(Some(&run.header));
    kept.iter().for_each(|event| pages.record(event));
    Some(pages.into_both(&run.judgement))
}

/// Writes the history of the events kept. If the run was too long to keep them all it writes none, since a part would
/// be judged like a whole; `--history` writes it.
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

/// Repeats `plan`, whose names are resolved by `registry`, and writes its page and its report below `out`: for a run
/// that held, whose history nobody needs.
///
/// # Errors
/// The run could not be finished, or a file could not be written.
pub fn show(out: &Path, plan: &Plan, registry: &Registry, again: Again) -> Result<Written, Failed> {
    let options = Options { registry: registry.clone(), timeline: true, page: true, ..Options::default() };
    let mut run = run::run(plan, options)?;
    let page = run.page.take().map(|sheet| sheet.page()).unwrap_or_default();
    write_held(out, &run, &page, again)?;
    let cause = run.highlights.map(|story| story.cause).unwrap_or_default();
    Ok(Written { folder: folder(out, plan), cause, bytes: 0, history_left_out: false })
}

/// Writes the page and the report of a run that held, where its artifacts would be had it failed. Removes those of any
/// other run, and this run's own from when it failed. Returns the page's path.
///
/// # Errors
/// A file could not be written.
pub fn write_held(out: &Path, run: &Run, page: &str, again: Again) -> Result<PathBuf, Failed> {
    let folder = folder(out, &run.plan);
    if folder.join(CAPSULE).exists() {
        clear(&folder)?;
    }
    prepare(&folder, &run.plan)?;
    let story = run.highlights.as_ref().ok_or("nobody listened to the run")?;
    tell(&folder, run, story, page, again)?;
    Ok(folder.join(TIMELINE))
}

/// Writes the reports and the page.
fn tell(folder: &Path, run: &Run, story: &Highlights, page: &str, again: Again) -> Result<(), FileError> {
    let report = Report::new(Some(&run.header), &run.facts, &run.judgement).with_cause(&story.cause);
    save(&folder.join("report.json"), &report.to_text())?;
    save(&folder.join("report.txt"), &text_of(run, story, again, FILED))?;
    save(&folder.join(TIMELINE), page)
}

/// The page of a run, with its futures if they are known.
fn page_of(run: &Run, sheet: &Sheet) -> String {
    run.futures.as_ref().map_or_else(|| sheet.page(), |futures| sheet.page_with(futures))
}

/// Writes the page of a run that recorded it, and nothing else. Returns its path.
///
/// # Errors
/// The file could not be written, or the run recorded no page.
pub fn write_page(out: &Path, run: &Run) -> Result<PathBuf, Failed> {
    let folder = folder(out, &run.plan);
    prepare(&folder, &run.plan)?;
    let file = folder.join(TIMELINE);
    save(&file, &page_of(run, run.page.as_ref().ok_or("nobody listened to the run")?))?;
    Ok(file)
}

/// Writes a page that compares a run of `plan` with another run, beside the artifacts of the first.
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

/// Prepares the folder for a run of `plan`: removes the files of other runs.
fn prepare(folder: &Path, plan: &Plan) -> Result<(), FileError> {
    let (file, text) = (folder.join(PLAN), plan.to_json_pretty());
    if fs::read_to_string(&file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(FileError::of("make", folder))?;
    // Without a plan the folder is new, but may already hold a history that `--history` wrote during the run.
    if file.exists() || folder.join(CAPSULE).exists() {
        clear(folder)?;
    }
    save(&file, &text)
}

/// Removes a run's files; other files stay.
fn clear(folder: &Path) -> Result<(), FileError> {
    for file in FILES.map(|name| folder.join(name)) {
        match fs::remove_file(&file) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(FileError::of("remove", &file)(e)),
            _ => {}
        }
    }
    Ok(())
}

/// Creates a file for buffered writing.
///
/// # Errors
/// It cannot be created.
pub fn create(path: &Path) -> Result<Box<dyn Write + Send>, FileError> {
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(FileError::of("make", folder))?;
    }
    let file = File::create(path).map_err(FileError::of("write", path))?;
    Ok(Box::new(BufWriter::with_capacity(1 << 16, file)))
}

///
/// # Errors
/// It cannot be written.
pub fn save(path: &Path, text: &str) -> Result<(), FileError> {
    fs::write(path, text).map_err(FileError::of("write", path))
}
