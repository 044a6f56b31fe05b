//! Runs and reports one plan, for `scenario` and `replay`.

use super::{
    ends::{self, INTERRUPTED},
    exit::Stop,
    output::{Show, print},
    plan_file::whole_path,
    progress,
};
use crate::terminal::output;
use protocols::fence::checks::Fencing;
use reports::{Verdict, json::Report, timeline::page::FILE as TIMELINE};
use scenarios::plan::{Plan, SWARM};
use sim::{
    artifacts::{self, Again, Look},
    recorder::KEPT_FIRST,
    registry::Registry,
    repro,
    run::{self, Options, Run},
};
use std::path::{Path, PathBuf};

/// How to run and report one plan.
pub struct OneRun {
    pub show: Show,
    /// Write the trace to this file.
    pub trace: Option<PathBuf>,
    /// Write the history to this file, whatever the verdict.
    pub history: Option<PathBuf>,
    /// Write artifacts below this folder if the run fails; `None`: never.
    pub artifacts: Option<PathBuf>,
    /// Write the page of a run that holds, too: an option asks for it.
    pub page: bool,
    /// Open the page.
    pub open: bool,
    /// Another run is shown beside it: open that page instead.
    pub aside: bool,
    /// The command that repeats the run.
    pub repro: String,
    /// True if that command is `scenario`, so that options can be added to it.
    pub again: bool,
    /// What to run instead if the situation under test cannot arise at any seed, and why; in the order to offer it.
    pub instead: Vec<Instead>,
}

/// A command that shows what this run cannot.
pub struct Instead {
    /// The verdict of runs that it applies to.
    pub of: Verdict,
    /// True if it applies only if no fault struck.
    pub if_unstruck: bool,
    /// Why this run cannot, and which option to change: a sentence without its full stop. For a violation, what to
    /// change.
    pub why: String,
    pub command: String,
}

/// The default folder for artifacts.
pub fn default_out() -> PathBuf {
    Path::new("target").join("fencepost")
}

impl OneRun {
    /// Runs and reports a plan with names of the registry.
    ///
    /// # Errors
    /// The run could not be finished, or its artifacts could not be written.
    pub fn run(&self, plan: &Plan, registry: &Registry) -> Result<Run, Stop> {
        let run = self.only_run(plan, registry)?;
        self.report(&run);
        self.leave_artifacts(plan, registry, &run)?;
        Ok(run)
    }

    /// Runs a plan with names of the registry, and writes the files that are written during the run.
    ///
    /// # Errors
    /// As [`OneRun::run`].
    pub fn only_run(&self, plan: &Plan, registry: &Registry) -> Result<Run, Stop> {
        if let Some(out) = &self.artifacts {
            is_folder(out)?;
        }
        let trace = self.trace.as_deref().map(artifacts::create).transpose()?;
        let history = self.history.as_deref().map(artifacts::create).transpose()?;
        let timeline = !self.show.quiet || self.show.json || self.aside || self.page;
        let (page, keep) = (self.page, if self.artifacts.is_some() { KEPT_FIRST } else { 0 });
        let run = |now_us| {
            let registry = registry.clone();
            let stops = true;
            run::run(
                plan,
                Options {
                    registry,
                    timeline,
                    page,
                    keep,
                    trace,
                    history,
                    now_us,
                    stops,
                    alone: true,
                    ..Options::default()
                },
            )
        };
        ends::listen()?;
        progress::follow(self.show, plan.duration_ms, run).map_err(Stop::from)
    }

    /// Repeats a run whose history was too long to keep, for its artifacts.
    fn repeat(&self, plan: &Plan, registry: &Registry, run: &Run) -> Result<Run, Stop> {
        self.show.banner("this was a long run: it is repeated to write its timeline");
        let again = |now_us| artifacts::repeat(plan, registry, run.trace_hash(), now_us);
        progress::follow(self.show, plan.duration_ms, again).map_err(Stop::from)
    }

    fn leave_artifacts(&self, plan: &Plan, registry: &Registry, run: &Run) -> Result<(), Stop> {
        let Some(out) = self.artifacts.as_ref().filter(|_| !run.cut_short) else { return Ok(()) };
        let again = Again { repro: &self.repro, meaning: self.meaning(run), next: &self.next(run) };
        let page = match (run.judgement.verdict, &run.page) {
            (Verdict::Safety | Verdict::Liveness, _) => {
                let repeated = match run.kept {
                    Some(_) => None,
                    None => Some(self.repeat(plan, registry, run)?),
                };
                let written = artifacts::leave(out, repeated.as_ref().unwrap_or(run), again)?;
                let folder = &written.folder;
                self.show.banner(&format!("artifacts: {} ({})", folder.display(), size(written.bytes)));
                if written.history_left_out {
                    let capsule = whole_path(&folder.join("capsule.json"));
                    let words = ["replay", &capsule, "--no-artifacts", "--history", "history.jsonl"].map(str::to_owned);
                    self.show
                        .banner(&format!("the history is too long to keep by default: {}", repro::command(&words)));
                }
                folder.join(TIMELINE)
            }
            (_, Some(page)) => {
                let file = artifacts::write_held(out, run, &page.page(), again)?;
                self.show.banner(&format!("timeline: {}", file.display()));
                file
            }
            (_, None) => return Ok(()),
        };
        if self.open && !self.aside {
            output::open(&page, self.show);
        }
        Ok(())
    }

