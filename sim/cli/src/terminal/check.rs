//! `check`: judge a history from anywhere.

use super::{
    browser,
    exit::Stop,
    headings::OUTPUT,
    log::{self, HistoryArgs, Input, Notes},
    output::{Show, print},
    side::{self, Side},
    tokens::Tokens,
};
use clap::Args as ClapArgs;
use protocols::history::{
    Event, Header, Sink,
    json::{ReadError, Reader},
};
use reports::{
    Clock, Judgement, Judges, Names, Verdict,
    invariant::{self, Entry},
    json::{Report, RunFacts},
    stories::Stories,
    text,
    timeline::{
        Highlights,
        page::{FILE as TIMELINE, FILE_OF_TWO, Pages},
    },
};
use scenarios::Plan;
use sim::parameters::parameters;
use std::{
    io::BufRead,
    path::{Path, PathBuf},
};

/// A log whose first event is later than this, microseconds, counts from somewhere else than its own beginning: nobody has
/// run for 11 days before the first event.
const OWN_TIME_MAX_US: u64 = 1_000_000_000_000;

/// Where the page of a history goes.
#[derive(ClapArgs, Clone, Debug, Default)]
pub struct PageArgs {
    /// Write the history as one page, timeline.html, into this folder
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Another history, to be shown beside this one on one time axis: in beside.html
    #[arg(long, value_name = "HISTORY", help_heading = OUTPUT)]
    beside: Option<PathBuf>,
    /// Open that page in the browser; without --out it is written to target/fencepost/check
    #[arg(long, help_heading = OUTPUT)]
    open: bool,
}

impl PageArgs {
    fn folder(&self) -> Option<PathBuf> {
        self.out.clone().or_else(|| self.open.then(|| ["target", "fencepost", "check"].iter().collect()))
    }
}

