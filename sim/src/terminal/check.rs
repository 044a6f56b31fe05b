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
    Ok(report(read(file)?, file, plan, show))
}

/// Reports what the judge made of `file`; the exit code.
pub fn report(judged: Judged, file: &Path, plan: Option<&Plan>, show: Show) -> u8 {
    let Judged { header, judgement, highlights } = judged;
    let facts = RunFacts::default();
    if show.json {
        print(&Report::new(header.as_ref(), &facts, &judgement).to_text());
    } else if show.quiet {
        print(judgement.verdict.name());
    } else {
        let mut rows = plan.map(|plan| parameters(plan, "")).unwrap_or_default();
        rows.push(("history".to_owned(), file.display().to_string()));
        rows.push(("events".to_owned(), judgement.history_events.to_string()));
        print(&text::render(&text::Run {
            header: header.as_ref(),
            parameters: &rows,
            highlights: &highlights,
            judgement: &judgement,
            facts: &facts,
            replay: None,
            colour: show.colour(),
        }));
    }
    judgement.verdict.exit_code()
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
    let mut reader = Reader::new(input).map_err(wrong)?;
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
