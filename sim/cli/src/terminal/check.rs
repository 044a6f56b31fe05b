//! `check`: judge a history from anywhere.

use super::{
    OUTPUT,
    exit::Stop,
    follow::{self, FollowArgs},
    output::{self, Show, print},
    side::{self, Side},
};
use clap::Args as ClapArgs;
use logs::{Asked, Judged, Options};
use reports::{
    invariant::Entry,
    json::{Report, RunFacts},
    text,
    timeline::page::{FILE as TIMELINE, FILE_OF_TWO},
};
use scenarios::Plan;
use sim::parameters::parameters;
use std::path::{Path, PathBuf};

/// Options of a history's page.
#[derive(ClapArgs, Clone, Debug, Default)]
pub struct PageArgs {
    /// Write the history as one page, timeline.html, to this folder
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Another history to show beside this one on one time axis, in beside.html
    #[arg(long, value_name = "HISTORY", help_heading = OUTPUT)]
    beside: Option<PathBuf>,
    /// Open that page in the browser; without --out it is written to target/fencepost/check
    #[arg(long, help_heading = OUTPUT)]
    open: bool,
    #[command(flatten)]
    follow: FollowArgs,
}

impl PageArgs {
    fn folder(&self) -> Option<PathBuf> {
        self.out.clone().or_else(|| self.open.then(|| ["target", "fencepost", "check"].iter().collect()))
    }
}

