//! `check`: judge a history from anywhere.

use super::{
    exit::Stop,
    output::{Show, print},
    parameters::parameters,
};
use protocols::history::{Header, Sink, json::Reader};
use reports::{
    Judge, Judgement, Names,
    json::{Report, RunFacts},
    text,
    timeline::Highlights,
};
use scenarios::Plan;
use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

/// Judges the JSON lines in `file`.
pub fn run(file: &Path, show: Show) -> Result<u8, Stop> {
    judge(file, None, show)
}

/// Judges the JSON lines in `file`, which a run of `plan` has left, if that is known, and reports it.
pub fn judge(file: &Path, plan: Option<&Plan>, show: Show) -> Result<u8, Stop> {
    let Judged { header, judgement, highlights } = read(file)?;
    let facts = RunFacts::default();
    if show.json {
        print(&Report::new(header.as_ref(), &facts, &judgement).to_text());
    } else if show.quiet {
        print(judgement.verdict.name());
    } else {
        let mut rows = plan.map(|plan| parameters(plan, "")).unwrap_or_default();
        rows.push(("history".to_owned(), file.display().to_string()));
        rows.push(("events".to_owned(), judgement.history_events.to_string()));
        let report = text::Run {
            header: header.as_ref(),
            parameters: &rows,
            highlights: &highlights,
            judgement: &judgement,
            facts: &facts,
            replay: None,
            colour: show.colour(),
        };
        print(&text::render_in(&report, show.width()));
    }
    Ok(judgement.verdict.exit_code())
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
}

/// Reads and judges the JSON lines in `file`.
///
/// # Errors
/// It cannot be read, is no history, or holds no events.
pub fn read(file: &Path) -> Result<Judged, Stop> {
    let input: Box<dyn BufRead> = if file == Path::new("-") {
        Box::new(BufReader::new(io::stdin()))
    } else {
        let opened = File::open(file).map_err(|e| Stop::usage(format!("cannot read {}: {e}", file.display())))?;
        Box::new(BufReader::new(opened))
    };
    let wrong = |e| Stop::usage(format!("{}: {e}", file.display()));
    let mut reader = Reader::new(input).map_err(|e| not_a_plan(file).unwrap_or_else(|| wrong(e)))?;
    let header = reader.header().cloned();
    let mut judge = Judge::new(header.as_ref());
    let mut highlights = Highlights::new(header.as_ref(), &Names::new(reader.names()));
    for event in reader.by_ref() {
        let event = event.map_err(wrong)?;
        judge.record(&event);
        highlights.record(&event);
    }
    let judgement = judge.finish_with(&Names::new(reader.names()));
    if judgement.history_events == 0 {
        return Err(Stop::usage(format!("{} holds no events", file.display())));
    }
    Ok(Judged { header, judgement, highlights })
}
