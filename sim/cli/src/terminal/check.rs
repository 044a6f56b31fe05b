//! `check`: judge a history from anywhere.

use super::{
    browser,
    exit::Stop,
    headings::OUTPUT,
    log::{self, HistoryArgs, Input},
    output::{Show, print},
    side::{self, Side},
};
use clap::Args as ClapArgs;
use protocols::{
    history::{
        Event, Header, Kind, Sink,
        json::{ReadError, Reader},
    },
    message::WriteVerdict,
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
    collections::{BTreeMap, BTreeSet},
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
    if !unchecked.is_empty() {
        let wide = unchecked.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let lines = unchecked.iter().map(|(name, needs)| format!("  {name:wide$}  needs {needs}"));
        print(&format!("\nNot checked, since the log does not say\n{}", lines.collect::<Vec<_>>().join("\n")));
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
            next,
            // What a log lets one check is what its report is about.
            all: show.verbose || header.is_none(),
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
    for seen in &mut judgement.invariants {
        seen.detail = notes.requests(&seen.detail);
    }
    if judgement.history_events == 0 {
        return Err(Stop::usage(format!("{} holds no events", places.files())));
    }
    if let Some(why) = notes.unsure().filter(|_| judgement.verdict == Verdict::Pass) {
        judgement.shows_nothing(why);
    }
    let highlights = stories.into_telling(&judgement);
    let (unordered, mut notes) = (notes.unchecked(), notes.sentences());
    if header.is_none() {
        judgement.history_events -= reader.inferred();
        notes.extend(tokens.sentences());
    }
    Ok(Judged { header, judgement, highlights, begins_us, notes, unordered, paged: page, pages })
}

/// A resource's accepted tokens, as far as they tell whether they are of one leadership.
#[derive(Default)]
struct Beside {
    highest: u64,
    /// Tokens that came first when a higher one had been accepted, each above those before it, and who had them.
    below: Vec<u64>,
    nodes: BTreeSet<u16>,
    /// Who went on with others meanwhile, and how often.
    others: BTreeSet<u16>,
    turns: u64,
    seen: BTreeSet<u64>,
}

impl Beside {
    fn see(&mut self, node: u16, token: u64) {
        let fresh = self.seen.len() < 10_000 && self.seen.insert(token);
        if token >= self.highest {
            self.highest = token;
            if !self.below.is_empty() {
                self.turns += 1;
                self.others.insert(node);
            }
        } else if fresh && self.below.last().is_none_or(|last| token > *last) {
            self.below.push(token);
            self.nodes.insert(node);
        }
    }

    /// Do two rows of tokens rise side by side, each with holders of its own?
    fn are_two(&self) -> bool {
        self.below.len() > 1 && self.turns > 1 && self.nodes.is_disjoint(&self.others)
    }
}

/// Which accepted writes have a token: those without one among others are not judged as these are.
#[derive(Default)]
struct Tokens {
    without: u64,
    zero: BTreeSet<u16>,
    above: u64,
    beside: BTreeMap<(u16, u16), Beside>,
}

impl Tokens {
    fn see(&mut self, event: &Event) {
        let Kind::Apply { node, write, verdict, .. } = &event.kind else { return };
        if let (WriteVerdict::Ok, Some(token)) = (verdict, write.incarnation(*node).fencing_token()) {
            self.beside.entry((event.group, write.resource.0)).or_default().see(node.0, token);
        }
        match write.incarnation(*node).fencing_token() {
            None => self.without += 1,
            Some(0) => {
                self.zero.insert(node.0);
            }
            Some(_) => self.above += 1,
        }
    }

    fn sentences(&self) -> Vec<String> {
        let (some, mut all) = (self.above > 0 || !self.zero.is_empty(), Vec::new());
        if some && self.without > 0 {
            let lines =
                if self.without == 1 { "1 write has".to_owned() } else { format!("{} writes have", self.without) };
            all.push(format!(
                "{lines} no token, although others have one: whether a write without one was stale cannot be told."
            ));
        }
        if self.beside.values().any(Beside::are_two) {
            all.push(
                "On one resource, new leaders with lower tokens and others with higher ones go on side by side. If they are of several \
                 leaderships, such as shards or tenants, tokens must not be compared across these: --map resource=FIELD says \
                 which line is of which."
                    .to_owned(),
            );
        }
        if self.above == 0 && self.zero.len() > 1 {
            all.push(
                "Every token is 0, and was read as one; if 0 stands for none, --word token:0= says so.".to_owned(),
            );
        }
        all
    }
}
