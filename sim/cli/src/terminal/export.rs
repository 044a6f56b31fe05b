//! `export`: converts a history for other programs: Perfetto, ShiViz, or a table.

mod cast;
mod event;
mod perfetto;
mod shiviz;
mod table;

use super::exit::Stop;
use cast::Cast;
use clap::ValueEnum;
use event::{Exporter, Line};
use logs::{Input, LogError, Options};
use protocols::history::json::Reader;
use reports::Names;
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// Target formats of a history.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum Format {
    /// A trace for ui.perfetto.dev, as TrackEvent protobufs: beliefs, grants, faults, and each write as an arrow
    Perfetto,
    /// A log with vector clocks for ShiViz; the first line has its regular expression
    Shiviz,
    /// A table with one event per line, which `check` judges like the history
    Csv,
}

/// Writes the history in `files` to `out`, or to standard output.
///
/// # Errors
/// It cannot be read, or the result cannot be written: one sentence.
pub fn run(files: &[PathBuf], log: &Options, format: Format, out: Option<&Path>) -> Result<u8, Stop> {
    let input = log.open(files).map_err(|why| Stop::usage(why.to_string()))?;
    match out {
        Some(path) => {
            let cannot = |e: io::Error| Stop::usage(format!("cannot write {}: {e}", path.display()));
            let mut file = BufWriter::new(File::create(path).map_err(cannot)?);
            written(input, format, &mut file, &cannot)?;
            file.flush().map_err(cannot)?;
        }
        None => {
            let cannot = |e: io::Error| Stop::harness(format!("standard output: {e}"));
            let mut text = BufWriter::new(io::stdout().lock());
            let ended = written(input, format, &mut text, &cannot).and_then(|()| text.flush().map_err(cannot));
            // A reader may stop before the end.
            if let Err(stop) = ended
                && !stop.why.contains("Broken pipe")
            {
                return Err(stop);
            }
        }
    }
    Ok(0)
}

fn written(input: Input, format: Format, out: &mut dyn Write, cannot: &dyn Fn(io::Error) -> Stop) -> Result<(), Stop> {
    let Input { lines, files, notes } = input;
    let wrong = |why: LogError| Stop::usage(why.to_string());
    let mut reader = Reader::of(lines).map_err(wrong)?;
    let mut names = Names::of(reader.names(), reader.header());
    let header = reader.header();
    let cast = Cast::of(header, &names);
    let mut exporter: Box<dyn Exporter> = match format {
        Format::Perfetto => Box::new(perfetto::Perfetto::new(out, cast)),
        Format::Shiviz => Box::new(shiviz::ShiViz::new(out, cast).map_err(cannot)?),
        Format::Csv => Box::new(table::Table::new(out, header).map_err(cannot)?),
    };
    let mut any = false;
    while let Some(event) = reader.next() {
        let event = event.map_err(wrong)?;
        names.learn(reader.names(), reader.resources());
        exporter.event(&Line::of(&event, &names)).map_err(cannot)?;
        any = true;
    }
    if !any {
        return Err(Stop::usage(format!("{files} holds no events")));
    }
    notes.check().map_err(wrong)?;
    exporter.finish().map_err(cannot)
}