/// Judges the logs in `files`, which may call things otherwise, as one history by these invariants.
pub fn run(
    files: &[PathBuf],
    log: &HistoryArgs,
    page: &PageArgs,
    invariants: &[&'static Entry],
    show: Show,
) -> Result<u8, Stop> {
    let folder = page.folder();
    let input = log.open(files).map_err(|why| not_a_plan(&files[0]).unwrap_or_else(|| Stop::usage(why)))?;
    let named = input.places.files();
    let overlap_us = log.belief_overlap;
    let mut judged = read_with(input, &files[0], invariants, folder.is_some() || page.beside.is_some(), overlap_us)?;
    if judged.header.is_some() && overlap_us.is_some() {
        return Err(Stop::usage(
            "--belief-overlap is for logs; this history has a header, which says what its protocol promises".to_owned(),
        ));
    }
    let code = judged.judgement.verdict.exit_code();
    if let Some(other) = &page.beside {
        let input = log.open(std::slice::from_ref(other)).map_err(Stop::usage)?;
        let mut second = read_with(input, other, invariants, true, overlap_us)?;
        beside(&mut judged, &mut second, &named, page, show)?;
        return Ok(code);
    }
    let written = folder.map(|folder| judged.write_page(&folder, show)).transpose()?.flatten();
    report(&judged, &named, None, show);
    tell_unchecked(&judged, show);
    if let Some(written) = written.filter(|_| page.open) {
        browser::open(&written, show);
    }
    Ok(code)
}

/// What was noticed in a log, and what it would have to say for all to be judged.
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
                "Not checked, for the log lacks what it takes: {}; --verbose says what that is.",
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

/// Reports one history, and another beside it; the page has both.
fn beside(first: &mut Judged, second: &mut Judged, named: &str, page: &PageArgs, show: Show) -> Result<(), Stop> {
    if !show.json {
        report(first, named, None, show);
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
    let written = browser::write(&folder, FILE_OF_TWO, &one.beside(other), show).map_err(Stop::usage)?;
    if page.open {
        browser::open(&written, show);
    }
    Ok(())
}

/// Judges the JSON lines in `file`, which a run of `plan` has left, if that is known, and reports it.
pub fn judge(file: &Path, plan: Option<&Plan>, show: Show) -> Result<u8, Stop> {
    Ok(report(&read(file)?, &file.display().to_string(), plan, show))
}

/// Reports what the judge made of what is called `history`; the exit code.
pub fn report(judged: &Judged, history: &str, plan: Option<&Plan>, show: Show) -> u8 {
    let Judged { header, judgement, highlights, begins_us, paged, .. } = judged;
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
        let next = if *paged { &[] } else { &next[..] };
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

/// What to do with a plan or a capsule, if it is one.
fn not_a_plan(file: &Path) -> Option<Stop> {
    let text = std::fs::read_to_string(file).ok()?;
    let is_plan = |value: &serde_json::Value| value.get("plan").is_some() || value.get("candidates").is_some();
    let value = serde_json::from_str(&text).ok().filter(is_plan)?;
    let what = if value.get("plan").is_some() { "a capsule" } else { "a plan" };
    let name = file.display();
    Some(Stop::usage(format!("{name} is {what}, not a history; run it with `fencepost replay {name}`")))
}

/// What the judge makes of a history.
pub struct Judged {
    /// What the history says of its run.
    pub header: Option<Header>,
    /// The verdict.
    pub judgement: Judgement,
    /// What a report shows of it.
    pub highlights: Highlights,
    /// Where its times were found to begin, and are counted from, microseconds: 0 unless it counts from elsewhere, such as
    /// from 1970.
    pub begins_us: u64,
    /// What was noticed in the log, and bears on the verdict: sentences.
    pub notes: Vec<String>,
    /// What could not be checked of what the log has, and what that needs.
    unordered: Option<(&'static str, &'static str)>,
    /// Was a page asked for?
    pub paged: bool,
    /// What makes a page of the history, if one was asked for.
    pub pages: Option<Pages>,
}

impl Judged {
    /// The invariants that could not be checked, and what the log would have to say for each.
    fn unchecked(&self) -> Vec<(&'static str, &'static str)> {
        let log = if self.header.is_none() { log::unchecked(&self.judgement) } else { Vec::new() };
        self.unordered.into_iter().chain(log).collect()
    }

    /// Writes the page into `folder`, once, if one was asked for; it shows the judgement as it stands now.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_page(&mut self, folder: &Path, show: Show) -> Result<Option<PathBuf>, Stop> {
        let html = self.pages.take().map(|pages| pages.into_page(&self.judgement));
        html.map(|html| browser::write(folder, TIMELINE, &html, show)).transpose().map_err(Stop::usage)
    }
}

/// What a log leaves open decides between its verdict and none: the order of its lines, whose its tokens are, and whether it is of
/// one leadership. `holds` judges lines.
fn settle(judgement: &mut Judgement, notes: &Notes, tokens: &Tokens, holds: impl Fn(&mut dyn BufRead) -> bool) {
    if judgement.verdict == Verdict::Pass
        && let Some(why) = notes.unsure().or_else(|| tokens.show_nothing())
    {
        judgement.shows_nothing(why);
    }
    if judgement.violated().eq(["seq_strictly_increasing"])
        && let Some(why) = tokens.numbers_begin_anew()
    {
        judgement.depends(why);
    }
    let held = match judgement.verdict {
        Verdict::Pass => true,
        Verdict::Safety => false,
        _ => return,
    };
    if let Some(why) = notes.order_decides(|lines| holds(lines) == held) {
        judgement.depends(why);
    } else if !held && let Some(why) = notes.apart(|mut part| holds(&mut part)) {
        judgement.depends(why);
    }
}

/// Does a log or a part of one, as JSON lines, hold when it is judged alone?
fn holds_alone(part: impl BufRead, invariants: &[&'static Entry], overlap_us: u64) -> bool {
    let Ok(mut reader) = Reader::new(part) else { return false };
    let mut judges = Judges::allowing(invariants, None, overlap_us);
    for event in reader.by_ref() {
        let Ok(event) = event else { return false };
        judges.record(&event);
    }
    judges.finish_with(&Names::of(reader.names(), None)).verdict != Verdict::Safety
}

/// Reads and judges the JSON lines in `file`.
///
/// # Errors
/// It cannot be read, is no history, or holds no events.
pub fn read(file: &Path) -> Result<Judged, Stop> {
    read_with(as_it_is(file)?, file, &invariant::ALL, false, None)
}

/// The same, and makes ready for [`Judged::write_page`].
///
/// # Errors
/// As [`read`].
pub fn read_for_page(file: &Path) -> Result<Judged, Stop> {
    read_with(as_it_is(file)?, file, &invariant::ALL, true, None)
}

fn as_it_is(file: &Path) -> Result<Input, Stop> {
    HistoryArgs::default().open(&[file.to_owned()]).map_err(Stop::usage)
}

fn read_with(
    input: Input,
    file: &Path,
    invariants: &[&'static Entry],
    page: bool,
    overlap_us: Option<u64>,
) -> Result<Judged, Stop> {
    let Input { lines, fields, places, notes } = input;
    let wrong = |e: ReadError| Stop::usage(places.wrong(e.line, &e.what));
    let mut reader = Reader::with_fields(lines, fields).map_err(|e| not_a_plan(file).unwrap_or_else(|| wrong(e)))?;
    let header = reader.header().cloned();
    let mut judges = Judges::allowing(invariants, header.as_ref(), overlap_us.unwrap_or(0));
    let (mut stories, mut tokens) = (Stories::new(header.as_ref()), Tokens::default());
    let mut pages = page.then(|| Pages::new(header.as_ref()));
    let (mut begins_us, mut whole) = (None, true);
    while let Some(event) = reader.next() {
        let mut event: Event = event.map_err(wrong)?;
        let t_us = event.t_us;
        whole &= t_us % 1_000_000 == 0;
        event.t_us -= *begins_us.get_or_insert(if t_us > OWN_TIME_MAX_US { t_us } else { 0 });
        // Without a header, names come with the events.
        stories.learn(reader.names(), reader.resources());
        judges.record(&event);
        tokens.see(&event);
        stories.record(&event);
        if let Some(pages) = &mut pages {
            pages.learn(reader.names(), reader.resources());
            pages.record(&event);
        }
    }
    let mut names = Names::of(reader.names(), reader.header());
    names.learn(reader.names(), reader.resources());
    notes.call_requests(&mut names);
    let begins_us = begins_us.unwrap_or(0);
    if header.is_none() {
        let clock = Clock::of_log(begins_us, judges.end_us(), notes.offset_s(), whole);
        names.tell_times(clock);
        stories.tell_times(clock);
        pages.iter_mut().for_each(|pages| pages.tell_times(clock));
    }
    if let (Some(pages), 1.., true) = (&mut pages, begins_us, names.clock().is_elapsed()) {
        pages.counts_from(begins_us);
    }
    notes.check().map_err(Stop::usage)?;
    let mut judgement = judges.finish_with(&names);
    if judgement.history_events == 0 {
        return Err(Stop::usage(format!("{} holds no events", places.files())));
    }
    if header.is_none() {
        settle(&mut judgement, &notes, &tokens, |part| holds_alone(part, invariants, overlap_us.unwrap_or(0)));
    }
    let highlights = stories.into_telling(&judgement);
    let (unordered, mut notes) = (notes.unchecked(), notes.sentences());
    if header.is_none() {
        judgement.history_events -= reader.inferred();
        notes.extend(tokens.sentences());
    }
    Ok(Judged { header, judgement, highlights, begins_us, notes, unordered, paged: page, pages })
}