    /// Commands that show more of a run that failed.
    fn next(&self, run: &Run) -> Vec<(&str, String)> {
        if run.judgement.verdict == Verdict::Pass || run.cut_short {
            return Vec::new();
        }
        let mut next: Vec<(&str, String)> = Vec::new();
        if !self.open {
            next.push(("to see it", repro::with(&self.repro, &["--open"])));
        }
        if self.again && !self.aside && run.plan.fencing == Fencing::Off && run.header.tokened {
            next.push(("beside it, with fencing", repro::with(&self.repro, &["--beside", "fencing=on", "--open"])));
        }
        next.extend(self.reduced(run));
        if self.again && !self.aside {
            let vacuous = run.judgement.verdict == Verdict::Vacuous;
            match self.instead_of(run) {
                // The reason is printed above.
                Some(instead) if vacuous => next.push(("with that changed", instead.command.clone())),
                Some(instead) => next.push((&instead.why, instead.command.clone())),
                None if vacuous => {
                    next.push(("other seeds", repro::other_seeds(&self.repro, run.plan.seed)));
                }
                None => {}
            }
        }
        next
    }

    /// What to run instead of a run with this verdict.
    fn instead_of(&self, run: &Run) -> Option<&Instead> {
        let (verdict, struck) = (run.judgement.verdict, run.faults > 0 || run.plan.faults.is_empty());
        self.instead.iter().find(|instead| instead.of == verdict && (!instead.if_unstruck || !struck))
    }

    /// Why a run tested too little, and which option to change, if known.
    fn meaning(&self, run: &Run) -> Option<&str> {
        let vacuous = run.judgement.verdict == Verdict::Vacuous && !run.cut_short;
        self.instead_of(run).filter(|_| vacuous).map(|instead| instead.why.as_str())
    }

    /// Commands that reduce a plan of several faults, starting from the run's artifacts.
    fn reduced(&self, run: &Run) -> Vec<(&'static str, String)> {
        let failed = matches!(run.judgement.verdict, Verdict::Safety | Verdict::Liveness);
        let many = run.plan.faults.len() > 1 || run.plan.scenario == SWARM;
        let Some(out) = self.artifacts.as_ref().filter(|_| failed && many) else { return Vec::new() };
        let capsule = whole_path(&artifacts::folder(out, &run.plan).join("capsule.json"));
        let command = |name: &str| repro::command(&[name.to_owned(), capsule.clone()]);
        vec![("which faults it takes", command("explain")), ("the smallest such plan", command("shrink"))]
    }

    fn report(&self, run: &Run) {
        if self.show.json {
            let report = Report::new(Some(&run.header), &run.facts, &run.judgement);
            let cause = run.highlights.as_ref().map(|story| story.cause.clone()).unwrap_or_default();
            return print(&report.with_cause(&cause).to_text());
        }
        if self.show.quiet {
            let meaning = self.meaning(run).map(|meaning| format!("; {meaning}")).unwrap_or_default();
            return print(&(verdict_line(run) + &meaning));
        }
        let again = Again { repro: &self.repro, meaning: self.meaning(run), next: &self.next(run) };
        let look = Look { all: self.show.verbose, colour: self.show.colour(), width: self.show.width() };
        if let Some(text) = artifacts::report_text(run, again, look) {
            print(&text);
        }
    }
}

/// The exit code of a reported run.
pub fn exit_code(run: &Run) -> u8 {
    if run.cut_short { INTERRUPTED } else { run.judgement.verdict.exit_code() }
}

/// A number of bytes with its unit.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Rejects an `--out` that is a file.
pub fn is_folder(out: &Path) -> Result<(), Stop> {
    match out.is_file() {
        true => Err(Stop::usage(format!("{} is a file, and --out is a folder to write to", out.display()))),
        false => Ok(()),
    }
}

/// The verdict in one line.
fn verdict_line(run: &Run) -> String {
    let Plan { scenario, protocol, seed, .. } = &*run.plan;
    let failed: Vec<&str> = run.judgement.violated().collect();
    let failed = failed.join(", ");
    let vacuity = || run.judgement.invariant("vacuity").map_or("", |vacuity| &*vacuity.detail);
    let came = match run.judgement.verdict {
        Verdict::Pass => format!("pass{}", reports::text::unserved(&run.judgement)),
        Verdict::Safety => format!("safety violated: {failed}"),
        Verdict::Liveness => format!("liveness violated: {failed}"),
        Verdict::Vacuous if run.judgement.is_cut_short => vacuity().to_owned(),
        Verdict::Vacuous => format!("inconclusive: {}", vacuity()),
    };
    format!("{scenario} {protocol} seed {seed}: {came}")
}
