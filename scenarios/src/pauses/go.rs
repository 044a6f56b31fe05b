//! Go's `GODEBUG=gctrace=1` (golang/go, `runtime/extern.go`).
//!
//! ```text
//! gc 1 @0.012s 2%: 0.026+0.39+0.10 ms clock, 0.21+0.88/0.52/0+0.84 ms cpu, 4->4->0 MB, …
//! ```
//! Of the three clock times, the first and the last stop the world; the program runs during the second.

use super::form::{Form, Pauses, span_ms};

pub(super) fn read(text: &str) -> Option<Pauses> {
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
