//! Durations, one per line: `120ms`, or `3x 1.2s` for three of that length. `#` begins a comment.

use super::form::{Form, NoPauses, Pauses};
use crate::units::{Unread, duration_us};

/// Most pauses that one line may stand for.
const TIMES_MAX: usize = 1_000_000;

pub(super) fn read(text: &str) -> Result<Pauses, NoPauses> {
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
pub(super) fn pauses(entry: &str) -> Result<impl Iterator<Item = f64>, Unread> {
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
