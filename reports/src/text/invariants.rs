//! The findings of the invariants.

use super::paint::{Paint, Tone, pad, wrap};
use crate::invariant::{ALL, Class, InvariantResult};

/// The least width of an invariant's sentence.
const DETAIL_MIN: usize = 20;
/// Which invariants a report lists one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told {
    All,
    /// Those that had something to check: for a log, the others are named with what they need.
    Checked,
    /// Only those that were violated.
    Violated,
    Nothing,
}

/// The lines of each listed invariant.
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
