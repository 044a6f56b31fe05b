//! What each invariant saw.

use super::paint::{Paint, Tone, pad, wrap};
use crate::invariant::{ALL, Class, InvariantResult};

/// Columns that an invariant's sentence has at least.
const DETAIL_MIN: usize = 20;
/// Which invariants a report tells one by one, beside those that were violated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told {
    All,
    /// Those that had something to check: of a log, the others are named where it is said what they need.
    Checked,
    /// None.
    Violated,
    /// Not even those that were violated.
    Nothing,
}

/// A line or more for each that is told.
pub(super) fn lines(results: &[InvariantResult], told: Told, paint: Paint) -> Vec<String> {
    let is_told = |seen: &InvariantResult| match told {
        Told::Nothing => false,
        _ if !seen.holds => true,
        Told::All => true,
        Told::Checked => seen.could_fail || seen.class == Class::Vacuity,
        Told::Violated => false,
    };
    results.iter().filter(|seen| is_told(seen)).flat_map(|seen| of_one(seen, paint)).collect()
}

fn of_one(result: &InvariantResult, paint: Paint) -> Vec<String> {
    let name_width = ALL.iter().map(|e| e.name.len()).max().unwrap_or(0) + 2;
    let (mark, tone) = match (result.holds, result.could_fail) {
        (false, _) => ("✗", Tone::Bad),
        (true, true) => ("✓", Tone::Good),
        (true, false) => ("–", Tone::Dim),
    };
    let room = paint.width.saturating_sub(4 + name_width).max(DETAIL_MIN);
    let plain = if result.holds { Tone::Plain } else { Tone::Bad };
    let line = |(place, part): (usize, String)| {
        let (mark, name) = if place == 0 { (mark, result.name) } else { (" ", "") };
        format!("{} {}{}", paint.paint(tone, mark), pad(name, name_width), paint.paint(plain, &part))
    };
    wrap(&result.detail, room).into_iter().enumerate().map(line).collect()
}
