//! Merges the parts of a run's history that its processes wrote.

use crate::error::Failed;
use protocols::history::{Header, json::Writer};
use serde::Deserialize;
use std::{
    fs,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

#[derive(Deserialize)]
struct Stamp {
    t_us: u64,
}

/// Merges `parts` (JSON lines stamped with the machine's clock) into `to`, in order of time counted from `start_us`,
/// and drops events after `end_us`. Events with equal times keep the order of `parts`.
///
/// # Errors
/// A file cannot be read or written, or a line is no event.
pub fn merge(header: &Header, parts: &[PathBuf], start_us: u64, end_us: u64, to: &Path) -> Result<(), Failed> {
    let mut lines = Vec::new();
    for part in parts {
        // A process that recorded nothing has no file.
        let Ok(text) = fs::read_to_string(part) else { continue };
        for (number, line) in text.lines().enumerate() {
            let stamp: Result<Stamp, _> = serde_json::from_str(line);
            match stamp {
                Ok(Stamp { t_us }) if (start_us..=end_us).contains(&t_us) => {
                    lines.push((t_us - start_us, retimed(line, t_us, t_us - start_us)));
                }
                Ok(_) => {}
                // The process was killed while it wrote the line.
                Err(_) if number + 1 == text.lines().count() => {}
                Err(error) => return Err(Failed::Harness(format!("{} line {}: {error}", part.display(), number + 1))),
            }
        }
    }
    lines.sort_by_key(|(t_us, _)| *t_us);
    let wrong = Failed::unwritten::<std::io::Error>(to);
    let file = fs::File::create(to).map_err(&wrong)?;
    // The writer writes the header line.
    let mut out = Writer::new(BufWriter::new(file), header).finish().map_err(&wrong)?;
    for (_, line) in lines {
        writeln!(out, "{line}").map_err(&wrong)?;
    }
    out.flush().map_err(&wrong)
}

/// Replaces the time at the beginning of a line.
fn retimed(line: &str, from: u64, to: u64) -> String {
    line.replacen(&format!("\"t_us\":{from}"), &format!("\"t_us\":{to}"), 1)
}
