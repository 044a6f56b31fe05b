//! Reads logs of real process pauses: their lengths, and the time they were observed over.
//!
//! Three formats, recognised by their lines: the JVM's unified log, Go's `gctrace`, and a list of durations.

use crate::units::{Unread, duration_us};
use std::fmt;

/// Reads a log of pauses in any of the formats.
///
/// # Errors
/// The log has no pause, or a list has an invalid line; in one sentence.
pub fn read(text: &str) -> Result<Pauses, NoPauses> {
    let found = read_jvm(text).or_else(|| read_go(text));
    let mut pauses = match found {
        Some(pauses) => pauses,
        None => read_list(text)?,
    };
    if pauses.lengths_ms.is_empty() {
        return Err(NoPauses::None);
    }
    pauses.lengths_ms.sort_by(f64::total_cmp);
    Ok(pauses)
}

#[cfg(test)]
mod tests;

// The content of a log of pauses.

/// Observed pauses.
#[derive(Clone, PartialEq, Debug)]
pub struct Pauses {
    /// Milliseconds, ascending.
    pub lengths_ms: Vec<f64>,
    /// How long the process was observed, milliseconds; `None` if the log does not tell.
    pub over_ms: Option<f64>,
    pub form: Form,
}

/// Why no pauses can be read from a log.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoPauses {
    #[error("there is no pause in it")]
    None,
    #[error("line {line}: {why}")]
    Line { line: usize, why: Unread },
}

/// The format of a log of pauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `-Xlog:safepoint`: every stop of a JVM's threads, garbage collection included.
    JvmSafepoints,
    /// `-Xlog:gc`: the JVM's collector alone.
    JvmCollections,
    /// `GODEBUG=gctrace=1`.
    Go,
    /// One duration per line.
    Durations,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Form::JvmSafepoints => "JVM safepoints",
            Form::JvmCollections => "JVM garbage collection",
            Form::Go => "Go garbage collection",
            Form::Durations => "a list of durations",
        })
    }
}

/// The span of times in seconds, as milliseconds; `None` for fewer than two distinct times.
fn span_ms(times_s: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let first = times_s.clone().reduce(f64::min)?;
    let last = times_s.reduce(f64::max)?;
    (last > first).then_some((last - first) * 1e3)
}

// Durations, one per line: `120ms`, or `3x 1.2s` for three of that length. `#` begins a comment.

/// Most pauses that one line may stand for.
const TIMES_MAX: usize = 1_000_000;

fn read_list(text: &str) -> Result<Pauses, NoPauses> {
    let mut lengths_ms = Vec::new();
    for (place, line) in text.lines().enumerate() {
        let entry = line.split('#').next().unwrap_or_default().trim();
        if entry.is_empty() {
            continue;
        }
        let pause = pauses(entry).map_err(|why| NoPauses::Line { line: place + 1, why })?;
        lengths_ms.extend(pause);
    }
    Ok(Pauses { lengths_ms, over_ms: None, form: Form::Durations })
}

/// One entry: `1.2s`, or `3x 1.2s`.
fn pauses(entry: &str) -> Result<impl Iterator<Item = f64>, Unread> {
    let (times, length) = match entry.split_once('x') {
        Some((times, length)) => {
            let number: Option<usize> = times.trim().parse().ok();
            let number = number.filter(|number| (1..=TIMES_MAX).contains(number));
            (number.ok_or_else(|| Unread::of(entry, "is not a number of pauses; write it as 3x 1.2s"))?, length.trim())
        }
        None => (1, entry),
    };
    let us = duration_us(length).map_err(|_| {
        let forms = "a list of durations, such as 120ms or 3x 1.2s, a JVM's log or Go's gctrace";
        Unread::of(entry, format!("is not a pause; the file must be {forms}"))
    })?;
    Ok(std::iter::repeat_n(us as f64 / 1e3, times))
}

// Go's `GODEBUG=gctrace=1` (golang/go, `runtime/extern.go`).
//
// ```text
// gc 1 @0.012s 2%: 0.026+0.39+0.10 ms clock, 0.21+0.88/0.52/0+0.84 ms cpu, 4->4->0 MB, …
// ```
// Of the three clock times, the first and the last stop the world; the program runs during the second.