/// Judges the logs in `files`, which may use other names, as one history by these invariants.
pub fn run(
    files: &[PathBuf],
    log: &Options,
    page: &PageArgs,
    invariants: &[&'static Entry],
    show: Show,
) -> Result<u8, Stop> {
    let folder = page.folder();
    let named = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
    let asked = Asked { invariants: invariants.to_vec(), page: folder.is_some() || page.beside.is_some() };
    let mut judged = match page.follow.follow {
        true => follow::follow(files, &page.follow, show, |copies| all_judged(log, copies, &asked))?,
        false => all_judged(log, files, &asked)?,
    };
    let code = judged.judgement.verdict.exit_code();
    if let Some(other) = &page.beside {
        let mut second = all_judged(log, std::slice::from_ref(other), &asked)?;
        beside(&mut judged, &mut second, &named, page, show)?;
        return Ok(code);
    }
    let written = folder.map(|folder| write_page(&mut judged, &folder, show)).transpose()?.flatten();
    report(&judged, &named, None, asked.page, show);
    tell_unchecked(&judged, show);
    if let Some(written) = written.filter(|_| page.open) {
        output::open(&written, show);
    }
    Ok(code)
}

/// Prints what was noticed in a log, and what it would need for everything to be judged.
fn tell_unchecked(judged: &Judged, show: Show) {
    let unchecked = judged.unchecked();
    if show.json || show.quiet {
        return;
    }
    if !judged.notes.is_empty() {
        let notes: String = judged.notes.iter().map(|note| text::paragraph(note, show.width())).collect();
        print(&format!("\nAbout this log\n{}", notes.trim_end()));
    }
    if !show.verbose {
        let names: Vec<&str> = unchecked.iter().map(|(name, _)| *name).collect();
        if !names.is_empty() {
            let text = format!(
                "Not checked, since the log lacks the fields they need: {}; --verbose lists what each needs.",
                names.join(", ")
            );
            print(&format!("\n{}", text::paragraph(&text, show.width()).trim()));
        }
    } else if !unchecked.is_empty() {
        let wide = unchecked.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let lines = unchecked.iter().map(|(name, needs)| format!("  {name:wide$}  needs {needs}"));
        print(&format!("\nNot checked: the log lacks these fields\n{}", lines.collect::<Vec<_>>().join("\n")));
    }
}

/// Reports one history and another beside it; the page shows both.
fn beside(first: &mut Judged, second: &mut Judged, named: &str, page: &PageArgs, show: Show) -> Result<(), Stop> {
    if !show.json {
        report(first, named, None, true, show);
        tell_unchecked(first, show);
    }
    let sheets = [&mut *first, &mut *second].map(|judged| judged.pages.take().map(|p| p.into_sheet(&judged.judgement)));
    let [Some(one), Some(other)] = &sheets else { return Err(Stop::harness("nobody listened to the histories")) };
    let facts = RunFacts::default();
    let [a, b] = [&*first, &*second];
    let reports = [a, b].map(|j| Report::new(j.header.as_ref(), &facts, &j.judgement).with_cause(&j.highlights.cause));
    let sides = [(a, one), (b, other)].map(|(judged, sheet)| Side {
        header: judged.header.as_ref(),
        judgement: &judged.judgement,
        cause: &judged.highlights.cause,
        sheet,
    });
    side::report(&sides, show, reports);
    let Some(folder) = page.folder() else { return Ok(()) };
    let written = output::write(&folder, FILE_OF_TWO, &one.beside(other), show)?;
    if page.open {
        output::open(&written, show);
    }
    Ok(())
}

/// Reports the judgement of the history called `history`, and returns the exit code.
pub fn report(judged: &Judged, history: &str, plan: Option<&Plan>, has_page: bool, show: Show) -> u8 {
    let Judged { header, judgement, highlights, begins_us, .. } = judged;
    let facts = RunFacts::default();
    if show.json {
        let report = Report::new(header.as_ref(), &facts, judgement).with_cause(&highlights.cause);
        print(&report.with_log(&judged.notes, &judged.unchecked()).to_text());
    } else if show.quiet {
        print(judgement.verdict.name());
    } else {
        let mut rows = plan.map(|plan| parameters(plan, plan.election(), "")).unwrap_or_default();
        rows.push(("history".to_owned(), history.to_owned()));
        rows.push(("events".to_owned(), judgement.history_events.to_string()));
        match highlights.cause.clock().days() {
            Some(days) => rows.push(("times".to_owned(), days)),
            None if *begins_us > 0 => rows.push(("times".to_owned(), format!("count from t_us {begins_us}"))),
            None => {}
        }
        let next = [("to see it", "the same command with --open, or --out DIR for the page".to_owned())];
        let next = if has_page { &[] } else { &next[..] };
        let report = text::Run {
            header: header.as_ref(),
            parameters: &rows,
            highlights,
            judgement,
            facts: &facts,
            replay: None,
            meaning: header.is_none().then_some("INCONCLUSIVE below says what the log leaves open"),
            next,
            all: show.verbose,
            colour: show.colour(),
        };
        print(&text::render_in(&report, show.width()));
    }
    judgement.verdict.exit_code()
}

/// The error for a plan or a capsule in place of a history, if it is one.
fn not_a_plan(file: &Path) -> Option<Stop> {
    let text = std::fs::read_to_string(file).ok()?;
    let is_plan = |value: &serde_json::Value| value.get("plan").is_some() || value.get("candidates").is_some();
    let value = serde_json::from_str(&text).ok().filter(is_plan)?;
    let what = if value.get("plan").is_some() { "a capsule" } else { "a plan" };
    let name = file.display();
    Some(Stop::usage(format!("{name} is {what}, not a history; run it with `fencepost replay {name}`")))
}

/// Writes the page of a history to `folder`, once, if one was asked for; it shows the judgement as it stands now.
///
/// # Errors
/// The file cannot be written.
pub fn write_page(judged: &mut Judged, folder: &Path, show: Show) -> Result<Option<PathBuf>, Stop> {
    let html = judged.pages.take().map(|pages| pages.into_page(&judged.judgement));
    html.map(|html| output::write(folder, TIMELINE, &html, show)).transpose()
}

/// Reads and judges the JSON lines in `file`.
///
/// # Errors
/// The file cannot be read, is no history, or has no events.
pub fn read(file: &Path) -> Result<Judged, Stop> {
    judged(&Options::default(), file, &Asked::default())
}

/// Like [`read`], and prepares [`write_page`].
///
/// # Errors
/// As [`read`].
pub fn read_for_page(file: &Path) -> Result<Judged, Stop> {
    judged(&Options::default(), file, &Asked { page: true, ..Asked::default() })
}

/// Judges one file.
fn judged(log: &Options, file: &Path, asked: &Asked) -> Result<Judged, Stop> {
    all_judged(log, std::slice::from_ref(&file.to_owned()), asked)
}

fn all_judged(log: &Options, files: &[PathBuf], asked: &Asked) -> Result<Judged, Stop> {
    log.judge_by(files, asked).map_err(|why| not_a_plan(&files[0]).unwrap_or_else(|| Stop::usage(why.to_string())))
}
