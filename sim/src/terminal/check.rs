//! `check`: judge a history from anywhere.

use super::{
    exit::Stop,
    output::{Show, print},
};
use protocols::history::{Sink, json::Reader};
use reports::{
    Judge, Names,
    json::{Report, RunFacts},
    text,
    timeline::Highlights,
};
use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

/// Judges the JSON lines in `file`.
pub fn run(file: &Path, show: Show) -> Result<u8, Stop> {
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
    let facts = RunFacts::default();
    if show.json {
        print(&Report::new(header.as_ref(), &facts, &judgement).to_text());
    } else if show.quiet {
        print(judgement.verdict.name());
    } else {
        let source = ("history".to_owned(), file.display().to_string());
        let events = ("events".to_owned(), judgement.history_events.to_string());
        print(&text::render(&text::Run {
            header: header.as_ref(),
            parameters: &[source, events],
            highlights: &highlights,
            judgement: &judgement,
            facts: &facts,
            replay: None,
            colour: show.colour(),
        }));
    }
    Ok(judgement.verdict.exit_code())
}