fn read_go(text: &str) -> Option<Pauses> {
    let cycles: Vec<(f64, [f64; 2])> = text.lines().filter_map(cycle).collect();
    let lengths_ms: Vec<f64> = cycles.iter().flat_map(|(_, stops)| *stops).collect();
    let over_ms = span_ms(cycles.iter().map(|(at_s, _)| *at_s));
    (!lengths_ms.is_empty()).then_some(Pauses { lengths_ms, over_ms, form: Form::Go })
}

/// The start of the cycle, seconds, and its two stop-the-world phases, milliseconds.
fn cycle(line: &str) -> Option<(f64, [f64; 2])> {
    // Other output on the same stream may precede it on the line.
    let (_, rest) = line.split_at(line.find("gc ")?).1.split_once(" @")?;
    let (at, rest) = rest.split_once("s ")?;
    let clock = rest.split_once("%: ")?.1.split_once(" ms clock")?.0;
    let mut phases = clock.split('+').map(|phase| phase.parse::<f64>().ok().filter(|ms| ms.is_finite()));
    let (first, _, last) = (phases.next()??, phases.next()??, phases.next()??);
    Some((at.parse().ok().filter(|s: &f64| s.is_finite())?, [first, last]))
}

// The JVM's unified log (JEP 158, JEP 271), as `-Xlog:gc` and `-Xlog:safepoint` write it.
//
// ```text
// [2026-11-02T10:15:30.123+0000][12.345s][info][safepoint] Safepoint "G1CollectForAllocation", …, Total: 3456000 ns
// [12.345s][info][safepoint] Total time for which application threads were stopped: 0.0034560 seconds, Stopping …
// [12.345s][info][gc       ] GC(12) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(64M) 3.456ms
// ```
// JDK 13 and later write the first line, JDK 9 to 12 the second (OpenJDK, `runtime/safepoint.cpp`). A safepoint stops
// the threads, whether for the collector or not, so if a log has safepoints its collections are not counted again.

const OLD: &str = "Total time for which application threads were stopped: ";

fn read_jvm(text: &str) -> Option<Pauses> {
    let lines = || text.lines().filter_map(Line::parse);
    let mut lengths_ms: Vec<f64> = lines().filter_map(|line| line.safepoint_ms()).collect();
    let mut form = Form::JvmSafepoints;
    if lengths_ms.is_empty() {
        lengths_ms = lines().filter_map(|line| line.collection_ms()).collect();
        form = Form::JvmCollections;
    }
    let over_ms = span_ms(text.lines().filter_map(Line::parse).filter_map(|line| line.at_s));
    (!lengths_ms.is_empty()).then_some(Pauses { lengths_ms, over_ms, form })
}

struct Line<'t> {
    /// The JVM's uptime, seconds.
    at_s: Option<f64>,
    message: &'t str,
}

impl<'t> Line<'t> {
    /// `None` if the line has no decorations.
    fn parse(line: &'t str) -> Option<Self> {
        let (mut rest, mut at_s, mut decorated) = (line.trim(), None, false);
        while let Some((decoration, behind)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            decorated = true;
            at_s = at_s.or_else(|| age_s(decoration.trim()));
            rest = behind;
        }
        decorated.then_some(Line { at_s, message: rest.trim_start() })
    }

    fn safepoint_ms(&self) -> Option<f64> {
        if let Some(stopped) = self.message.strip_prefix(OLD) {
            return number(stopped.split_once(" seconds")?.0).map(|seconds| seconds * 1e3);
        }
        let total = self.message.strip_prefix("Safepoint ")?.split_once(" Total: ")?.1;
        number(total.split_once(" ns")?.0).map(|ns| ns / 1e6)
    }

    fn collection_ms(&self) -> Option<f64> {
        let (_, pause) = self.message.strip_prefix("GC(")?.split_once(") ")?;
        // Lines that announce a pause or one of its phases have no length.
        let length = pause.strip_prefix("Pause ")?.rsplit_once(' ')?.1;
        number(length.strip_suffix("ms")?)
    }
}

/// `12.345s` or `12345ms`: the JVM's uptime.
fn age_s(decoration: &str) -> Option<f64> {
    match decoration.strip_suffix("ms") {
        Some(ms) => number(ms).map(|ms| ms / 1e3),
        None => number(decoration.strip_suffix('s')?),
    }
}

/// A plain number; the decimal separator is a point or a comma, depending on the JVM's locale.
fn number(text: &str) -> Option<f64> {
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b',');
    plain(text).then(|| text.replace(',', ".").parse().ok()).flatten()
}
